"""Velocities that the constraints allow, from momenta: the projection of RATTLE (Andersen 1983)."""

import functools as ft
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.constraints.instant import drift
from linkax.constraints.rows import pull, push
from linkax.kinematics.bodies import State, poses, with_ground
from linkax.math.stacks import apply
from linkax.maximal import linear
from linkax.maximal.interval import FLOOR, Unknowns, slack_for
from linkax.maximal.mechanism import Mechanism, chosen_solver
from linkax.maximal.settings import Settings
from linkax.solve import Budget, Equations, Root, root


class _Given(NamedTuple):
    mechanism: Mechanism
    momentum: Float[Array, "n 6"]
    gradients: linear.Gradients
    drift: Float[Array, " m"]  # how fast the rows move by themselves


def tangent_motion(
    mechanism: Mechanism,
    state: State,
    momentum: Float[Array, "n 6"],
    settings: Settings,
    active: Any = True,
) -> Root:
    """The Unknowns (motion, impulse) with M motion = momentum + G^T impulse and G motion + dg/dt = 0.

    Of all motions on the tangent space it is the one whose kinetic energy of the difference to the given
    momentum is least.

    Args:
        mechanism: bodies and rows.
        state: poses and time.
        momentum: [angular, body axes; linear, world axes] of each body.
        settings: solver.
        active: whether to try at all.
    """
    at = with_ground(poses(state.position, state.orientation))
    return _solved(
        mechanism, state, momentum, drift(mechanism.constraints, state.t, at), settings, active
    )


def constrained(
    mechanism: Mechanism,
    state: State,
    force: Float[Array, "n 6"],
    bending: Float[Array, " m"],
    settings: Settings,
) -> tuple[Float[Array, "n 6"], Float[Array, " m"]]:
    """(a, multipliers) with M a = force + G^T multipliers and G a + bending = 0."""
    return tuple(_solved(mechanism, state, force, bending, settings, True).value)


def _solved(mechanism: Mechanism, state: State, momentum, rate, settings: Settings, active) -> Root:
    at = with_ground(poses(state.position, state.orientation))
    gradients = tuple(mechanism.constraints.gradient(state.t, at))
    given = _Given(mechanism, momentum, gradients, rate)
    guess = Unknowns(
        jnp.zeros_like(momentum), jnp.zeros((mechanism.constraints.count,), momentum.dtype)
    )
    equations = Equations(_residual, ft.partial(_factorise, settings), _solve)
    # Linear equations: one iteration solves them, more only mend what a shifted pivot left.
    return root(equations, guess, given, Budget(10, 0, slack_for(momentum.dtype)), active)


def inertial(mechanism: Mechanism, motion: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """The momenta of instantaneous velocities."""
    bodies = mechanism.bodies
    turning = apply(bodies.inertia, motion[:, :3])
    return jnp.concatenate([turning, bodies.mass[:, None] * motion[:, 3:]], axis=-1)


@jax.jit
def _residual(y: Unknowns, given: _Given):
    constraints, n = given.mechanism.constraints, given.mechanism.bodies.n
    carried = inertial(given.mechanism, y.motion)
    pushed = push(constraints, given.gradients, y.impulse, n)
    unmet = carried - given.momentum - pushed
    moving = pull(constraints, given.gradients, y.motion)
    rows = constraints.stacked(moving, unmet.dtype) + given.drift
    eps = jnp.finfo(unmet.dtype).eps
    tiny = jnp.finfo(unmet.dtype).tiny / eps
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(x)) for x in (carried, given.momentum, pushed)]))
    fast = jnp.maximum(jnp.max(jnp.abs(y.motion)), jnp.max(jnp.abs(given.drift), initial=0.0))
    size = jnp.sqrt(jnp.sum(unmet * unmet)) / (FLOOR * eps * largest + tiny)
    return (unmet, rows), jnp.maximum(
        size, jnp.sqrt(jnp.sum(rows * rows)) / (FLOOR * eps * fast + tiny)
    )


@ft.partial(jax.jit, static_argnums=0)
def _factorise(settings: Settings, y: Unknowns, given: _Given):
    del y
    bodies = given.mechanism.bodies
    factors, singular = linear.factorise(
        given.mechanism.constraints,
        settings,
        chosen_solver(given.mechanism, settings),
        bodies.inertia,
        bodies.mass,
        None,
        list(given.gradients),
        list(given.gradients),
    )
    return (given.mechanism.constraints, factors), singular


@jax.jit
def _solve(factors, residual) -> Unknowns:
    constraints, parts = factors
    return Unknowns(*linear.solve(constraints, parts, residual[0], residual[1]))

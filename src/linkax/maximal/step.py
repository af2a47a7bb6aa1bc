"""One step of the variational integrator, in document 002's form: velocities are averages over intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from linkax.constraints.rows import Constraints
from linkax.forces.loads import AbstractLoad
from linkax.kinematics.bodies import Bodies, State
from linkax.math.stacks import apply
from linkax.maximal.checks import check_start, check_step
from linkax.maximal.interval import end_of, momenta, solve_interval
from linkax.maximal.linear import inverse3
from linkax.maximal.mechanism import Mechanism, mechanism_of
from linkax.maximal.settings import DEFAULTS, Settings


class Step(NamedTuple):
    """How a step went, and what is known of the point that it started from."""

    converged: Bool[Array, ""]
    iterations: Int[Array, ""]
    jacobian_singular: Bool[Array, ""]
    point_velocity: Float[Array, "n 3"]  # instantaneous, from the momenta before and after [m/s]
    point_angular_velocity: Float[Array, "n 3"]  # body axes [rad/s]


def advance(
    mechanism: Mechanism, state: State, h: Float[Array, ""], settings: Settings, active: Any = True
) -> tuple[State, Float[Array, " m"], Step]:
    """`step` of a Mechanism."""
    bodies = mechanism.bodies
    # The first step starts from instantaneous velocities, with half the loads' and constraints' impulse: the
    # other half belongs to the interval before, which there is none of.
    span = jnp.where(state.averaged, h, 0.5 * h)
    w = state.angular_velocity
    turning = jnp.where(
        state.averaged,
        settings.chart.momentum_at_end(bodies.inertia, w, h),
        apply(bodies.inertia, w),
    )
    before = jnp.concatenate([turning, bodies.mass[:, None] * state.velocity], axis=-1)
    found = solve_interval(mechanism, state, before, h, span, settings, active)
    good = found.converged
    motion, impulse = found.value
    end = end_of(settings, state, motion, h)
    after = jax.tree.map(lambda new, old: jnp.where(good, new, old), end, state)
    mean = 0.5 * (before + momenta(settings, mechanism, motion, h))
    spin = apply(inverse3(bodies.inertia), mean[:, :3])
    velocity = mean[:, 3:] / bodies.mass[:, None]
    at_point = state.averaged & good
    info = Step(
        good,
        found.iterations,
        found.singular,
        jnp.where(at_point, velocity, state.velocity),
        jnp.where(at_point, spin, w),
    )
    return after, jnp.where(good, impulse / span, 0.0), info


def step(
    bodies: Bodies,
    state: State,
    dt: float | Float[Array, ""],
    loads: Callable[..., Any] | AbstractLoad | None = None,
    constraint: Callable[..., Any] | Constraints | None = None,
    jacobian: Callable[..., Any] | None = None,
    params: PyTree = None,
    settings: Settings = DEFAULTS,
) -> tuple[State, Float[Array, " m"], Step]:
    """(state after dt, multipliers of the interval, how it went); a failed step leaves the state alone.

    Multipliers are forces [N] and torques [N m]: G^T multipliers is added to the loads.

    Args:
        bodies: masses and inertias.
        state: poses and velocities; `State.averaged` says which kind of velocities.
        dt: length of the step [s].
        loads, constraint, jacobian, params, settings: as for `simulate`.

    Raises:
        ValueError: for what can be seen before tracing: masses, steps, quaternions, spins, shapes.
    """
    check_step(bodies, dt)
    check_start(bodies, state, dt)
    mechanism = mechanism_of(bodies, loads, constraint, jacobian, params, state, settings)
    return advance(mechanism, state, jnp.asarray(dt, state.position.dtype), settings)

"""Runs of the variational integrator under one scan, and what is kept of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from linkax.constraints.rows import Constraints
from linkax.forces.loads import AbstractLoad
from linkax.kinematics.bodies import Bodies, State
from linkax.maximal.checks import check_points, check_start, check_step, valid
from linkax.maximal.interval import ROOT
from linkax.maximal.mechanism import Mechanism, mechanism_of
from linkax.maximal.settings import DEFAULTS, Settings
from linkax.maximal.status import Status
from linkax.maximal.step import advance


class History(eqx.Module):
    """The points of a run, time first.

    `velocity` and `angular_velocity` at a point are averages over the interval that ended there (at the first
    point those given); `point_velocity` and `point_angular_velocity` are instantaneous, from the momenta. Row
    i of `multipliers` belongs to the interval that starts at point i, the last one to a look-ahead step that
    is not committed. After a failure points beyond `completed_steps` are zero, with identity quaternions.
    """

    t: Float[Array, " points"]
    position: Float[Array, "points n 3"]
    orientation: Float[Array, "points n 4"]
    velocity: Float[Array, "points n 3"]
    angular_velocity: Float[Array, "points n 3"]
    point_velocity: Float[Array, "points n 3"]
    point_angular_velocity: Float[Array, "points n 3"]
    multipliers: Float[Array, "points m"]
    converged: Bool[Array, ""]
    iterations: Int[Array, ""]  # Newton steps of all attempted steps
    jacobian_singular: Bool[Array, ""]
    completed_steps: Int[Array, ""]
    status: Status
    final: State  # to go on from


class _Carry(NamedTuple):
    state: State
    status: Status
    completed: Int[Array, ""]
    iterations: Int[Array, ""]
    singular: Bool[Array, ""]


class _Row(NamedTuple):
    t: Array
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    point_velocity: Array
    point_angular_velocity: Array
    multipliers: Array


def run(
    mechanism: Mechanism, state: State, h: Float[Array, ""], points: int, settings: Settings
) -> History:
    """`simulate` of a Mechanism."""
    started, real = state.t, state.position.dtype
    none = jnp.zeros((), jnp.int32)
    fit = valid(mechanism.bodies, state, h)
    status = Status.where(fit, Status.completed, Status.invalid)
    carry = _Carry(state, status, none, none, jnp.zeros((), bool))

    def one(carry: _Carry, index: Float[Array, ""]):
        running = carry.status == Status.completed
        # Time is counted, not summed: after 1e6 additions a sum has lost six digits.
        here = eqx.tree_at(lambda s: s.t, carry.state, started + index * h)
        after, multipliers, info = advance(mechanism, here, h, settings, running)
        failed = Status.where(info.jacobian_singular, Status.singular, Status.not_converged)
        status = Status.where(running & ~info.converged, failed, carry.status)
        last = index == points - 1
        commit = info.converged & ~last
        kept = jax.tree.map(lambda new, old: jnp.where(commit, new, old), after, carry.state)
        row = _Row(
            here.t,
            here.position,
            here.orientation,
            here.velocity,
            here.angular_velocity,
            info.point_velocity,
            info.point_angular_velocity,
            multipliers,
        )
        # A lane that has failed before has no more points; the zeros of its orientation are mended below.
        row = jax.tree.map(lambda x: jnp.where(running, x, jnp.zeros_like(x)), row)
        out = _Carry(
            kept,
            status,
            carry.completed + commit.astype(jnp.int32),
            carry.iterations + info.iterations,
            carry.singular | info.jacobian_singular,
        )
        return out, row

    policy = jax.checkpoint_policies.save_only_these_names(ROOT)
    body = jax.checkpoint(one, prevent_cse=False, policy=policy)
    end, rows = lax.scan(body, carry, jnp.arange(points, dtype=real))
    return _history(rows, end, state)


def _history(rows: _Row, end: _Carry, start: State) -> History:
    empty = ~jnp.any(rows.orientation != 0.0, axis=-1, keepdims=True)
    identity = jnp.asarray([1.0, 0.0, 0.0, 0.0], rows.orientation.dtype)
    orientation = jnp.where(empty, identity[None, None], rows.orientation)
    # The initial point is there even where the run could not begin.
    return History(
        rows.t,
        rows.position.at[0].set(start.position),
        orientation.at[0].set(start.orientation),
        rows.velocity.at[0].set(start.velocity),
        rows.angular_velocity.at[0].set(start.angular_velocity),
        rows.point_velocity,
        rows.point_angular_velocity,
        rows.multipliers,
        end.status == Status.completed,
        end.iterations,
        end.singular,
        end.completed,
        end.status,
        end.state,
    )


def simulate(
    bodies: Bodies,
    state0: State,
    dt: float | Float[Array, ""],
    points: int,
    loads: Callable[..., Any] | AbstractLoad | None = None,
    constraint: Callable[..., Any] | Constraints | None = None,
    jacobian: Callable[..., Any] | None = None,
    params: PyTree = None,
    settings: Settings = DEFAULTS,
) -> History:
    """A run of rigid bodies in maximal coordinates, position-exact on its constraints.

    Works under jit, vmap and grad. Source: document 002; Manchester and Peck, J. Guidance, Control, and
    Dynamics 39 (2016); Brüdigam et al., Multibody System Dynamics 61 (2024).

    Args:
        bodies: masses and inertias.
        state0: start; its velocities are instantaneous unless it says that they are averages.
        dt: length of a step [s].
        points: points of the history, the initial one included; static.
        loads: load(t, position, orientation, velocity, angular_velocity, params) -> (force (n, 3) in world
            axes, torque (n, 3) in body axes), or an AbstractLoad; none if None.
        constraint: g(t, position, orientation, params) -> (rows,), or Constraints; none if None.
        jacobian: the constraint's derivative (rows, 6 n), for each body three displacements, then the three
            components e of q (x) (sqrt(1 - e.e), e); by autodiff if None.
        params: a pytree of numbers handed to the functions; differentiable.
        settings: how steps are solved; static.

    Raises:
        ValueError: naming what is wrong, for what can be seen before tracing.
    """
    check_step(bodies, dt)
    check_points(points)
    check_start(bodies, state0, dt)
    mechanism = mechanism_of(bodies, loads, constraint, jacobian, params, state0, settings)
    return run(mechanism, state0, jnp.asarray(dt, state0.position.dtype), points, settings)

"""Velocities that keep the constraints closed."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from linkax.constraints.rows import pull
from linkax.kinematics.bodies import State, poses, with_ground
from linkax.maximal.mechanism import Mechanism
from linkax.maximal.shortest import Metric, System, check_fit, factorised, solved, tolerant


def velocity_residual(mechanism: Mechanism, state: State) -> Float[Array, " m"]:
    """G v + dg/dt: how fast the velocities open the constraints, in the order of the multipliers.

    In the units of the rows per second. Velocities are taken as instantaneous ones; averages over an interval
    (`State.averaged`) satisfy the rows at its end, and G v vanishes for them only with the step.
    """
    constraints, real = mechanism.constraints, state.position.dtype
    at = with_ground(poses(state.position, state.orientation))
    motion = jnp.concatenate([state.angular_velocity, state.velocity], axis=-1)
    carried = pull(constraints, constraints.gradient(state.t, at), motion)
    rows = lambda t: constraints.stacked(constraints.residual(t, at), real)
    _, driven = jax.jvp(rows, (state.t,), (jnp.ones_like(state.t),))
    return constraints.stacked(carried, real) + driven


def project_velocities(mechanism: Mechanism, state: State, rank_tolerance: float = 1e-9) -> State:
    """The state with the nearest velocities that the constraints allow: nearest in kinetic energy.

    What an impulse of the constraints makes of the given velocities: v + M^{-1} G^T p with G v + dg/dt = 0.
    The result's velocities are instantaneous, whatever those given were. Redundant rows are allowed; where
    rows contradict each other the residual that is left is the least in the sense of squares, and
    `velocity_residual` shows it. Derivatives are exact in both modes and of any order, for redundant rows
    too, with respect to whatever keeps them redundant.

    Args:
        mechanism: bodies and rows; loads play no part.
        state: poses, assumed closed, and velocities [m/s, world axes; rad/s, body axes].
        rank_tolerance: singular values of S below this fraction of the largest count as redundant rows;
            never less than 100 roundings. Static.

    Raises:
        ValueError: for shapes that do not fit, or a tolerance that is not positive.
    """
    check_fit(mechanism, state, None, (), rank_tolerance)
    constraints = mechanism.constraints
    real = state.position.dtype
    instantaneous = eqx.tree_at(lambda s: s.averaged, state, jnp.zeros((), bool))
    if constraints.count == 0:
        return instantaneous
    at = with_ground(poses(state.position, state.orientation))
    gradients = tuple(constraints.gradient(state.t, at))
    metric = Metric(mechanism.bodies.inertia, mechanism.bodies.mass)
    system = System(constraints, metric, gradients, gradients)
    unmet = velocity_residual(mechanism, state)
    factors = factorised(system, tolerant(rank_tolerance, real))
    change = solved(system, factors, jnp.zeros((mechanism.bodies.n, 6), real), -unmet).motion
    return eqx.tree_at(
        lambda s: (s.velocity, s.angular_velocity),
        instantaneous,
        (state.velocity + change[:, 3:], state.angular_velocity + change[:, :3]),
    )


def consistent(
    mechanism: Mechanism, state: State, tolerance: float | Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether a run may start here: no row is open, or opening, by more than the tolerance.

    The tolerance is in the rows' own units, metres or radians, and the same per second. Velocities that are
    averages over an interval are not judged. A run from a state that is not consistent does not fail: its
    first step closes the rows by an impulse. `assemble` and `project_velocities` make states consistent.
    """
    open_by = jnp.max(jnp.abs(mechanism.closure(state)), initial=0.0)
    opening = jnp.max(jnp.abs(velocity_residual(mechanism, state)), initial=0.0)
    # Not `>`: what is not a number is not consistent.
    return (open_by <= tolerance) & (state.averaged | (opening <= tolerance))

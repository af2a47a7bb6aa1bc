"""Multipliers at an instant: the constraint forces of given poses and velocities."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.kinematics.bodies import State, poses, with_ground
from linkax.math.stacks import apply, cross
from linkax.maximal.discrete import Exponential, moved
from linkax.maximal.mechanism import Mechanism
from linkax.maximal.settings import Settings
from linkax.maximal.tangent import constrained


def accelerations(
    mechanism: Mechanism, state: State, settings: Settings
) -> tuple[Float[Array, "n 6"], Float[Array, " m"]]:
    """(rates of [angular velocity, body axes; velocity, world axes], multipliers) at a state.

    Solves M a - G^T multipliers = loads - gyroscopic torque with the second time derivative of the rows
    zero (index 1: Hairer and Wanner 1996, section VII.1). Velocities must be instantaneous and on the
    tangent space.

    Args:
        mechanism: bodies, rows, loads.
        state: poses and instantaneous velocities.
        settings: solver.
    """
    bodies, w = mechanism.bodies, state.angular_velocity
    gyroscopic = cross(w, apply(bodies.inertia, w))
    acting = mechanism.loads.wrenches(bodies, state)
    force = jnp.concatenate([acting[:, :3] - gyroscopic, acting[:, 3:]], axis=-1)
    return constrained(mechanism, state, force, bending(mechanism, state), settings)


def bending(mechanism: Mechanism, state: State) -> Float[Array, " m"]:
    """The second time derivative of the rows where all velocities stay as they are."""
    constraints = mechanism.constraints
    start = poses(state.position, state.orientation)

    def rows(s):
        at = moved(Exponential, start, state.velocity, state.angular_velocity, s)
        return constraints.stacked(constraints.residual(state.t + s, with_ground(at)), s.dtype)

    zero = jnp.zeros_like(state.t)
    one = jnp.ones_like(zero)
    first = lambda s: jax.jvp(rows, (s,), (one,))[1]
    return jax.jvp(first, (zero,), (one,))[1]

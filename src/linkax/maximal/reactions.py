"""Multipliers at an instant: the constraint forces of given poses and velocities."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.constraints.instant import bending
from linkax.kinematics.bodies import State, poses
from linkax.math.stacks import apply, cross
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
    at = poses(state.position, state.orientation)
    second = bending(mechanism.constraints, state.t, at, state.velocity, state.angular_velocity)
    return constrained(mechanism, state, force, second, settings)

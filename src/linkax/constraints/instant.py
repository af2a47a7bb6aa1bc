"""Rows at an instant: how fast they open, and how their rates change, for bodies that move."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.constraints.rows import Constraints, pull
from linkax.kinematics.bodies import Poses, poses, with_ground
from linkax.math.rotations import quaternion_multiply
from linkax.math.stacks import dot


def drift(constraints: Constraints, t: Float[Array, ""], at: Poses) -> Float[Array, " m"]:
    """The rates of the rows with the bodies held: zero but for prescribed motions.

    `at` ends with the ground.
    """
    rows = lambda t: constraints.stacked(constraints.residual(t, at), t.dtype)
    return jax.jvp(rows, (t,), (jnp.ones_like(t),))[1]


def bending(
    constraints: Constraints,
    t: Float[Array, ""],
    at: Poses,
    velocity: Float[Array, "n 3"],
    angular_velocity: Float[Array, "n 3"],
) -> Float[Array, " m"]:
    """The second time derivative of the rows where all velocities stay as they are.

    Args:
        constraints: the rows.
        t: the time [s].
        at: poses of the bodies, without the ground.
        velocity: of the centres of mass, world axes, constant [m/s].
        angular_velocity: constant in the axes of the bodies [rad/s].
    """

    def rate(s):
        now = with_ground(_carried(at, velocity, angular_velocity, s))
        parts = jax.jvp(
            lambda r: constraints.residual(
                t + r, with_ground(_carried(at, velocity, angular_velocity, r))
            ),
            (s,),
            (jnp.ones_like(s),),
        )[1]
        motion = jnp.concatenate([angular_velocity, velocity], axis=-1)
        chosen = [
            rate if group.integrable else pull_one(group, t + s, now, motion)
            for group, rate in zip(constraints.groups, parts, strict=True)
        ]
        return constraints.stacked(chosen, s.dtype)

    zero = jnp.zeros_like(t)
    return jax.jvp(rate, (zero,), (jnp.ones_like(zero),))[1]


def pull_one(group, t, at: Poses, motion: Float[Array, "n 6"]) -> Float[Array, "_k _r"]:
    """The rates of the rows of one group; `at` ends with the ground."""
    alone = Constraints((group,), ())
    return pull(alone, alone.gradient(t, at), motion)[0]


def _carried(
    p: Poses, v: Float[Array, "n 3"], w: Float[Array, "n 3"], s: Float[Array, ""]
) -> Poses:
    """The poses a short time s later, right to second order in s."""
    half = 0.5 * s * w
    turn = jnp.concatenate([1.0 - 0.5 * dot(half, half)[:, None], half], axis=-1)
    return poses(p.position + s * v, quaternion_multiply(p.orientation, turn))

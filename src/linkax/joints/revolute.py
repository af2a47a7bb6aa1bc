"""Revolute joint: one angle about z. Continuous joints are this one without limits."""

import jax
import jax.numpy as jnp

from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.materialise import materialise
from linkax.math.quaternion import Quaternion
from linkax.math.safe import safe_arctan2
from linkax.math.scalar import negative
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Mat3, Z


def rotation_about_z(angle) -> Mat3:
    """Rz(angle)."""
    # Nine entries of a product use them, and a sine is a page of machine code to compile and to run.
    c, s = materialise((jnp.cos(angle), jnp.sin(angle)))
    return Mat3(c, negative(s), 0, s, c, 0, 0, 0, 1)


def half_turn_about_z(angle) -> Quaternion:
    """The unit quaternion of Rz(angle), which takes two turns to come back to itself."""
    zero = jnp.zeros_like(angle)
    return Quaternion(jnp.cos(0.5 * angle), zero, zero, jnp.sin(0.5 * angle))


def angle_near(sine, cosine, near):
    """The angle of a sine and a cosine (or equal multiples of them) that lies within half a turn of `near`.

    The difference to `near` is what is taken, so that the derivative is the angle's own and finite at every
    angle, and whole turns are kept.
    """
    c, s = jnp.cos(near), jnp.sin(near)
    return near + safe_arctan2(sine * c - cosine * s, cosine * c + sine * s)


class Revolute(AbstractVectorJoint):
    """q = (angle [rad]), v = (rate [rad/s])."""

    name = "revolute"
    nq = 1
    nv = 1
    coordinate_suffixes = ("",)
    speed_suffixes = ("",)
    locked_positions = (0, 1, 2)
    locked_rotations = (((2, 0, 1.0),), ((2, 1, 1.0),))
    uses_axis = True
    axial = (True,)

    @staticmethod
    def transform(q, travel):
        """Rotation about z."""
        return Transform(rotation_about_z(q[0]), ZERO)

    @staticmethod
    def attitude(q, travel):
        """Half the angle about z."""
        return half_turn_about_z(q[0])

    @staticmethod
    def subspace(q, travel):
        """(z; 0)."""
        return (Motion(Z, ZERO),)

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The angle about z."""
        return (angle_near(pose.rotation.yx, pose.rotation.xx, near[0]),)

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0,)

    @staticmethod
    def random(key, dtype):
        """Uniform over a turn."""
        return jax.random.uniform(key, (1,), dtype, -jnp.pi, jnp.pi)

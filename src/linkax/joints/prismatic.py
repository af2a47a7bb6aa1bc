"""Prismatic joint: one slide along z."""

import jax
import jax.numpy as jnp

from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.quaternion import Quaternion
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import IDENTITY, ZERO, Vec3, Z


class Prismatic(AbstractVectorJoint):
    """q = (slide [m]), v = (rate [m/s])."""

    name = "prismatic"
    nq = 1
    nv = 1
    coordinate_suffixes = ("",)
    speed_suffixes = ("",)
    locked_positions = (0, 1)
    locked_rotations = (
        ((2, 1, 0.5), (1, 2, -0.5)),
        ((0, 2, 0.5), (2, 0, -0.5)),
        ((1, 0, 0.5), (0, 1, -0.5)),
    )
    uses_axis = True
    axial = (False,)
    turn = 0
    slide = 1

    @staticmethod
    def transform(q, travel):
        """Translation along z."""
        return Transform(IDENTITY, Vec3(0, 0, q[0]))

    @staticmethod
    def attitude(q, travel):
        """The identity."""
        return Quaternion(*(jnp.full_like(q[0], x) for x in (1.0, 0.0, 0.0, 0.0)))

    @staticmethod
    def subspace(q, travel):
        """(0; z)."""
        return (Motion(ZERO, Z),)

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The slide along z."""
        return (pose.translation.z,)

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0,)

    @staticmethod
    def random(key, dtype):
        """Uniform over [-1, 1] m."""
        return jax.random.uniform(key, (1,), dtype, -1.0, 1.0)

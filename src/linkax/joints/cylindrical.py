"""Cylindrical joint: an angle about z and an independent slide along it."""

import jax
import jax.numpy as jnp

from linkax.joints.revolute import angle_near, half_turn_about_z, rotation_about_z
from linkax.joints.vector_space import AbstractVectorJoint
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Vec3, Z


class Cylindrical(AbstractVectorJoint):
    """q = (angle [rad], slide [m]), v = their rates."""

    name = "cylindrical"
    nq = 2
    nv = 2
    coordinate_suffixes = ("angle", "slide")
    speed_suffixes = ("angle", "slide")
    locked_positions = (0, 1)
    locked_rotations = (((2, 0, 1.0),), ((2, 1, 1.0),))
    uses_axis = True
    axial = (True, False)

    @staticmethod
    def transform(q, travel):
        """Rotation about z and translation along it."""
        return Transform(rotation_about_z(q[0]), Vec3(0, 0, q[1]))

    @staticmethod
    def attitude(q, travel):
        """Half the angle about z."""
        return half_turn_about_z(q[0])

    @staticmethod
    def subspace(q, travel):
        """(z; 0) and (0; z)."""
        return (Motion(Z, ZERO), Motion(ZERO, Z))

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The angle about z and the slide along it."""
        return (angle_near(pose.rotation.yx, pose.rotation.xx, near[0]), pose.translation.z)

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0, 0.0)

    @staticmethod
    def random(key, dtype):
        """Uniform over a turn and over [-1, 1] m."""
        return jax.random.uniform(key, (2,), dtype, -1.0, 1.0) * jnp.array([jnp.pi, 1.0], dtype)

"""Planar joint: an angle about z and two slides in F's x-y plane."""

import jax
import jax.numpy as jnp

from linkax.joints.revolute import angle_near, half_turn_about_z, rotation_about_z
from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.materialise import materialise
from linkax.math.scalar import add, multiply, negative, subtract
from linkax.spatial.motion import Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Vec3, Z


class Planar(AbstractVectorJoint):
    """q = (angle [rad], x, y [m] along F's axes), v = their rates."""

    name = "planar"
    nq = 3
    nv = 3
    coordinate_suffixes = ("angle", "x", "y")
    speed_suffixes = ("angle", "x", "y")
    locked_positions = (2,)
    locked_rotations = (((2, 0, 1.0),), ((2, 1, 1.0),))
    uses_axis = True

    @staticmethod
    def transform(q, travel):
        """Translation in the plane, rotation about its normal."""
        return Transform(rotation_about_z(q[0]), Vec3(q[1], q[2], 0))

    @staticmethod
    def attitude(q, travel):
        """Half the angle about z."""
        return half_turn_about_z(q[0])

    @staticmethod
    def subspace(q, travel):
        """(z; 0) and F's x and y seen in M."""
        c, s = materialise((jnp.cos(q[0]), jnp.sin(q[0])))
        return (
            Motion(Z, ZERO),
            Motion(ZERO, Vec3(c, negative(s), 0)),
            Motion(ZERO, Vec3(s, c, 0)),
        )

    @staticmethod
    def bias(q, v, travel):
        """F's axes turn backwards in M."""
        c, s = materialise((jnp.cos(q[0]), jnp.sin(q[0])))
        x = multiply(v[0], subtract(multiply(c, v[2]), multiply(s, v[1])))
        y = multiply(v[0], negative(add(multiply(c, v[1]), multiply(s, v[2]))))
        return Motion(ZERO, Vec3(x, y, 0))

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The angle about z and the place in the plane."""
        return (
            angle_near(pose.rotation.yx, pose.rotation.xx, near[0]),
            pose.translation.x,
            pose.translation.y,
        )

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0, 0.0, 0.0)

    @staticmethod
    def random(key, dtype):
        """Uniform over a turn and over [-1, 1] m."""
        scale = jnp.array([jnp.pi, 1.0, 1.0], dtype)
        return jax.random.uniform(key, (3,), dtype, -1.0, 1.0) * scale

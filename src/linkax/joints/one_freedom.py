"""The joint that revolute, prismatic and helical ones are special cases of, told apart by numbers only.

No description names it. A tree that mixes the three types is visited as bodies of this one, so that they form
one scan: written out one by one, thirty mixed bodies compiled for 45 s.
"""

import jax.numpy as jnp

from linkax.joints.revolute import Revolute, angle_near, half_turn_about_z, rotation_about_z
from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.safe import safe_divide
from linkax.math.scalar import multiply
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import Vec3


class OneFreedom(AbstractVectorJoint):
    """q = (coordinate [rad or m]), v = (rate); a unit turns by `travel.turn` and slides by `travel.slide`."""

    name = "one-freedom"
    nq = 1
    nv = 1
    coordinate_suffixes = ("",)
    speed_suffixes = ("",)
    uses_axis = True

    @staticmethod
    def transform(q, travel):
        """Rotation about z and translation along it."""
        turned = rotation_about_z(multiply(travel.turn, q[0]))
        return Transform(turned, Vec3(0, 0, multiply(travel.slide, q[0])))

    @staticmethod
    def attitude(q, travel):
        """Half the angle about z."""
        return half_turn_about_z(multiply(travel.turn, q[0]))

    @staticmethod
    def subspace(q, travel):
        """(turn z; slide z)."""
        return (Motion(Vec3(0, 0, travel.turn), Vec3(0, 0, travel.slide)),)

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The angle over the turn of a unit where it turns, else the slide over the slide of a unit."""
        angle = angle_near(pose.rotation.yx, pose.rotation.xx, multiply(travel.turn, near[0]))
        turning = safe_divide(angle, travel.turn)
        sliding = safe_divide(pose.translation.z, travel.slide)
        return (jnp.where(travel.turn == 0.0, sliding, turning),)

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0,)

    @staticmethod
    def random(key, dtype):
        """Uniform over a turn."""
        return Revolute.random(key, dtype)

"""Helical (screw) joint: one angle about z, with a slide of pitch times the angle."""

from linkax.joints.revolute import Revolute, angle_near, half_turn_about_z, rotation_about_z
from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.scalar import multiply
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import Vec3, Z


class Helical(AbstractVectorJoint):
    """q = (angle [rad]), v = (rate [rad/s]); the slide is pitch [m/rad] times the angle."""

    name = "helical"
    nq = 1
    nv = 1
    coordinate_suffixes = ("",)
    speed_suffixes = ("",)
    locked_positions = (0, 1)
    locked_rotations = (((2, 0, 1.0),), ((2, 1, 1.0),))
    uses_axis = True
    axial = (True,)
    uses_pitch = True

    @staticmethod
    def transform(q, travel):
        """Rotation about z and translation along it."""
        return Transform(rotation_about_z(q[0]), Vec3(0, 0, multiply(travel.slide, q[0])))

    @staticmethod
    def attitude(q, travel):
        """Half the angle about z."""
        return half_turn_about_z(q[0])

    @staticmethod
    def subspace(q, travel):
        """(z; pitch z)."""
        return (Motion(Z, Vec3(0, 0, travel.slide)),)

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
        return Revolute.random(key, dtype)

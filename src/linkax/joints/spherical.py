"""Spherical (ball) joint: a unit quaternion, with the angular velocity in M's axes as speeds."""

import jax
import jax.numpy as jnp

from linkax.joints.base import AbstractJoint
from linkax.math import quaternion
from linkax.math.quaternion import Quaternion
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Mat3, X, Y, Z


def quaternion_rate(q: Quaternion, x, y, z) -> Quaternion:
    """q (x) (0, omega)/2 for omega = (x, y, z) in body axes."""
    return quaternion.product(q, Quaternion(0.0 * x, 0.5 * x, 0.5 * y, 0.5 * z))


class Spherical(AbstractJoint):
    """q = unit quaternion (w, x, y, z) from M to F, v = angular velocity in M's axes [rad/s]."""

    name = "spherical"
    nq = 4
    nv = 3
    coordinate_suffixes = ("qw", "qx", "qy", "qz")
    speed_suffixes = ("wx", "wy", "wz")
    locked_positions = (0, 1, 2)
    locked_rotations = ()

    @staticmethod
    def transform(q, travel):
        """Rotation by q, whatever its norm."""
        return Transform(Mat3(*quaternion.rotation(Quaternion(*q))), ZERO)

    @staticmethod
    def attitude(q, travel):
        """q, normalised."""
        return quaternion.normalized(Quaternion(*q))

    @staticmethod
    def subspace(q, travel):
        """(1; 0)."""
        return (Motion(X, ZERO), Motion(Y, ZERO), Motion(Z, ZERO))

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def rate(q, v):
        """q (x) (0, omega)/2."""
        return tuple(quaternion_rate(Quaternion(*q), *v))

    @staticmethod
    def integrate(q, dv):
        """q (x) exp(dv), normalised against drift."""
        step = quaternion.product(Quaternion(*q), quaternion.exponential(*dv))
        return tuple(quaternion.normalized(step))

    @staticmethod
    def difference(q0, q1):
        """The rotation vector of q0^-1 (x) q1, of length at most pi."""
        relative = quaternion.product(quaternion.conjugate(Quaternion(*q0)), Quaternion(*q1))
        return quaternion.logarithm(relative)

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The quaternion, of the sign nearer to `near`."""
        return tuple(quaternion.signed_like(attitude, Quaternion(*near)))

    @staticmethod
    def neutral():
        """The identity."""
        return (1.0, 0.0, 0.0, 0.0)

    @staticmethod
    def random(key, dtype):
        """Uniform over the rotation group: a normalised Gaussian."""
        sample = jax.random.normal(key, (4,), dtype)
        return sample / jnp.sqrt(jnp.sum(sample * sample))

"""Floating joint: six freedoms, unit quaternion and position, with the twist in M's axes as speeds."""

import jax
import jax.numpy as jnp

from linkax.joints.base import AbstractJoint
from linkax.joints.spherical import Spherical, quaternion_rate
from linkax.math import quaternion, safe
from linkax.math.quaternion import Quaternion
from linkax.spatial.motion import NO_MOTION, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Mat3, Vec3, X, Y, Z, cross, dot


def _rotation(q: Quaternion) -> Mat3:
    return Mat3(*quaternion.rotation(q))


class Floating(AbstractJoint):
    """q = (quaternion M to F; position of M's origin in F [m]), v = (omega; velocity) in M's axes."""

    name = "floating"
    nq = 7
    nv = 6
    coordinate_suffixes = ("qw", "qx", "qy", "qz", "x", "y", "z")
    speed_suffixes = ("wx", "wy", "wz", "vx", "vy", "vz")
    locked_positions = ()
    locked_rotations = ()

    @staticmethod
    def transform(q, travel):
        """The pose itself."""
        return Transform(_rotation(Quaternion(*q[:4])), Vec3(*q[4:]))

    @staticmethod
    def attitude(q, travel):
        """The quaternion of q, normalised."""
        return Spherical.attitude(q[:4], travel)

    @staticmethod
    def subspace(q, travel):
        """The identity."""
        angular = tuple(Motion(axis, ZERO) for axis in (X, Y, Z))
        return angular + tuple(Motion(ZERO, axis) for axis in (X, Y, Z))

    @staticmethod
    def bias(q, v, travel):
        """Zero: S is constant in M."""
        return NO_MOTION

    @staticmethod
    def rate(q, v):
        """q (x) (0, omega)/2 and R v."""
        attitude = Quaternion(*q[:4])
        velocity = _rotation(attitude) @ Vec3(*v[3:])
        return (*quaternion_rate(attitude, *v[:3]), *velocity)

    @staticmethod
    def integrate(q, dv):
        """The pose times exp(dv) on SE(3): a constant body twist is followed exactly.

        The translation of the exponential is V t with V = 1 + b [w]x + c [w]x^2 (Murray, Li, Sastry 1994,
        eq. 2.36).
        """
        w, t = Vec3(*dv[:3]), Vec3(*dv[3:])
        square = dot(w, w)
        once = cross(w, t)
        shift = t + once * safe.versine_of_square(square)
        shift = shift + cross(w, once) * safe.cubic_of_square(square)
        position = Vec3(*q[4:]) + _rotation(Quaternion(*q[:4])) @ shift
        return (*Spherical.integrate(q[:4], dv[:3]), *position)

    @staticmethod
    def difference(q0, q1):
        """log(X0^-1 X1) on SE(3), with V^-1 = 1 - [w]x/2 + e [w]x^2."""
        w = Vec3(*Spherical.difference(q0[:4], q1[:4]))
        back = _rotation(Quaternion(*q0[:4])).transposed
        shift = back @ (Vec3(*q1[4:]) - Vec3(*q0[4:]))
        once = cross(w, shift)
        t = shift - once * 0.5 + cross(w, once) * safe.half_cotangent_of_square(dot(w, w))
        return (*w, *t)

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The quaternion, of the sign nearer to `near`, and the place."""
        return (*quaternion.signed_like(attitude, Quaternion(*near[:4])), *pose.translation)

    @staticmethod
    def neutral():
        """The identity at the origin."""
        return (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @staticmethod
    def random(key, dtype):
        """Uniform rotation, position uniform over [-1, 1] m."""
        first, second = jax.random.split(key)
        position = jax.random.uniform(second, (3,), dtype, -1.0, 1.0)
        return jnp.concatenate([Spherical.random(first, dtype), position])

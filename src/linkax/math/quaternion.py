"""Unit quaternions (w, x, y, z), body to world, as structs of scalars.

The leaves of a `Quaternion` are scalars or arrays of one shape (a batch); every operation is elementwise,
so the same text serves one sample and, under `jax.vmap`, one contiguous array per component.
"""

from typing import NamedTuple

import jax.numpy as jnp

from linkax.math import safe
from linkax.math.scalar import Scalar, add, multiply, subtract, total


class Quaternion(NamedTuple):
    """Four scalars; unit norm is expected where a rotation is meant, and restored by `normalized`."""

    w: Scalar
    x: Scalar
    y: Scalar
    z: Scalar


IDENTITY = Quaternion(1, 0, 0, 0)


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product a (x) b: first rotate by b, then by a."""

    def sum_of(
        p, q, r, minus
    ):  # products with structural numbers vanish: the ground's attitude is one
        first = total(multiply(*p), multiply(*q), multiply(*r))
        return subtract(first, multiply(*minus))

    vector = total(multiply(a.x, b.x), multiply(a.y, b.y), multiply(a.z, b.z))
    return Quaternion(
        subtract(multiply(a.w, b.w), vector),
        sum_of((a.w, b.x), (a.x, b.w), (a.y, b.z), minus=(a.z, b.y)),
        sum_of((a.w, b.y), (a.y, b.w), (a.z, b.x), minus=(a.x, b.z)),
        sum_of((a.w, b.z), (a.z, b.w), (a.x, b.y), minus=(a.y, b.x)),
    )


def conjugate(a: Quaternion) -> Quaternion:
    """The inverse rotation of a unit quaternion."""
    return Quaternion(a.w, -a.x, -a.y, -a.z)


def squared_norm(a: Quaternion) -> Scalar:
    """w^2 + x^2 + y^2 + z^2."""
    return total(*(multiply(x, x) for x in a))


def normalized(a: Quaternion) -> Quaternion:
    """The unit quaternion in the direction of a; the zero quaternion becomes the identity."""
    n = squared_norm(a)
    zero = n == 0.0
    scale = jnp.where(zero, 0.0, 1.0 / jnp.sqrt(jnp.where(zero, 1.0, n)))
    return Quaternion(jnp.where(zero, 1.0, a.w * scale), a.x * scale, a.y * scale, a.z * scale)


def rotation(a: Quaternion) -> tuple[Scalar, ...]:
    """The nine entries, row by row, of the rotation matrix of a; a need not be normalised.

    The squared norm divides out, so the derivative along a itself is zero and an unnormalised stage of a
    Runge-Kutta step still gives a rotation. The zero quaternion gives the identity.
    """
    n = squared_norm(a)
    zero = n == 0.0
    s = jnp.where(zero, 0.0, 2.0 / jnp.where(zero, 1.0, n))
    sx, sy, sz = multiply(s, a.x), multiply(s, a.y), multiply(s, a.z)
    wx, wy, wz = multiply(a.w, sx), multiply(a.w, sy), multiply(a.w, sz)
    xx, xy, xz = multiply(a.x, sx), multiply(a.x, sy), multiply(a.x, sz)
    yy, yz, zz = multiply(a.y, sy), multiply(a.y, sz), multiply(a.z, sz)
    return (
        subtract(1.0, add(yy, zz)),
        subtract(xy, wz),
        add(xz, wy),
        add(xy, wz),
        subtract(1.0, add(xx, zz)),
        subtract(yz, wx),
        subtract(xz, wy),
        add(yz, wx),
        subtract(1.0, add(xx, yy)),
    )


def signed_like(a: Quaternion, b: Quaternion) -> Quaternion:
    """a or -a, the same rotation: the one nearer to b."""
    inner = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z
    sign = jnp.where(inner < 0.0, -1.0, 1.0)
    return Quaternion(a.w * sign, a.x * sign, a.y * sign, a.z * sign)


def exponential(x, y, z) -> Quaternion:
    """The unit quaternion of the rotation vector (x, y, z) [rad]."""
    quarter = 0.25 * (x * x + y * y + z * z)
    s = 0.5 * safe.sinc_of_square(quarter)
    return Quaternion(safe.cos_of_square(quarter), s * x, s * y, s * z)


def logarithm(a: Quaternion):
    """The rotation vector (x, y, z) [rad] of a, of length in [0, pi]; a need not be normalised.

    a and -a give the same vector; at a half turn (w = 0) the vector points along (x, y, z).
    """
    one = jnp.ones_like(a.w)
    sign = jnp.where(a.w < 0.0, -one, one)
    n = squared_norm(a)
    zero = n == 0.0
    # A quarter of the angle has tan = |xyz| / (|a| + |w|) <= 1 for every a, the half turn included, so one
    # analytic function of its square serves them all, without a case for w = 0.
    adjacent = jnp.sqrt(jnp.where(zero, 1.0, n)) + sign * a.w
    square = (a.x * a.x + a.y * a.y + a.z * a.z) / (adjacent * adjacent)
    factor = 4.0 * sign * safe.arctan_of_square(square) / adjacent
    return factor * a.x, factor * a.y, factor * a.z

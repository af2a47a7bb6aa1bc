"""Conversions among four descriptions of a rotation, differentiable at their singular points.

Quaternion (w, x, y, z), body to world; rotation matrix R with v_world = R v_body; rotation vector
(axis times angle [rad]); Euler angles e [rad], body-fixed x-y-z: R = Rx(e1) Ry(e2) Rz(e3).

Every function takes plain arrays with any leading batch axes, keeps their precision and composes
with `jit`, `vmap` and `grad`. A shape that does not end as stated raises `ValueError`. Quaternions
need not be normalised where a rotation is meant: the norm divides out, so the derivative along the
quaternion's own direction is zero, and the zero quaternion counts as the identity, with zero
derivatives.

A rotation has more than one quaternion, rotation vector or triple of angles. What is chosen:
- from a matrix: the quaternion with w >= 0; at a half turn (w = 0) its largest vector component is
  positive;
- a rotation vector has length in [0, pi]; at a half turn it points along the quaternion's vector
  part (x, y, z);
- Euler angles lie in [-pi, pi], the second in [-pi/2, pi/2]; at its ends (the poles) e3 = 0.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from linkax.math import quaternion as lanes
from linkax.math.safe import safe_arctan2


# Arrays, or nested sequences of numbers as typed in a notebook.
Numbers = ArrayLike | Sequence[Any]

# cos(e2) below this multiple of the rounding unit is noise of the matrix entries: the pole.
_POLE = 16.0


def _floating(value: Numbers) -> Array:
    array = jnp.asarray(value)
    return (
        array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(jnp.result_type(float))
    )


def _checked(function: str, what: str, value: Numbers, tail: tuple[int, ...]) -> Array:
    """The value as a floating-point array whose shape ends in `tail`, or a ValueError."""
    array = _floating(value)
    if array.shape[array.ndim - len(tail) :] != tail or array.ndim < len(tail):
        valid = ", ".join(map(str, tail))
        raise ValueError(
            f"{function} needs a {what} of shape (..., {valid}), but was given shape {array.shape}."
        )
    return array


def _broadcast(function: str, a: Array, b: Array) -> tuple[Array, Array]:
    """Both arrays with their common batch axes written out."""
    try:
        batch = jnp.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{function} needs two batches of shapes that broadcast, but was given "
            f"{a.shape[:-1]} and {b.shape[:-1]}."
        ) from None
    return jnp.broadcast_to(a, (*batch, a.shape[-1])), jnp.broadcast_to(b, (*batch, b.shape[-1]))


def _split(q: Array) -> lanes.Quaternion:
    return lanes.Quaternion(q[..., 0], q[..., 1], q[..., 2], q[..., 3])


def _split_rotation(q: Array) -> lanes.Quaternion:
    """Components of q; those of the identity where q is zero or its square near underflow."""
    # Replaced here, before any division, so that neither value nor derivative divides by zero.
    tiny = jnp.finfo(q.dtype).tiny ** 0.5
    zero = jnp.sum(q * q, axis=-1) < tiny
    w, *xyz = (jnp.where(zero, rest, q[..., k]) for k, rest in enumerate((1.0, 0.0, 0.0, 0.0)))
    return lanes.Quaternion(w, *xyz)


def _stack(components: Sequence[Array]) -> Array:
    return jnp.stack(components, axis=-1)


def _stack_matrix(entries: Sequence[Array]) -> Array:
    rows = _stack(entries)
    return rows.reshape((*rows.shape[:-1], 3, 3))


# Quaternions


def quaternion_multiply(a: Numbers, b: Numbers) -> Float[Array, "... 4"]:
    """The Hamilton product a (x) b, shape (..., 4): rotation b first, then a; not normalised."""
    first = _checked("quaternion_multiply", "quaternion", a, (4,))
    second = _checked("quaternion_multiply", "quaternion", b, (4,))
    first, second = _broadcast("quaternion_multiply", first, second)
    return _stack(lanes.product(_split(first), _split(second)))


def quaternion_conjugate(q: Numbers) -> Float[Array, "... 4"]:
    """(w, -x, -y, -z), shape (..., 4): the inverse of a unit quaternion."""
    return _stack(lanes.conjugate(_split(_checked("quaternion_conjugate", "quaternion", q, (4,)))))


def quaternion_normalize(q: Numbers) -> Float[Array, "... 4"]:
    """The unit quaternion q / |q|, shape (..., 4), of unchanged sign; zero becomes the identity."""
    q = _checked("quaternion_normalize", "quaternion", q, (4,))
    return _stack(lanes.normalized(_split_rotation(q)))


def rotate(q: Numbers, v: Numbers) -> Float[Array, "... 3"]:
    """The vector v (..., 3) rotated by the quaternion q (..., 4): from body axes to world axes."""
    rotation = _checked("rotate", "quaternion", q, (4,))
    vector = _checked("rotate", "vector", v, (3,))
    rotation, vector = _broadcast("rotate", rotation, vector)
    return jnp.sum(quaternion_to_matrix(rotation) * vector[..., None, :], axis=-1)


def wxyz_to_xyzw(q: Numbers) -> Float[Array, "... 4"]:
    """Quaternion (..., 4), its scalar moved from first to last place, as others store it."""
    q = _checked("wxyz_to_xyzw", "quaternion", q, (4,))
    return jnp.concatenate([q[..., 1:], q[..., :1]], axis=-1)


def xyzw_to_wxyz(q: Numbers) -> Float[Array, "... 4"]:
    """Quaternion (..., 4), its scalar moved from last to first place, the order used here."""
    q = _checked("xyzw_to_wxyz", "quaternion", q, (4,))
    return jnp.concatenate([q[..., 3:], q[..., :3]], axis=-1)


# Quaternion and rotation matrix


def quaternion_to_matrix(q: Numbers) -> Float[Array, "... 3 3"]:
    """The rotation matrix (..., 3, 3), body to world, of q (..., 4), normalised or not."""
    q = _checked("quaternion_to_matrix", "quaternion", q, (4,))
    return _stack_matrix(lanes.rotation(_split_rotation(q)))


def matrix_to_quaternion(matrix: Numbers) -> Float[Array, "... 4"]:
    """The unit quaternion (..., 4) with w >= 0 of a rotation matrix (..., 3, 3).

    At a half turn (w = 0) the largest vector component is positive. The derivative is that of the
    selected formula: right for every variation along which the matrix stays a rotation.

    Source: Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1(3), 1978.
    """
    r = _checked("matrix_to_quaternion", "rotation matrix", matrix, (3, 3))
    (r00, r01, r02), (r10, r11, r12), (r20, r21, r22) = (
        [r[..., i, j] for j in range(3)] for i in range(3)
    )
    wx, wy, wz = r21 - r12, r02 - r20, r10 - r01
    xy, xz, yz = r01 + r10, r02 + r20, r12 + r21
    squares = _stack(
        [1 + r00 + r11 + r22, 1 + r00 - r11 - r22, 1 - r00 + r11 - r22, 1 - r00 - r11 + r22]
    )
    # Row k holds 4 q_k q. Any row points along q; the one with the largest q_k does so without
    # cancellation. It is chosen before the square root, so the others take part in no derivative.
    # The four squares sum to four, whatever the matrix, so the chosen row is never shorter than one
    # and needs no guard.
    rows = (
        _stack([squares[..., 0], wx, wy, wz]),
        _stack([wx, squares[..., 1], xy, xz]),
        _stack([wy, xy, squares[..., 2], yz]),
        _stack([wz, xz, yz, squares[..., 3]]),
    )
    largest = jnp.argmax(squares, axis=-1)[..., None]
    row = rows[0]
    for k in (1, 2, 3):
        row = jnp.where(largest == k, rows[k], row)
    row = jnp.where(row[..., :1] < 0.0, -row, row)
    return row / jnp.sqrt(jnp.sum(row * row, axis=-1, keepdims=True))


# Rotation vector


def rotation_vector_to_quaternion(v: Numbers) -> Float[Array, "... 4"]:
    """The unit quaternion (..., 4) of the rotation vector v (..., 3) [rad].

    Smooth in v everywhere, so w is negative for an angle between pi and 3 pi.
    """
    v = _checked("rotation_vector_to_quaternion", "rotation vector", v, (3,))
    return _stack(lanes.exponential(v[..., 0], v[..., 1], v[..., 2]))


def quaternion_to_rotation_vector(q: Numbers) -> Float[Array, "... 3"]:
    """The rotation vector (..., 3) [rad], of length in [0, pi], of q (..., 4), normalised or not.

    The angle comes from an arctangent, so a component that rounding has put outside [-1, 1] does no
    harm. q and -q give the same vector, except at a half turn (w = 0): there it points along
    (x, y, z).
    """
    q = _checked("quaternion_to_rotation_vector", "quaternion", q, (4,))
    return _stack(lanes.logarithm(_split_rotation(q)))


def rotation_vector_to_matrix(v: Numbers) -> Float[Array, "... 3 3"]:
    """The rotation matrix (..., 3, 3), exponential of v x, of the rotation vector v (..., 3)."""
    v = _checked("rotation_vector_to_matrix", "rotation vector", v, (3,))
    return quaternion_to_matrix(rotation_vector_to_quaternion(v))


def matrix_to_rotation_vector(matrix: Numbers) -> Float[Array, "... 3"]:
    """The rotation vector (..., 3) [rad], of length in [0, pi], of a rotation matrix (..., 3, 3).

    At a half turn its largest component is positive.
    """
    r = _checked("matrix_to_rotation_vector", "rotation matrix", matrix, (3, 3))
    return quaternion_to_rotation_vector(matrix_to_quaternion(r))


# Euler angles, body-fixed x-y-z


def euler_to_matrix(e: Numbers) -> Float[Array, "... 3 3"]:
    """The matrix R = Rx(e1) Ry(e2) Rz(e3), (..., 3, 3), of the Euler angles e (..., 3) [rad]."""
    e = _checked("euler_to_matrix", "triple of Euler angles", e, (3,))
    c1, c2, c3 = (jnp.cos(e[..., k]) for k in range(3))
    s1, s2, s3 = (jnp.sin(e[..., k]) for k in range(3))
    return _stack_matrix(
        [
            *(c2 * c3, -c2 * s3, s2),
            *(c1 * s3 + s1 * s2 * c3, c1 * c3 - s1 * s2 * s3, -s1 * c2),
            *(s1 * s3 - c1 * s2 * c3, s1 * c3 + c1 * s2 * s3, c1 * c2),
        ]
    )


def matrix_to_euler(matrix: Numbers) -> Float[Array, "... 3"]:
    """The Euler angles (..., 3) [rad], body-fixed x-y-z, of a rotation matrix (..., 3, 3).

    Within rounding of the poles e2 = +-pi/2 only e1 +- e3 is determined: there e3 = 0 and e2 is
    +-pi/2 exactly, both with zero derivatives, and e1 holds the remaining turn about x, in value
    and derivative.
    """
    r = _checked("matrix_to_euler", "rotation matrix", matrix, (3, 3))
    # (c2 c3, -c2 s3, s2) is the first row.
    c2_c3, c2_s3, s2 = r[..., 0, 0], -r[..., 0, 1], r[..., 0, 2]
    square = c2_c3 * c2_c3 + c2_s3 * c2_s3
    pole = square <= (_POLE * jnp.finfo(r.dtype).eps) ** 2
    # Double where: root and quotients are evaluated, and differentiated, also in lanes at the pole.
    root = jnp.sqrt(jnp.where(pole, 1.0, square))
    c3, s3 = jnp.where(pole, 1.0, c2_c3 / root), jnp.where(pole, 0.0, c2_s3 / root)
    # An arctangent for e2: the arcsine of s2 loses half the digits near the pole, and its slope is
    # infinite there.
    e2 = safe_arctan2(s2, jnp.where(pole, 0.0, root))
    e3 = jnp.arctan2(s3, c3)
    # R Rz(-e3) = Rx(e1) Ry(e2) has the second column (0, c1, s1), of length one at the pole too;
    # the entries (-s1 c2, c1 c2), usually taken, vanish there: e1 would be rounding noise.
    e1 = safe_arctan2(s3 * r[..., 2, 0] + c3 * r[..., 2, 1], s3 * r[..., 1, 0] + c3 * r[..., 1, 1])
    return _stack([e1, e2, e3])


def euler_to_quaternion(e: Numbers) -> Float[Array, "... 4"]:
    """The unit quaternion (..., 4) of Euler angles e (..., 3) [rad]; smooth: w may be negative."""
    e = _checked("euler_to_quaternion", "triple of Euler angles", e, (3,))
    c1, c2, c3 = (jnp.cos(0.5 * e[..., k]) for k in range(3))
    s1, s2, s3 = (jnp.sin(0.5 * e[..., k]) for k in range(3))
    return _stack(
        [
            c1 * c2 * c3 - s1 * s2 * s3,
            s1 * c2 * c3 + c1 * s2 * s3,
            c1 * s2 * c3 - s1 * c2 * s3,
            c1 * c2 * s3 + s1 * s2 * c3,
        ]
    )


def quaternion_to_euler(q: Numbers) -> Float[Array, "... 3"]:
    """The Euler angles (..., 3) [rad] of q (..., 4); at the poles as in `matrix_to_euler`."""
    q = _checked("quaternion_to_euler", "quaternion", q, (4,))
    return matrix_to_euler(quaternion_to_matrix(q))


def euler_rate_matrix(e: Numbers) -> Float[Array, "... 3 3"]:
    """The matrix E (..., 3, 3) that turns angular velocity in body axes into Euler angle rates.

    At the poles e2 = +-pi/2, within rounding, 1/cos(e2) counts as zero: e1 stands still and e3
    takes the whole turn about the body's z axis. Everything stays finite, and the rates still
    reproduce every angular velocity that any rates can produce there.
    """
    e = _checked("euler_rate_matrix", "triple of Euler angles", e, (3,))
    c2, s2 = jnp.cos(e[..., 1]), jnp.sin(e[..., 1])
    c3, s3 = jnp.cos(e[..., 2]), jnp.sin(e[..., 2])
    pole = jnp.abs(c2) <= _POLE * jnp.finfo(e.dtype).eps
    secant = jnp.where(pole, 0.0, 1.0 / jnp.where(pole, 1.0, c2))
    zero, one = jnp.zeros_like(c2), jnp.ones_like(c2)
    return _stack_matrix(
        [
            *(c3 * secant, -s3 * secant, zero),
            *(s3, c3, zero),
            *(-c3 * s2 * secant, s3 * s2 * secant, one),
        ]
    )


# Units, for the edges of a program


def radians_to_degrees(angle: Numbers) -> Float[Array, "..."]:
    """The angle [rad], of any shape, in degrees."""
    return _floating(angle) * (180.0 / jnp.pi)


def degrees_to_radians(angle: Numbers) -> Float[Array, "..."]:
    """The angle [deg], of any shape, in radians."""
    return _floating(angle) * (jnp.pi / 180.0)

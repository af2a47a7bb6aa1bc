"""Stacks of small vectors and matrices: arrays whose last axes are 3, 6 or a few more.

Products are written out over the inner axis as multiply-adds, one elementwise kernel each, and never as
library products: those call a routine a product on CPU (40 us for seven 3x3 ones) and lose digits on GPU.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


# [u]x = sum_k u_k _SKEW[k].
_SKEW = np.asarray(
    [
        [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]],
        [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ]
)


def product(a: Float[Array, "... i k"], b: Float[Array, "... k j"]) -> Float[Array, "... i j"]:
    """a b, matrix by matrix; the stacks have the same leading axes."""
    total = a[..., :, 0:1] * b[..., 0:1, :]
    for k in range(1, a.shape[-1]):
        total = total + a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return total


def apply(a: Float[Array, "... i k"], x: Float[Array, "... k"]) -> Float[Array, "... i"]:
    """a x, matrix by matrix."""
    return product(a, x[..., None])[..., 0]


def apply_transposed(a: Float[Array, "... k i"], x: Float[Array, "... k"]) -> Float[Array, "... i"]:
    """a^T x, matrix by matrix."""
    return product(x[..., None, :], a)[..., 0, :]


def transposed(a: Float[Array, "... i j"]) -> Float[Array, "... j i"]:
    """The transposes."""
    return jnp.swapaxes(a, -1, -2)


def dot(a: Float[Array, "... k"], b: Float[Array, "... k"]) -> Float[Array, "..."]:
    """a . b, vector by vector."""
    return product(a[..., None, :], b[..., None])[..., 0, 0]


def cross(a: Float[Array, "... 3"], b: Float[Array, "... 3"]) -> Float[Array, "... 3"]:
    """a x b, vector by vector."""
    ax, ay, az = (a[..., k] for k in range(3))
    bx, by, bz = (b[..., k] for k in range(3))
    return jnp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def skew(u: Float[Array, "... 3"]) -> Float[Array, "... 3 3"]:
    """[u]x, with [u]x b = u x b."""
    base = jnp.asarray(_SKEW, u.dtype).reshape(3, *(1,) * (u.ndim - 1), 3, 3)
    x, y, z = (u[..., k, None, None] for k in range(3))
    return x * base[0] + y * base[1] + z * base[2]


def rotations(attitude: Float[Array, "... 4"]) -> Float[Array, "... 3 3"]:
    """Rotation matrices of quaternions (w, x, y, z) of any norm but zero.

    R = ((w^2 - u.u) 1 + 2 u u^T + 2 w [u]x) / (w^2 + u.u), all entries in one kernel: written out one by
    one they would be nine.
    """
    w, x, y, z = (attitude[..., k, None, None] for k in range(4))
    u = attitude[..., 1:]
    identity = jnp.eye(3, dtype=attitude.dtype).reshape(*(1,) * (u.ndim - 1), 3, 3)
    ww, uu = w * w, x * x + y * y + z * z
    full = (ww - uu) * identity + 2.0 * (u[..., :, None] * u[..., None, :] + w * skew(u))
    return full / (ww + uu)

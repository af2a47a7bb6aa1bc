"""Inverses of symmetric positive semidefinite matrices, tolerant of rows that depend on one another."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.math.safe import safe_divide, safe_sqrt


# Eigenvalues below so many roundings of the largest count as zero; with rows scaled to a unit diagonal those
# of singular arms of 4 to 20 hinges came out below one, in both precisions.
NEGLIGIBLE = 1e2


def _times(*factors: Array) -> Array:
    value = factors[0]
    for factor in factors[1:]:
        value = jnp.matmul(value, factor, precision=jax.lax.Precision.HIGHEST)
    return value


@jax.custom_jvp
def _truncated(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The Moore-Penrose inverse by eigenvalues, the negligible ones left out."""
    values, vectors = jnp.linalg.eigh(A)
    dropped = values <= NEGLIGIBLE * jnp.finfo(A.dtype).eps * jnp.max(values)
    inverse = jnp.where(dropped, 0.0, 1.0 / jnp.where(dropped, 1.0, values))
    full = _times(vectors * inverse[None, :], vectors.T)
    return 0.5 * (full + full.T)


@_truncated.defjvp
def _truncated_jvp(primals, tangents):
    """Golub, Pereyra 1973, eq. 4.12, for symmetric A: no differences of eigenvalues, which may be equal."""
    (A,), (dA,) = primals, tangents
    X = _truncated(A)
    missed = jnp.eye(A.shape[0], dtype=A.dtype) - _times(A, X)
    turned = _times(X, X, dA, missed)
    return X, turned + turned.T - _times(X, dA, X)


def pseudo_inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """A symmetric X with A X A = A and X A X = X, for a symmetric positive semidefinite A.

    The inverse where A has one. Otherwise the Moore-Penrose inverse of A scaled to a unit diagonal, scaled
    back: rows of different units count alike. Rows of zeros stay zero. Derivatives, of both modes and any
    order, are those at constant rank, also where eigenvalues are equal.
    """
    if matrix.shape[0] == 0:
        return matrix
    scale = safe_divide(jnp.ones_like(matrix[0]), safe_sqrt(jnp.diagonal(matrix)))
    both = scale[:, None] * scale[None, :]
    return both * _truncated(both * matrix)

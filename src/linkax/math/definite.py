"""Factorisations of symmetric positive definite matrices of any size, for right-hand sides of any shape."""

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from linkax.math import ldl


# Up to the freedoms of a joint a factorisation is written out; beyond, code grows faster than a call costs.
_WRITTEN_OUT = 6

Definite = ldl.Factor | Float[Array, "n n"]


def factor(matrix: Float[Array, "n n"]) -> Definite:
    """The factorisation of a matrix by its lower triangle; nan or infinite where it is not positive."""
    n = matrix.shape[0]
    if n > _WRITTEN_OUT:
        return jnp.linalg.cholesky(matrix, symmetrize_input=False)
    return ldl.factor([[matrix[i, j] for j in range(i + 1)] for i in range(n)])


def solve(f: Definite, b: Float[Array, "n ..."]) -> Float[Array, "n ..."]:
    """x with matrix x = b, along the first axis of b."""
    if not isinstance(f, ldl.Factor):
        return cho_solve((f, True), b.reshape(b.shape[0], -1)).reshape(b.shape)
    if not f.reciprocal:
        return b
    return jnp.stack(ldl.solve(f, [b[i] for i in range(b.shape[0])]))

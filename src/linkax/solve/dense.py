"""Dense linear solves that report singularity: with pivots, or tolerant of redundant rows."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Pivoted(NamedTuple):
    """An LU factorisation with row pivots."""

    lu: Float[Array, "n n"]
    pivots: Array


class Truncated(NamedTuple):
    """A pseudo-inverse by its singular vectors; directions of negligible singular values are left out."""

    left: Float[Array, "n n"]
    inverse: Float[Array, " n"]  # of the singular values; zero where negligible
    right: Float[Array, "n n"]  # transposed


def negligible(matrix: Float[Array, "..."]) -> Float[Array, ""]:
    """What counts as zero among the pivots of a matrix, or of blocks: 100 eps of the largest entry."""
    return 100.0 * jnp.finfo(matrix.dtype).eps * jnp.max(jnp.abs(matrix), initial=0.0)


def factor(
    matrix: Float[Array, "n n"], shift: Float[Array, ""] | float
) -> tuple[Pivoted, Bool[Array, ""]]:
    """LU factors, and whether a pivot was negligible; then they are those of matrix + shift * identity."""
    lu, pivots = jax.scipy.linalg.lu_factor(matrix)
    smallest = jnp.min(jnp.abs(jnp.diagonal(lu)), initial=jnp.inf)
    # Not `<=`: a matrix that is not finite is singular too.
    singular = ~(smallest > negligible(matrix)) if matrix.shape[0] else jnp.zeros((), bool)
    shifted = lambda: jax.scipy.linalg.lu_factor(
        matrix + shift * jnp.eye(*matrix.shape, dtype=matrix.dtype)
    )
    return Pivoted(*jax.lax.cond(singular, shifted, lambda: (lu, pivots))), singular


def solve(factors: Pivoted, b: Float[Array, " n"]) -> Float[Array, " n"]:
    """The solution for one right-hand side."""
    return jax.scipy.linalg.lu_solve((factors.lu, factors.pivots), b)


def factor_truncated(
    matrix: Float[Array, "n n"], relative: float
) -> tuple[Truncated, Bool[Array, ""]]:
    """Singular vectors without the directions below `relative` of the largest; whether there were any.

    For redundant but consistent rows: the solution is the shortest one.
    """
    left, values, right = jnp.linalg.svd(matrix)
    kept = values > relative * jnp.max(values, initial=0.0)
    inverse = jnp.where(kept, 1.0 / jnp.where(kept, values, 1.0), 0.0)
    return Truncated(left, inverse, right), ~jnp.all(kept)


def solve_truncated(factors: Truncated, b: Float[Array, " n"]) -> Float[Array, " n"]:
    """The shortest least-squares solution for one right-hand side."""
    high = jax.lax.Precision.HIGHEST
    inside = jnp.matmul(b, factors.left, precision=high)
    return jnp.matmul(inside * factors.inverse, factors.right, precision=high)

"""Solves of symmetric positive semi-definite systems that are consistent, by Cholesky factors.

Redundant rows make a system singular, and so do singular positions for an instant. Instead of leaving
directions out, which takes singular vectors (a library call a sample), a shift is added and taken back by the
proximal iteration x <- (A + s)^-1 (b + s x), which converges to a solution wherever there is one: what an
eigenvalue e leaves of an error shrinks by s / (s + e) at each pass (Carpentier, Budhiraja, Mansard 2021,
section III). Rows are scaled to a unit diagonal first, so that units do not count.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float


# The shift in units of the scaled diagonal is eps^SHIFT: 1.5e-10 in float64, 6e-5 in float32. Rounding in
# directions without an eigenvalue is raised by eps / shift, and does not reach the accelerations.
SHIFT = 0.63
PASSES = 4


class Proximal(NamedTuple):
    """Factors of the scaled and shifted matrix."""

    lower: Float[Array, "n n"]
    scale: Float[Array, " n"]
    shift: Float[Array, ""]


def factor(matrix: Float[Array, "n n"]) -> Proximal:
    """Factors of a symmetric positive semi-definite matrix; rows of zeros are left alone."""
    diagonal = jnp.diagonal(matrix)
    positive = diagonal > 0.0
    scale = jnp.where(positive, 1.0 / jnp.sqrt(jnp.where(positive, diagonal, 1.0)), 1.0)
    eps = jnp.finfo(matrix.dtype).eps
    shift = jnp.asarray(eps**SHIFT, matrix.dtype)
    scaled = matrix * scale[:, None] * scale[None, :]
    return Proximal(
        jnp.linalg.cholesky(scaled + shift * jnp.eye(*matrix.shape, dtype=matrix.dtype)),
        scale,
        shift,
    )


def solve(factors: Proximal, b: Float[Array, " n"]) -> Float[Array, " n"]:
    """A solution of A x = b, the shortest one in the scaled unknowns but for rounding."""
    wanted = factors.scale * b
    x = jnp.zeros_like(wanted)
    for _ in range(PASSES):
        x = cho_solve((factors.lower, True), wanted + factors.shift * x)
    return factors.scale * x

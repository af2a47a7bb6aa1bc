"""LDL^T factorisation of small symmetric matrices whose entries are scalars, written out entry by entry.

For the one to six freedoms of a joint. A matrix is a list of rows; only the lower triangle is read. Under
`vmap` each entry is one contiguous array, so the same text factors a batch without small matrix products.
"""

from typing import NamedTuple

from linkax.math.materialise import materialise
from linkax.math.scalar import Scalar, divide, multiply, subtract


class Factor(NamedTuple):
    """`lower[i][j]` for j < i (unit diagonal understood) and the reciprocals of the pivots."""

    lower: tuple[tuple[Scalar, ...], ...]
    reciprocal: tuple[Scalar, ...]


def factor(matrix) -> Factor:
    """The factorisation of a positive definite matrix; a zero pivot gives non-finite values."""
    n = len(matrix)
    lower: list[list[Scalar]] = [[] for _ in range(n)]
    pivots: list[Scalar] = []
    reciprocal: list[Scalar] = []
    for j in range(n):
        pivot = matrix[j][j]
        for k in range(j):
            pivot = subtract(pivot, multiply(multiply(lower[j][k], lower[j][k]), pivots[k]))
        pivots.append(pivot)
        reciprocal.append(divide(1, pivot))
        for i in range(j + 1, n):
            entry = matrix[i][j]
            for k in range(j):
                entry = subtract(entry, multiply(multiply(lower[i][k], lower[j][k]), pivots[k]))
            # A quotient, not a product with the reciprocal: XLA stores quotients and recomputes products,
            # and every later column uses this one.
            lower[i].append(divide(entry, pivot))
    return Factor(tuple(tuple(row) for row in lower), tuple(reciprocal))


def solve(f: Factor, b) -> tuple[Scalar, ...]:
    """x with L D L^T x = b."""
    n = len(f.reciprocal)
    x = list(b)
    for i in range(n):
        for k in range(i):
            x[i] = subtract(x[i], multiply(f.lower[i][k], x[k]))
        x[i] = materialise(x[i]) if i > 0 else x[i]
    x = [multiply(x[i], f.reciprocal[i]) for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = subtract(x[i], multiply(f.lower[k][i], x[k]))
        x[i] = materialise(x[i]) if n > 1 else x[i]
    return tuple(x)

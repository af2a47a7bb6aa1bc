"""Arithmetic on scalars in which Python's 0 and 1 are structural: known while tracing, and never computed.

A revolute joint's motion subspace is (0, 0, 1; 0, 0, 0). Written with these functions, a product with it
selects a column of an inertia instead of multiplying by zeros, which the compiler must not remove by itself
(0 * nan is nan). So each algorithm is written once for all joints and each joint pays only for its own.
"""

from typing import Any

import jax
from jax import lax


# An array of one sample's shape, or a structural number. Left unchecked: these are the innermost values of
# every recursion, and a type checker cannot follow which of them stay structural.
Scalar = Any


def is_zero(a: Scalar) -> bool:
    """Whether a is the structural zero; arrays never are, whatever they hold."""
    return isinstance(a, (int, float)) and a == 0


def _is_one(a: Scalar) -> bool:
    return isinstance(a, (int, float)) and a == 1


def _alike(a: Scalar, b: Scalar) -> bool:
    """Whether `lax` takes both as they are.

    Its operations trace several times faster than those of `jax.numpy`, which promote and dispatch first; a
    gradient of forward dynamics is some ten thousand of them.
    """
    return (
        isinstance(a, jax.Array)
        and isinstance(b, jax.Array)
        and a.shape == b.shape
        and a.dtype == b.dtype
    )


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    return lax.add(a, b) if _alike(a, b) else a + b


def negative(a: Scalar) -> Scalar:
    """-a."""
    if is_zero(a):
        return 0
    return lax.neg(a) if isinstance(a, jax.Array) else -a


def subtract(a: Scalar, b: Scalar) -> Scalar:
    """a - b."""
    if is_zero(b):
        return a
    if is_zero(a):
        return negative(b)
    return lax.sub(a, b) if _alike(a, b) else a - b


def multiply(a: Scalar, b: Scalar) -> Scalar:
    """a * b."""
    if is_zero(a) or is_zero(b):
        return 0
    if _is_one(a):
        return b
    if _is_one(b):
        return a
    return lax.mul(a, b) if _alike(a, b) else a * b


def divide(a: Scalar, b: Scalar) -> Scalar:
    """a / b; b is never structurally zero."""
    if is_zero(a):
        return 0
    if _is_one(b):
        return a
    return lax.div(a, b) if _alike(a, b) else a / b


def total(*terms: Scalar) -> Scalar:
    """The sum of the terms."""
    value: Scalar = 0
    for term in terms:
        value = add(value, term)
    return value

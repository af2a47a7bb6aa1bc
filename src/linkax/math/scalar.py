"""Arithmetic on scalars in which Python's 0 and 1 are structural: known while tracing, and never computed.

A revolute joint's motion subspace is (0, 0, 1; 0, 0, 0). Written with these functions, a product with it
selects a column of an inertia instead of multiplying by zeros, which the compiler must not remove by itself
(0 * nan is nan). So each algorithm is written once for all joints and each joint pays only for its own.
"""

from jaxtyping import Array, Float


Scalar = Float[Array, "..."] | float | int


def is_zero(a: Scalar) -> bool:
    """Whether a is the structural zero; arrays never are, whatever they hold."""
    return isinstance(a, (int, float)) and a == 0


def _is_one(a: Scalar) -> bool:
    return isinstance(a, (int, float)) and a == 1


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b."""
    if is_zero(a):
        return b
    return a if is_zero(b) else a + b


def negative(a: Scalar) -> Scalar:
    """-a."""
    return 0 if is_zero(a) else -a


def subtract(a: Scalar, b: Scalar) -> Scalar:
    """a - b."""
    if is_zero(b):
        return a
    return -b if is_zero(a) else a - b


def multiply(a: Scalar, b: Scalar) -> Scalar:
    """a * b."""
    if is_zero(a) or is_zero(b):
        return 0
    if _is_one(a):
        return b
    return a if _is_one(b) else a * b


def divide(a: Scalar, b: Scalar) -> Scalar:
    """a / b; b is never structurally zero."""
    if is_zero(a):
        return 0
    return a if _is_one(b) else a / b


def total(*terms: Scalar) -> Scalar:
    """The sum of the terms."""
    value: Scalar = 0
    for term in terms:
        value = add(value, term)
    return value

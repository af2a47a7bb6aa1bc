"""The safe functions equal exact rational series, and stay finite twice differentiated."""

from fractions import Fraction
from math import comb, factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import math as lm


# theta^2 of a few angles, on both sides of the switch from series to closed form.
SQUARES = np.array([0.0, 1e-30, 1e-16, 1e-8, 1e-4, 0.25, 1 - 1e-12, 1.0, 1 + 1e-9, 2.0, 9.0])
TERMS = 40


def bernoulli_numbers(count):
    numbers = [Fraction(1)]
    for m in range(1, count):
        total = sum((comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers


BERNOULLI = bernoulli_numbers(2 * TERMS + 3)
SERIES = {
    "cos_of_square": [Fraction((-1) ** k, factorial(2 * k)) for k in range(TERMS)],
    "sinc_of_square": [Fraction((-1) ** k, factorial(2 * k + 1)) for k in range(TERMS)],
    "versine_of_square": [Fraction((-1) ** k, factorial(2 * k + 2)) for k in range(TERMS)],
    "cubic_of_square": [Fraction((-1) ** k, factorial(2 * k + 3)) for k in range(TERMS)],
    "half_cotangent_of_square": [
        abs(BERNOULLI[2 * k + 2]) / factorial(2 * k + 2) for k in range(TERMS)
    ],
}


def exact(coefficients, x, order):
    """The derivative of the given order of sum c_k x^k, summed without rounding."""
    for _ in range(order):
        coefficients = [k * c for k, c in enumerate(coefficients)][1:]
    x = Fraction(float(x))
    return float(sum(c * x**k for k, c in enumerate(coefficients)))


def derivatives(function, x):
    """Value, first derivative (forward, reverse), second derivative; lane by lane under vmap."""
    reverse = jax.grad(function)
    every = (function, jax.jacfwd(function), reverse, jax.jacfwd(reverse))
    return jax.jit(jax.vmap(lambda t: tuple(f(t) for f in every)))(x)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
@pytest.mark.parametrize("name", SERIES)
def test_functions_of_the_squared_angle_equal_their_exact_series_to_second_derivatives(name, dtype):
    x = jnp.asarray(SQUARES, dtype=dtype)
    unit = float(jnp.finfo(dtype).eps) * exact(SERIES[name], 0.0, 0)
    for order, values, units in zip(
        (0, 1, 1, 2), derivatives(getattr(lm, name), x), (8, 16, 16, 64), strict=True
    ):
        assert values.dtype == dtype
        right = [exact(SERIES[name], t, order) for t in np.asarray(x)]
        np.testing.assert_allclose(values, right, rtol=0, atol=units * unit)


def test_closed_forms_hold_for_large_angles():
    t = np.array([4.0, 2 * np.pi - 0.1])
    x = jnp.asarray(t * t)
    np.testing.assert_allclose(lm.cos_of_square(x), np.cos(t), atol=1e-14)
    np.testing.assert_allclose(lm.sinc_of_square(x), np.sin(t) / t, atol=1e-14)
    np.testing.assert_allclose(lm.versine_of_square(x), (1 - np.cos(t)) / t**2, atol=1e-14)
    np.testing.assert_allclose(lm.cubic_of_square(x), (t - np.sin(t)) / t**3, atol=1e-14)
    half_cotangent = (1 - t / 2 / np.tan(t / 2)) / t**2
    np.testing.assert_allclose(lm.half_cotangent_of_square(x), half_cotangent, rtol=1e-13)


# name: function of one scalar, singular points, the documented value there (derivatives are zero),
# and the plain function for comparison at regular points.
SINGULAR = {
    "sqrt": (lm.safe_sqrt, (0.0, -1.0), (0.0, 0.0), jnp.sqrt, (0.25, 1e-8, 4.0)),
    "norm": (
        lambda t: lm.safe_norm(jnp.stack([t, 2 * t])),
        (0.0,),
        (0.0,),
        lambda t: jnp.sqrt(5.0) * jnp.abs(t),
        (0.5, -0.5, 1e-8),
    ),
    "quotient": (
        lambda t: lm.safe_divide(t + 1, t),
        (0.0,),
        (0.0,),
        lambda t: 1 + 1 / t,
        (0.5, -2.0, 1e-3),
    ),
    "arctan2": (
        lambda t: lm.safe_arctan2(t, 2 * t),
        (0.0,),
        (0.0,),
        lambda t: jnp.arctan2(t, 2 * t),
        (0.5, -0.5, 1e-8),
    ),
    "arcsin": (
        lm.safe_arcsin,
        (1.0, -1.0, 1.0000002, -1.5),
        (np.pi / 2, -np.pi / 2, np.pi / 2, -np.pi / 2),
        jnp.arcsin,
        (0.0, 0.5, -0.999),
    ),
    "arccos": (
        lm.safe_arccos,
        (1.0, -1.0, 1.0000002, -1.5),
        (0.0, np.pi, 0.0, np.pi),
        jnp.arccos,
        (0.0, 0.5, -0.999),
    ),
}


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_points_have_the_documented_value_and_zero_derivatives(name, dtype):
    function, points, values, plain, regular = SINGULAR[name]
    lanes = jnp.asarray(points + regular, dtype=dtype)
    got = [np.asarray(part) for part in derivatives(function, lanes)]
    right = [np.asarray(part) for part in derivatives(plain, lanes[len(points) :])]
    eps = jnp.finfo(dtype).eps
    np.testing.assert_allclose(got[0][: len(points)], values, atol=4 * eps)
    for part in got[1:]:
        assert part.dtype == dtype
        np.testing.assert_array_equal(part[: len(points)], 0.0)
    for order, part, plain_part in zip((0, 1, 1, 2), got, right, strict=True):
        # A vanishing second derivative is left with the rounding of terms of the size 1/t^2.
        scale = 1.0 if name not in ("norm", "arctan2") else float(np.min(np.abs(regular))) ** -order
        tolerance = 64 * eps
        np.testing.assert_allclose(
            part[len(points) :], plain_part, rtol=tolerance, atol=tolerance * scale
        )


def test_arctan2_matches_the_plain_one_on_the_axes():
    y, x = jnp.array([0.0, 1.0, 0.0, -1.0]), jnp.array([1.0, 0.0, -1.0, 0.0])
    np.testing.assert_array_equal(lm.safe_arctan2(y, x), jnp.arctan2(y, x))
    for argument in (0, 1):
        safe = jax.vmap(jax.grad(lm.safe_arctan2, argument))(y, x)
        np.testing.assert_array_equal(safe, jax.vmap(jax.grad(jnp.arctan2, argument))(y, x))


def test_not_a_number_is_passed_on():
    nan = jnp.array(jnp.nan)
    names = (*SERIES, "safe_sqrt", "safe_arcsin", "safe_arccos")
    results = [getattr(lm, name)(nan) for name in names]
    results += [lm.safe_norm(nan[None]), lm.safe_divide(nan, nan + 1), lm.safe_divide(nan, nan)]
    results += [lm.safe_arctan2(nan, 0 * nan + 1), lm.safe_arctan2(jnp.array(0.0), nan)]
    assert all(bool(jnp.isnan(result)) for result in results)

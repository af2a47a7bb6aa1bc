"""Scalar functions whose values and first two derivatives are right at their singular points.

Each function works elementwise on arrays of any shape. The technique is the double `where`: a branch that
is not taken still receives a cotangent, and 0 * inf is nan, so the argument of the untaken branch is
replaced before it is evaluated, not after.
"""

import functools as ft

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


# Below this value of theta^2 the Taylor series are used. They are summed to the last bit of float64 there;
# a smaller switch point would leave the second derivatives of the closed forms to cancellation
# (eps / theta^4: 1e-8 is lost at theta = 0.01).
_SWITCH = 1.0

# sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 and cos t as series in t^2, by falling order (Horner).
_COS = (-1 / 6402373705728000, 1 / 20922789888000, -1 / 87178291200, 1 / 479001600, -1 / 3628800)
_COS += (1 / 40320, -1 / 720, 1 / 24, -1 / 2, 1.0)
_SINC = (1 / 355687428096000, -1 / 1307674368000, 1 / 6227020800, -1 / 39916800, 1 / 362880)
_SINC += (-1 / 5040, 1 / 120, -1 / 6, 1.0)
_VERSINE = (1 / 6402373705728000, -1 / 20922789888000, 1 / 87178291200, -1 / 479001600, 1 / 3628800)
_VERSINE += (-1 / 40320, 1 / 720, -1 / 24, 1 / 2)
_CUBIC = (1 / 121645100408832000, -1 / 355687428096000, 1 / 1307674368000, -1 / 6227020800)
_CUBIC += (1 / 39916800, -1 / 362880, 1 / 5040, -1 / 120, 1 / 6)
# (1 - (t/2) cot(t/2)) / t^2 = sum |B_2k| t^(2k-2) / (2k)!  (Bernoulli numbers; radius 2 pi in t)
_HALF_COT = (174611 / 802857662698291200000, 43867 / 5109094217170944000)
_HALF_COT += (3617 / 10670622842880000, 1 / 74724249600, 691 / 1307674368000)
_HALF_COT += (1 / 47900160, 1 / 1209600, 1 / 30240, 1 / 720, 1 / 12)

# arctan(t)/t: the series converges for t < 1 only, so the switch is earlier and the series longer.
_ARCTAN_SWITCH = 0.04
_ARCTAN = tuple((-1) ** k / (2 * k + 1) for k in range(14))[::-1]


def _horner(coefficients, x):
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _slope(closed):
    return lambda x: jax.jvp(closed, (x,), (jnp.ones_like(x),))[1]


@ft.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _switched(coefficients, closed, switch, x):
    """The series below the switch, the closed form above; so are its derivatives of every order.

    Both sides see a clamped argument and the derivative does not pass through the choice. The compiler may
    evaluate x again, rounded differently, for each user: with a double `where`, comparisons that disagree
    combine one side's choice with the other side's placeholder, and the derivative is plainly wrong. Here
    both sides agree at the switch, whichever is chosen.
    """
    near = _horner(coefficients, jnp.minimum(x, switch))
    return jnp.where(x < switch, near, closed(jnp.maximum(x, switch)))


@_switched.defjvp
def _switched_jvp(coefficients, closed, switch, primals, tangents):
    (x,), (dx,) = primals, tangents
    degree = len(coefficients) - 1
    slopes = tuple((degree - k) * c for k, c in enumerate(coefficients[:-1]))
    value = _switched(coefficients, closed, switch, x)
    return value, _switched(slopes, _slope(closed), switch, x) * dx


def _of_root(function):
    return lambda x: function(jnp.sqrt(x))


def cos_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """cos(sqrt(x)) for x >= 0, analytic at zero."""
    return _switched(_COS, _of_root(jnp.cos), _SWITCH, x)


def sinc_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """sin(t)/t with t = sqrt(x), analytic at zero."""
    return _switched(_SINC, _of_root(lambda t: jnp.sin(t) / t), _SWITCH, x)


def versine_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """(1 - cos t)/t^2 with t = sqrt(x), analytic at zero."""
    return _switched(_VERSINE, _of_root(lambda t: (1.0 - jnp.cos(t)) / (t * t)), _SWITCH, x)


def cubic_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """(t - sin t)/t^3 with t = sqrt(x), analytic at zero."""
    return _switched(_CUBIC, _of_root(lambda t: (t - jnp.sin(t)) / (t * t * t)), _SWITCH, x)


def half_cotangent_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """(1 - (t/2) cot(t/2))/t^2 with t = sqrt(x) in [0, 2 pi), analytic at zero."""
    closed = lambda t: (1.0 - 0.5 * t * jnp.cos(0.5 * t) / jnp.sin(0.5 * t)) / (t * t)
    return _switched(_HALF_COT, _of_root(closed), _SWITCH, x)


def arctan_of_square(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """arctan(t)/t with t = sqrt(x), analytic at zero."""
    return _switched(_ARCTAN, _of_root(lambda t: jnp.arctan(t) / t), _ARCTAN_SWITCH, x)


def safe_sqrt(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """sqrt(x), with derivative zero (not infinite) at x <= 0, where the value is zero."""
    positive = x > 0.0
    return jnp.where(
        positive, jnp.sqrt(jnp.where(positive, x, 1.0)), jnp.where(jnp.isnan(x), x, 0.0)
    )


def safe_divide(
    numerator: Float[Array, "..."], denominator: Float[Array, "..."]
) -> Float[Array, "..."]:
    """numerator / denominator, and zero with zero derivatives where the denominator is exactly zero."""
    zero = denominator == 0.0
    return jnp.where(zero, 0.0, numerator / jnp.where(zero, 1.0, denominator))


def safe_norm(x: Float[Array, "... n"]) -> Float[Array, "..."]:
    """Euclidean norm over the last axis, with derivative zero at the zero vector."""
    return safe_sqrt(jnp.sum(x * x, axis=-1))


def safe_arctan2(y: Float[Array, "..."], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """arctan2(y, x), with value and derivatives zero at the origin."""
    origin = (x == 0.0) & (y == 0.0)
    return jnp.where(origin, 0.0, jnp.arctan2(y, jnp.where(origin, 1.0, x)))


def safe_arcsin(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """arcsin of x clipped to [-1, 1], with derivative zero at and beyond the ends."""
    inside = jnp.abs(x) < 1.0
    ends = jnp.sign(x) * (0.5 * jnp.pi)
    return jnp.where(inside, jnp.arcsin(jnp.where(inside, x, 0.0)), ends)


def safe_arccos(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """arccos of x clipped to [-1, 1], with derivative zero at and beyond the ends."""
    return 0.5 * jnp.pi - safe_arcsin(x)

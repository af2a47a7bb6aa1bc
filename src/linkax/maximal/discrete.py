"""A body over one interval of constant velocities: where it goes, and its momenta at both ends.

Within an interval of length h a body moves with a constant velocity v and turns by the unit quaternion
(c, h w / 2), c = sqrt(1 - |h w / 2|^2), w its average angular velocity in body axes. The discrete Legendre
transforms of that motion give the angular momentum at its start and at its end, each in the body axes of
that point,

    start:  p = c J w + (h/2) w x J w        end:  p = c J w - (h/2) w x J w

and R(start) p(start) = R(end) p(end) exactly: a body without torque keeps its spatial angular momentum to
rounding at any step. Derived from the rectangle rule for the rotational action (Manchester and Peck,
J. Guidance, Control, and Dynamics 39 (2016), section III; Brüdigam et al., Multibody System Dynamics 61
(2024), section 3); the sign of the gyroscopic term is the one that conserves.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.math.rotations import quaternion_multiply
from linkax.math.safe import safe_sqrt
from linkax.math.stacks import apply, cross, dot, product, skew
from linkax.maximal.bodies import Poses, poses


def cosine(w: Float[Array, "n 3"], h: Float[Array, ""]) -> Float[Array, " n"]:
    """c: the cosine of half the angle turned in the interval; zero beyond half a turn."""
    return safe_sqrt(1.0 - 0.25 * h * h * dot(w, w))


def momentum_at_start(inertia, w, h) -> Float[Array, "n 3"]:
    """The angular momentum at the start of an interval with rate w, in the body axes there."""
    spin = apply(inertia, w)
    return cosine(w, h)[:, None] * spin + 0.5 * h * cross(w, spin)


def momentum_at_end(inertia, w, h) -> Float[Array, "n 3"]:
    """The angular momentum at the end of an interval with rate w, in the body axes there."""
    spin = apply(inertia, w)
    return cosine(w, h)[:, None] * spin - 0.5 * h * cross(w, spin)


def momentum_slope(inertia, w, h) -> Float[Array, "n 3 3"]:
    """The derivative of `momentum_at_start` with respect to w."""
    spin = apply(inertia, w)
    c = cosine(w, h)[:, None, None]
    outer = spin[:, :, None] * w[:, None, :]
    turning = product(skew(w), inertia) - skew(spin)
    return c * inertia - (0.25 * h * h) * outer / _positive(c) + 0.5 * h * turning


def turn_slope(w, h) -> Float[Array, "n 3 3"]:
    """The rotation vector, in the axes at the end, by which the end turns for a change of w, over h.

    With d = (c, a), a = h w / 2: 2 vec(conj(d) (x) d') = h (c 1 + a a^T / c - [a]x) w'.
    """
    c = cosine(w, h)[:, None, None]
    a = 0.5 * h * w
    identity = jnp.eye(3, dtype=w.dtype)[None]
    return c * identity + a[:, :, None] * a[:, None, :] / _positive(c) - skew(a)


def _positive(c: Array) -> Array:
    return jnp.where(c > 0.0, c, jnp.ones_like(c))


def moved(p: Poses, v: Float[Array, "n 3"], w: Float[Array, "n 3"], h: Float[Array, ""]) -> Poses:
    """The poses at the end of an interval with velocities v, in world axes, and w, in body axes."""
    turn = jnp.concatenate([cosine(w, h)[:, None], 0.5 * h * w], axis=-1)
    q = quaternion_multiply(p.orientation, turn)
    # The turn is of unit length up to rounding; without this the rounding would add up.
    q = q / jnp.sqrt(dot(q, q))[:, None]
    return poses(p.position + h * v, q)

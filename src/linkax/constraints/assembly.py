"""Coordinates, speeds and accelerations that meet constraint rows, near given ones.

Changes are the smallest in a weighted sense, each coordinate weighed with an inertia of its own; frozen ones
do not change. Positions by Gauss-Newton steps along W G^T, with a last stage that has exact derivatives.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from linkax.constraints.tree_rows import TreeConstraints
from linkax.dynamics.side_by_side import mass_matrix_at
from linkax.kinematics.side_by_side import place
from linkax.model import AbstractModel
from linkax.model.naming import index_of
from linkax.solve import Budget, Equations, proximal, root


# A residual below this many roundings of the largest length or angle counts as closed.
FLOOR = 64.0
NEAR = 40  # Gauss-Newton steps that lead near a closed configuration
LARGEST = 0.5  # of one of them, in any coordinate [rad or m]


class Met(NamedTuple):
    """Something that meets rows, and how well."""

    value: Float[Array, " n"]
    error: Float[Array, ""]  # the largest residual that is left
    converged: Bool[Array, ""]


def weights_of(
    model: AbstractModel, q: Float[Array, " nq"], frozen: Sequence[str | int] = ()
) -> Float[Array, " nv"]:
    """How easily each coordinate changes: the inverse of its own inertia; zero for frozen ones."""
    M = mass_matrix_at(model.tree, place(model.tree, model.tree_coordinates(q)))
    own = jnp.diagonal(model.project(q, model.project(q, M).T))
    held = {index_of("speed", name, model.speed_names) for name in frozen}
    mask = np.asarray([i not in held for i in range(model.nv)], bool)
    smallest = jnp.finfo(own.dtype).eps * jnp.max(own, initial=1.0)
    return jnp.where(mask, 1.0 / jnp.maximum(own, smallest), 0.0)


def solve_q(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    t: Any = 0.0,
    frozen: Sequence[str | int] = (),
    weights: Float[Array, " nv"] | None = None,
) -> Met:
    """Coordinates near q that close the rows; q itself where none are found.

    Args:
        model: whose coordinates are wanted.
        rows: that must close.
        q: to start from.
        t: the time [s], for prescribed motions.
        frozen: names or indices of speeds whose coordinates stay as they are; static.
        weights: how easily each coordinate changes; `weights_of` if None.
    """
    now = jnp.asarray(t, model.dtype)
    if weights is None:
        weights = lax.stop_gradient(weights_of(model, q, frozen))
    fixed = lax.stop_gradient((model, rows, q, now, weights))
    near = _approach(*fixed)
    # The last stage starts where the approach ended, but moves with q: its derivatives are those at the end.
    start = model.integrate(near, model.difference(lax.stop_gradient(q), q))
    met = close(model, rows, start, now, weights)
    good = met.converged
    return Met(jnp.where(good, met.value, q), met.error, good)


def _approach(model: AbstractModel, rows: TreeConstraints, q, t, weights) -> Array:
    """Gauss-Newton steps of bounded length while they help."""

    def size_at(q):
        return jnp.max(jnp.abs(rows.position_residual(model, q, t)), initial=0.0)

    def step(carry):
        q, size, count, _ = carry
        r = rows.position_residual(model, q, t)
        dv = shortest(rows.jacobian(model, q, t), r, weights)
        largest = jnp.max(jnp.abs(dv), initial=0.0)
        dv = dv * jnp.minimum(1.0, LARGEST / jnp.maximum(largest, LARGEST))
        moved = model.integrate(q, -dv)
        new = size_at(moved)
        halved = model.integrate(q, -0.25 * dv)
        smaller = size_at(halved)
        better = new <= smaller
        best = jnp.minimum(new, smaller)
        kept = best < size
        chosen = jnp.where(kept, jnp.where(better, moved, halved), q)
        return chosen, jnp.where(kept, best, size), count + 1, kept

    def unfinished(carry):
        _, size, count, going = carry
        return going & (count < NEAR) & (size > 1e-6)

    start = (q, size_at(q), jnp.zeros((), jnp.int32), jnp.ones((), bool))
    return lax.while_loop(unfinished, step, start)[0]


def close(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    t: Float[Array, ""],
    weights: Float[Array, " nv"],
    active: Any = True,
) -> Met:
    """`solve_q` from nearby: Newton's method along W G^T at q; exact derivatives in both modes."""
    G = rows.chosen(rows.jacobian(model, q, t))
    given = (model, rows, q, t, weights[:, None] * G.T)
    budget = Budget(12, 6, 1e4)
    equations = Equations(_unclosed, _factor, _solve)
    found = root(equations, jnp.zeros((rows.solved,), q.dtype), given, budget, active)
    value = _displaced(found.value, given)
    error = jnp.max(jnp.abs(rows.position_residual(model, value, t)), initial=0.0)
    return Met(value, error, found.converged)


def _displaced(y, given):
    model, _, q, _, directions = given
    return model.integrate(q, -jnp.matmul(directions, y, precision=lax.Precision.HIGHEST))


def _unclosed(y, given):
    model, rows, _, t, _ = given
    q = _displaced(y, given)
    r = rows.chosen(rows.position_residual(model, q, t))
    eps = jnp.finfo(r.dtype).eps
    largest = jnp.maximum(1.0, jnp.max(jnp.abs(q), initial=0.0))
    return r, jnp.sqrt(jnp.sum(r * r)) / (FLOOR * eps * largest)


def _factor(y, given):
    model, rows, _, t, directions = given
    q = _displaced(y, given)
    G = rows.chosen(rows.jacobian(model, q, t))
    matrix = jnp.matmul(G, directions, precision=lax.Precision.HIGHEST)
    # Symmetric but for the small move since the directions were taken, which Newton's method forgives.
    return (proximal.factor(0.5 * (matrix + matrix.T)), matrix), jnp.zeros((), bool)


def _solve(factors, r):
    """The Newton correction K^-1 r with K = -matrix: the symmetric part's solution, then refined."""
    symmetric, matrix = factors
    x = proximal.solve(symmetric, r)
    for _ in range(2):
        left = r - jnp.matmul(matrix, x, precision=lax.Precision.HIGHEST)
        x = x + proximal.solve(symmetric, left)
    return -x


def shortest(
    G: Float[Array, "m nv"], r: Float[Array, " m"], weights: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """The smallest x, in the weighted sense, with G x = r, where there is one."""
    directions = weights[:, None] * G.T
    matrix = jnp.matmul(G, directions, precision=lax.Precision.HIGHEST)
    y = proximal.solve(proximal.factor(0.5 * (matrix + matrix.T)), r)
    return jnp.matmul(directions, y, precision=lax.Precision.HIGHEST)


def solve_v(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    t: Any = 0.0,
    frozen: Sequence[str | int] = (),
    weights: Float[Array, " nv"] | None = None,
) -> Met:
    """Speeds near v at which no row opens; arguments as for `solve_q`."""
    now = jnp.asarray(t, model.dtype)
    opening = lambda v: rows.velocity_residual(model, q, v, now)
    return _linearly(model, rows, q, now, frozen, weights, opening, v)


def solve_a(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    t: Any = 0.0,
    frozen: Sequence[str | int] = (),
    weights: Float[Array, " nv"] | None = None,
) -> Met:
    """Accelerations near a that keep the rows, at coordinates and speeds that meet them."""
    now = jnp.asarray(t, model.dtype)
    opening = lambda a: rows.acceleration_residual(model, q, v, a, now)
    return _linearly(model, rows, q, now, frozen, weights, opening, a)


def _linearly(
    model: AbstractModel, rows: TreeConstraints, q, t, frozen, weights, opening: Callable, x
) -> Met:
    """What is nearest to x where `opening`, whose derivative by x is that of the rows by speeds, vanishes."""
    if weights is None:
        weights = lax.stop_gradient(weights_of(model, q, frozen))
    found = x - shortest(rows.jacobian(model, q, t), opening(x), weights)
    return _met(opening(found), found)


def _met(left: Float[Array, " m"], value: Float[Array, " nv"]) -> Met:
    error = jnp.max(jnp.abs(left), initial=0.0)
    scale = 1.0 + jnp.max(jnp.abs(value), initial=0.0)
    tolerance = 1e4 * jnp.finfo(value.dtype).eps * scale
    return Met(value, error, error <= tolerance)

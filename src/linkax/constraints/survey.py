"""Rows near a closed configuration: their derivatives there and along motions through it.

Static: with numbers at hand, before anything is compiled. One configuration tells little of which rows follow
from others, or which speeds are good ones to be independent: it may be a singular one.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.assembly import Met, shortest, solve_q, weights_of
from linkax.constraints.charts import choose, rank_of, scaled
from linkax.constraints.tree_rows import TreeConstraints
from linkax.model import Model


# Derivatives are taken along motions through a configuration, in steps of so many radians or metres.
STEPS, STRIDE = 24, 0.15
# Gaps of so many roundings of a metre or radian are none.
CLOSED = 1e3


@dataclasses.dataclass
class Survey:
    """The closed reference, and the rows' derivatives there and along motions through it."""

    q: Array
    converged: bool
    error: float
    weights: Array
    samples: list[np.ndarray]  # (m, nv), scaled


def surveyed(model: Model, rows: TreeConstraints, q) -> Survey:
    """A closed configuration near q, with what is needed to choose rows and independent speeds there."""
    at = seen(model, rows, q, jnp.zeros((model.nv,), model.dtype))
    error, weights = at.gape, at.weights
    converged = float(error) < CLOSED * float(jnp.finfo(model.dtype).eps)
    if not converged:
        met = closed_near(model, rows, q, weights)
        q, error, converged = met.value, met.error, bool(met.converged)
    table = np.asarray(_explored(model, rows, q, weights), float)
    scale = np.asarray(weights, float)
    samples = [scaled(g, scale) for g in table if np.isfinite(g).all()]
    return Survey(q, converged, float(error), weights, samples)


class Seen(NamedTuple):
    """Rows at one state."""

    gape: Float[Array, ""]  # the largest residual
    opening: Float[Array, ""]  # the largest rate of one
    weights: Float[Array, " nv"]  # how easily each coordinate changes
    G: Float[Array, "m nv"]


@jax.jit
def seen(model: Model, rows: TreeConstraints, q, v) -> Seen:
    """How far the rows gape and open. Compiled once for a machine: all that builds it asks this."""
    now = jnp.zeros((), model.dtype)
    return Seen(
        jnp.max(jnp.abs(rows.position_residual(model, q, now)), initial=0.0),
        jnp.max(jnp.abs(rows.velocity_residual(model, q, v, now)), initial=0.0),
        weights_of(model, q),
        rows.jacobian(model, q, now),
    )


@jax.jit
def closed_near(model: Model, rows: TreeConstraints, q, weights) -> Met:
    """`solve_q`, compiled."""
    return solve_q(model, rows, q, weights=weights)


@jax.jit
def _explored(model: Model, rows: TreeConstraints, q, weights):
    """Jacobians at q and along a motion both ways."""
    now = jnp.zeros((), model.dtype)

    def stride(carry, _):
        q, direction = carry
        G = rows.jacobian(model, q, now)
        along = direction - shortest(
            G, jnp.matmul(G, direction, precision=lax.Precision.HIGHEST), weights
        )
        size = jnp.sqrt(jnp.sum(along * along))
        along = along / jnp.where(size > 0.0, size, 1.0)
        moved = model.integrate(q, STRIDE * along)
        closing = lambda _, x: model.integrate(
            x, -shortest(G, rows.position_residual(model, x, now), weights)
        )
        # To rounding: in a gaping configuration redundant rows are not redundant.
        moved = lax.fori_loop(0, 16, closing, moved)
        # A motion that has come to its end turns back.
        stuck = jnp.max(jnp.abs(rows.position_residual(model, moved, now)), initial=0.0) > 1e-9
        return (jnp.where(stuck, q, moved), jnp.where(stuck, -along, along)), G

    # Some direction that no symmetry of a mechanism is likely to forbid.
    first = jnp.sin(1.0 + jnp.arange(model.nv, dtype=model.dtype)) * jnp.sqrt(weights)
    ways = jnp.stack([first, -first])
    _, G = lax.map(lambda way: lax.scan(stride, (q, way), length=STEPS), ways)
    return G.reshape(-1, *G.shape[2:])


def without_followers(
    model: Model,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    G: Float[Array, "m nv"],
    weights: Float[Array, " nv"],
) -> TreeConstraints:
    """The rows told which of them to solve for, where some follow from the others at the closed q.

    G are the rows' derivatives there. Rows that follow do so at closed configurations only: a step's inner
    stages are not closed, and there a solve for all rows locks the mechanism (Bricard's linkage was off by
    0.15 m after a second).
    """
    if rank_of(scaled(np.asarray(G, float), np.asarray(weights, float))) == rows.count:
        return rows
    found = choose(surveyed(model, rows, q).samples)
    if found is None or len(found.rows) == rows.count:
        return rows
    return dataclasses.replace(rows, kept=found.rows)

"""A description's loops and motions in the tree and the embedded formulation."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.assembly import solve_q, solve_v, weights_of
from linkax.constraints.embed import embed
from linkax.constraints.of_tree import tree_constraints
from linkax.constraints.survey import without_followers
from linkax.constraints.tree_rows import NO_ROWS, TreeConstraints
from linkax.model import AbstractModel, VelocityDescription
from linkax.model.builder import Assembly


# How far loops of a description may gape before they are closed by moving joints [m or rad], and in how many
# roundings of the precision, where that is more.
GAPE, ROUNDINGS = 1e-10, 1e3


class Constrained(eqx.Module):
    """A model, the rows that act by multipliers, and a start that meets them."""

    model: AbstractModel
    rows: TreeConstraints
    weights: Float[Array, " nv"]
    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    notes: tuple[str, ...] = eqx.field(static=True)


def constrained_parts(
    parts: Assembly, name: str, embedded: bool, independent: tuple[str, ...] | None = None
) -> Constrained:
    """The loops embedded, or as rows of the tree; prescribed motions are rows in both.

    Raises:
        ValueError: where the loops cannot be closed near the initial coordinates.
    """
    tree = parts.model
    q, v = (jnp.asarray(x, tree.dtype) for x in (parts.initial_q, parts.initial_v))
    if not parts.loops and not parts.motions:
        return Constrained(tree, NO_ROWS, jnp.zeros_like(v), q, v, ())
    everything = jax.jit(lambda: tree_constraints(tree, parts.loops, parts.motions))()
    survey = _seen(tree, everything, q, v)
    gape, opening = float(survey.gape), float(survey.opening)
    allowed = max(GAPE, ROUNDINGS * float(jnp.finfo(tree.dtype).eps))
    notes = []
    if gape > allowed:
        met = _nearest_positions(tree, everything, q, survey.weights)
        if not bool(met.converged):
            raise ValueError(
                f"The loops of `{name}` gape by {gape:.3g} at the initial coordinates and cannot be closed "
                "near them; give initial positions that are nearer to a closed one."
            )
        q = met.value
        survey = _seen(tree, everything, q, v)
        opening = float(survey.opening)
        notes.append(
            f"The loops gape by {gape:.2g} at the initial coordinates; the run starts from the nearest "
            "closed configuration."
        )
    if opening > allowed * (1.0 + float(jnp.max(jnp.abs(v), initial=0.0))):
        v = _nearest_speeds(tree, everything, q, v, survey.weights)
        notes.append(
            f"The initial speeds open the loops at {opening:.2g} m/s (or rad/s); the run starts from the "
            "nearest ones that do not, each weighed with its joint's inertia."
        )
    closing = [loop for loop in parts.loops if not isinstance(loop, VelocityDescription)]
    others = [loop for loop in parts.loops if isinstance(loop, VelocityDescription)]
    if not embedded or not closing:
        everything = without_followers(tree, everything, q, survey.G, survey.weights)
        return Constrained(tree, everything, survey.weights, q, v, tuple(notes))
    model = embed(tree, closing, q=q, independent=independent)
    rows = jax.jit(lambda: tree_constraints(tree, others, parts.motions))()
    index = np.asarray(model.independent, int)
    return Constrained(model, rows, survey.weights[index], model.reference, v[index], tuple(notes))


class _Survey(NamedTuple):
    gape: Array
    opening: Array
    weights: Array
    G: Array


@jax.jit
def _seen(tree, rows: TreeConstraints, q, v) -> _Survey:
    now = jnp.zeros((), tree.dtype)
    return _Survey(
        jnp.max(jnp.abs(rows.position_residual(tree, q, now)), initial=0.0),
        jnp.max(jnp.abs(rows.velocity_residual(tree, q, v, now)), initial=0.0),
        weights_of(tree, q),
        rows.jacobian(tree, q, now),
    )


@jax.jit
def _nearest_positions(tree, rows: TreeConstraints, q, weights):
    return solve_q(tree, rows, q, weights=weights)


@jax.jit
def _nearest_speeds(tree, rows: TreeConstraints, q, v, weights):
    return solve_v(tree, rows, q, v, weights=weights).value

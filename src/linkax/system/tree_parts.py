"""A description's loops and motions in the tree and the embedded formulation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.assembly import solve_v
from linkax.constraints.embed import embed
from linkax.constraints.of_tree import tree_constraints
from linkax.constraints.survey import closed_near, seen, without_followers
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
    survey = seen(tree, everything, q, v)
    gape, opening = float(survey.gape), float(survey.opening)
    allowed = max(GAPE, ROUNDINGS * float(jnp.finfo(tree.dtype).eps))
    notes = []
    if gape > allowed:
        met = closed_near(tree, everything, q, survey.weights)
        if not bool(met.converged):
            raise ValueError(
                f"The loops of `{name}` gape by {gape:.3g} at the initial coordinates and cannot be closed "
                "near them; give initial positions that are nearer to a closed one."
            )
        q = met.value
        survey = seen(tree, everything, q, v)
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
    if not others and not parts.motions:
        names = [loop.name for loop in closing]
        model, rows = embed(tree, everything, q=q, independent=independent, names=names), NO_ROWS
    else:
        model = embed(tree, closing, q=q, independent=independent)
        rows = jax.jit(lambda: tree_constraints(tree, others, parts.motions))()
    index = np.asarray(model.independent, int)
    return Constrained(model, rows, survey.weights[index], model.reference, v[index], tuple(notes))


@jax.jit
def _nearest_speeds(tree, rows: TreeConstraints, q, v, weights):
    return solve_v(tree, rows, q, v, weights=weights).value

"""What holds a machine together: the multipliers of its rows, the reactions of its joints and loops."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.embedded import EmbeddedModel
from linkax.constraints.multipliers import Constrained, embedded_multipliers
from linkax.constraints.tree_rows import TreeConstraints
from linkax.dynamics import joint_forces
from linkax.kinematics.side_by_side import place
from linkax.system.maximal_part import MaximalPart
from linkax.system.state import State
from linkax.system.system import System, constrained_accelerations, wrenches_of


def multipliers(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Float[Array, " m"]:
    """What the rows of all loops, then of all motions, exert: embedded loops first [N m or N]."""
    return _held(system, state, controls).multipliers


def _held(system: System, state: State, controls) -> Constrained:
    """`constrained_accelerations` with the multipliers of embedded loops before the others."""
    found = constrained_accelerations(system, state, controls)
    model = system.model
    if not isinstance(model, EmbeddedModel):
        return found
    tree_tau = jnp.zeros((model.tree.nv,), model.dtype) if controls is None else controls
    for element in system.elements:
        tree_v = model.tree_speeds(state.q, state.v)
        tree_tau = tree_tau + element.generalised_force(model.tree, state.q, tree_v)
    at = place(model.tree, state.q)
    G = system.rows.jacobian_at(model.tree, at, state.t)
    tree_tau = tree_tau + jnp.matmul(found.multipliers, G, precision=lax.Precision.HIGHEST)
    own = embedded_multipliers(
        model, state.q, state.v, found.acceleration, tree_tau, wrenches_of(system, state)
    )
    return Constrained(found.acceleration, jnp.concatenate([own, found.multipliers]))


class Exerted(NamedTuple):
    """What holds a machine together at one state."""

    multipliers: Float[Array, " m"]
    reactions: Float[Array, "joints 6"]


def exerted(system: System, state: State, controls: Float[Array, " nu"] | None = None) -> Exerted:
    """`multipliers` and `reactions` at once, for about the price of one of them."""
    if system.mechanism is not None:
        assert isinstance(state.pseudo, MaximalPart)
        pull = state.pseudo.multipliers
        return Exerted(pull, system.mechanism.reactions(state.pseudo.state, pull))
    model = system.model
    held = _held(system, state, controls)
    at = place(model.tree, model.tree_coordinates(state.q))
    acting, loops = wrenches_of(system, state), []
    for rows, pull in _shares(system, held.multipliers):
        own = rows.wrenches_at(at, pull, state.t)
        acting = own if acting is None else acting + own
        loops.append(rows.reactions_at(at, pull, state.t))
    found = joint_forces(model, state.q, state.v, held.acceleration, acting)
    bearing = np.asarray([b for b, j in enumerate(model.tree.topology.joints) if j.locked_rows()])
    return Exerted(held.multipliers, jnp.concatenate([found.locked[bearing.astype(int)], *loops]))


def reactions(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Float[Array, "joints 6"]:
    """[moment about its centre; force] of each joint and loop on its child, world axes [N m, N].

    Listed are the joints that lock something, body by body, then the joints that close loops; the parent
    feels the opposite about the same point, the origin of the child's frame M. Forces along a joint's
    freedoms (controls, damping, couplings) are left out. In maximal coordinates they are those of the last
    step, whose controls they know. Where rows follow from others, reactions are one choice of many.

    Source: Newton and Euler, body by body, from the accelerations and multipliers (`joint_forces`).
    """
    return exerted(system, state, controls).reactions


def _shares(system: System, pull) -> list[tuple[TreeConstraints, Array]]:
    """Rows with their multipliers: of embedded loops, of all others; only where there are rows."""
    model, shares = system.model, []
    if isinstance(model, EmbeddedModel):
        shares.append((model.rows, pull[: model.rows.count]))
        pull = pull[model.rows.count :]
    return [(rows, x) for rows, x in (*shares, (system.rows, pull)) if rows.count]

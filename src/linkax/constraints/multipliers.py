"""Accelerations of models with constraint rows, by multipliers (tree-augmented dynamics).

    M a + bias = tau + J^T wrenches + G^T multipliers,    G a + (dG/dt) v + ... = 0

The multipliers solve (G M^-1 G^T) x = -(G a_free + ...). M is formed and factored: mechanisms with loops are
small, and one Cholesky factor serves all rows. Source: Jain 2011, section 11.3; Featherstone 2008, 8.4.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float

from linkax.constraints.embedded import EmbeddedModel
from linkax.constraints.tree_rows import TreeConstraints
from linkax.dynamics.side_by_side import forces_at, joint_forces_at, mass_matrix_at
from linkax.kinematics.side_by_side import move, place
from linkax.model import AbstractModel, conform
from linkax.solve import proximal


class Constrained(NamedTuple):
    """What constrained dynamics find."""

    acceleration: Float[Array, " nv"]
    multipliers: Float[Array, " m"]


def constrained_dynamics(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
    t: Float[Array, ""] | float = 0.0,
) -> Constrained:
    """The accelerations that keep the rows, and the multipliers that do it.

    q and v must meet the rows (see `assembly`). Rows may be redundant: accelerations are unique then, and
    multipliers one choice of many. Exact derivatives in both modes by the implicit function theorem.

    Args:
        model: plain, aggregated or embedded.
        rows: on its tree.
        q, v, tau: coordinates, speeds, generalised forces.
        wrenches: external ones, as for `forward_dynamics`.
        t: the time [s], which prescribed motions depend on.
    """
    q, v, tau, wrenches = conform(model, q=q, v=v, tau=tau, wrenches=wrenches)
    now = jnp.asarray(t, model.dtype)
    tree, tree_q = model.tree, model.tree_coordinates(q)
    model = model.at(q)
    at = place(tree, tree_q)
    tree_a = model.tree_accelerations(q, v, None)
    moving = move(tree, at, tree_q, model.tree_speeds(q, v), tree_a)
    needed = joint_forces_at(tree, at, forces_at(tree, at, moving, wrenches))
    free = tau - model.project(q, needed + tree.armature * tree_a)
    M = model.project(q, model.project(q, mass_matrix_at(tree, at)).T)
    G = model.project(q, rows.chosen(rows.jacobian_at(tree, at, now)).T).T
    opening = rows.chosen(rows.opening_at(at, moving, tree_a, now))
    a, pull = solve_rows(M, G, free, opening)
    return Constrained(a, rows.all_of(pull))


def embedded_multipliers(
    model: EmbeddedModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    tree_tau: Float[Array, " tree_nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> Float[Array, " m"]:
    """What the rows of embedded loops exert in a motion; zero for rows that follow from others.

    The dependent joints' own equations of motion give them: G_d^T multipliers = (M a + bias - tau)_d.

    Args:
        model: with embedded loops.
        q, v, a: coordinates, independent speeds and their rates.
        tree_tau: generalised forces on all joints of the tree.
        wrenches: external ones, as for `forward_dynamics`.
    """
    model = model.at(q)
    tree = model.tree
    at = place(tree, q)
    tree_a = model.tree_accelerations(q, v, a)
    moving = move(tree, at, q, model.tree_speeds(q, v), tree_a)
    needed = joint_forces_at(tree, at, forces_at(tree, at, moving, wrenches))
    unmet = needed + tree.armature * tree_a - tree_tau
    return model.pull_of(q, unmet)


def solve_rows(
    M: Float[Array, "nv nv"],
    G: Float[Array, "m nv"],
    force: Float[Array, " nv"],
    opening: Float[Array, " m"],
) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
    """(x, multipliers) with M x - G^T multipliers = force and G x + opening = 0."""
    factors = _factor(*lax.stop_gradient((M, G)))

    n = force.shape[0]

    # One vector: with two, a derivative that reaches only one of them has no transpose.
    def matvec(unknown):
        x, pull = unknown[:n], unknown[n:]
        return jnp.concatenate([_product(M, x) + _product(G.T, pull), _product(G, x)])

    def solve(_, given):
        return jnp.concatenate(_solved(factors, given[:n], given[n:]))

    given = jnp.concatenate([force, -opening])
    found = lax.custom_linear_solve(matvec, given, solve, symmetric=True)
    return found[:n], -found[n:]


class _Factors(NamedTuple):
    lower: Float[Array, "nv nv"]  # Cholesky factor of M
    G: Float[Array, "m nv"]
    moved: Float[Array, "m nv"]  # M^-1 of the rows of G
    schur: proximal.Proximal


def _factor(M, G) -> _Factors:
    lower = jnp.linalg.cholesky(M)
    moved = cho_solve((lower, True), G.T).T
    schur = _product(G, moved.T)
    return _Factors(lower, G, moved, proximal.factor(0.5 * (schur + schur.T)))


def _solved(f: _Factors, force, closing):
    """(x, pull) with M x + G^T pull = force and G x = closing."""
    free = cho_solve((f.lower, True), force)
    pull = proximal.solve(f.schur, _product(f.G, free) - closing)
    return free - _product(f.moved.T, pull), pull


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)

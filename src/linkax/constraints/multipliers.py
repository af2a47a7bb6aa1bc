"""Accelerations of models with constraint rows, by multipliers (tree-augmented dynamics).

    M a + bias = tau + J^T wrenches + G^T multipliers,    G a + (dG/dt) v + ... = 0

The multipliers solve (G M^-1 G^T) x = -(G a_free + ...), with M^-1 by one factorisation of the articulated
bodies for all rows. Source: Jain 2011, section 11.3; Featherstone 2008, section 8.4.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.tree_rows import TreeConstraints
from linkax.dynamics import bias_force
from linkax.dynamics.forward import factorised, mass_times
from linkax.model import AbstractModel
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
    now = jnp.asarray(t, model.dtype)
    free = tau - bias_force(model, q, v, wrenches)
    if rows.count == 0:
        return Constrained(
            solve_rows(model, rows, q, free, jnp.zeros((0,), free.dtype), now)[0], free[:0]
        )
    opening = rows.acceleration_residual(model, q, v, jnp.zeros_like(v), now)
    return Constrained(*solve_rows(model, rows, q, free, opening, now))


def solve_rows(
    model: AbstractModel,
    rows: TreeConstraints,
    q: Float[Array, " nq"],
    force: Float[Array, " nv"],
    opening: Float[Array, " m"],
    t: Float[Array, ""],
) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
    """(x, multipliers) with M x - G^T multipliers = force and G x + opening = 0."""
    G = rows.jacobian(model, q, t)
    factors = _factor(*lax.stop_gradient((model, q, G)))

    def matvec(unknown):
        x, pull = unknown
        return mass_times(model, q, x) + _product(G.T, pull), _product(G, x)

    def solve(_, given):
        return _solved(factors, *given)

    x, pull = lax.custom_linear_solve(matvec, (force, -opening), solve, symmetric=True)
    return x, -pull


class _Factors(NamedTuple):
    solver: jax.tree_util.Partial  # b -> M^-1 b
    G: Float[Array, "m nv"]
    moved: Float[Array, "m nv"]  # M^-1 of the rows of G
    schur: proximal.Proximal


def _factor(model: AbstractModel, q, G) -> _Factors:
    solver = factorised(model, q)
    moved = jax.vmap(solver)(G)
    schur = _product(G, moved.T)
    return _Factors(solver, G, moved, proximal.factor(0.5 * (schur + schur.T)))


def _solved(f: _Factors, force, closing):
    """(x, pull) with M x + G^T pull = force and G x = closing."""
    free = f.solver(force)
    pull = proximal.solve(f.schur, _product(f.G, free) - closing)
    return free - _product(f.moved.T, pull), pull


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)

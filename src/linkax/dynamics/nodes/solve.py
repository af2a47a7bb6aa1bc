"""Forward dynamics and M^-1 b of models whose recursion goes over nodes."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from linkax.dynamics.inverse import bias_force, tree_inverse_dynamics
from linkax.dynamics.nodes.axes import (
    Moving,
    Placed,
    moving,
    placed,
    placed_wrenches,
    rising,
    velocity_forces,
)
from linkax.dynamics.nodes.layout import steps_of
from linkax.dynamics.nodes.matrix import NodeFactor, factor_nodes
from linkax.dynamics.nodes.passes import Filtered, Motions, filter_nodes, smooth_nodes
from linkax.model.abstract import AbstractModel


def times_mass_matrix(
    model: AbstractModel, q: Float[Array, " nq"], x: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """M x without forming M: X^T (M_tree (X x))."""
    tau = tree_inverse_dynamics(
        *(model.tree, model.tree_coordinates(q), None, model.tree_speeds(q, x), None), gravity=False
    )
    return model.project(q, tau)


def solve_over_nodes(
    model: AbstractModel, q: Float[Array, " nq"], b: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """M^-1 b by the recursion over nodes, differentiable through M x = b instead of through the factors."""
    if model.nv == 0:
        return b
    model = model.at(q)
    still, still_q = lax.stop_gradient((model, q))
    steps, factors = steps_of(model), factor_nodes(still, still_q)

    def solve(_, rhs):
        return smooth_nodes(steps, factors, filter_nodes(steps, factors, rhs)).rates

    return lax.custom_linear_solve(
        lambda x: times_mass_matrix(model, q, x), b, solve, symmetric=True
    )


def forward_over_nodes(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None,
) -> Float[Array, " nv"]:
    """The rates of the independent speeds: M a = tau - bias."""
    model = model.at(q)
    return solve_over_nodes(model, q, jnp.subtract(tau, bias_force(model, q, v, wrenches)))


class Articulated(NamedTuple):
    """Everything that forward dynamics by the recursion over nodes leaves behind."""

    at: Placed
    moving: Moving
    factors: list[NodeFactor]
    filtered: list[Filtered]
    motions: Motions


def articulated_nodes(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> Articulated:
    """Forward dynamics with all by-products: matrix, filter and smoother part one after the other.

    Differentiable straight through; `forward_dynamics` has a cheaper derivative.
    """
    steps, at = steps_of(model), placed(model, q)
    factors, moved = factor_nodes(model, q, at), moving(model, q, v, at)
    biases = velocity_forces(at, moved.velocities)
    if wrenches is not None:
        biases = biases - placed_wrenches(at, wrenches)
    filtered = filter_nodes(steps, factors, tau, biases, moved.drifts)
    motions = smooth_nodes(steps, factors, filtered, moved.drifts, rising(model))
    return Articulated(at, moved, factors, filtered, motions)

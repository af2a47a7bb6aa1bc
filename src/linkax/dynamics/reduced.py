"""Forward dynamics of models with mimic joints: the spanning tree projected on the independent speeds.

With tree speeds = G v, the reduced mass matrix is G^T M G, exact whatever the followers weigh (a massless
follower makes M itself singular). It is factored densely: mimic joints are few, and their models small.
"""

import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from linkax.dynamics.inverse import bias_force
from linkax.dynamics.mass import mass_matrix
from linkax.model.abstract import AbstractModel


def reduced_solve(
    model: AbstractModel, q: Float[Array, " nq"], b: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """(G^T M G)^-1 b."""
    if model.nv == 0:
        return b
    return cho_solve(cho_factor(mass_matrix(model, q), lower=True), b)


def reduced_forward_dynamics(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None,
) -> Float[Array, " nv"]:
    """The independent accelerations: M a = tau - bias, all projected."""
    return reduced_solve(model, q, jnp.subtract(tau, bias_force(model, q, v, wrenches)))

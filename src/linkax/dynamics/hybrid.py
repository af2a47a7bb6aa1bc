"""Hybrid dynamics: some joints' accelerations are given, the others' forces."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from linkax.dynamics.inverse import inverse_dynamics
from linkax.dynamics.mass import mass_matrix
from linkax.dynamics.nodes import (
    Step,
    factor_steps,
    filter_nodes,
    placed,
    smooth_nodes,
    steps_of,
    times,
    times_mass_matrix,
)
from linkax.dynamics.nodes.matrix import Spreads
from linkax.model.abstract import AbstractModel
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.naming import index_of, suggestion


def hybrid_dynamics(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    a: Float[Array, " nv"],
    prescribed: Sequence[str | int],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
    """All accelerations and all generalised forces, of which each joint's forces or accelerations are given.

    A prescribed joint moves as `a` says and its actuator exerts what comes out; any other joint is driven by
    `tau` and accelerates as comes out. Entries that are not given are not read. The prescribed speeds drop
    out of the recursion: P+ = P across them.

    Args:
        model: any model.
        q, v: coordinates and speeds.
        tau, a: generalised forces, and rates of the speeds.
        prescribed: names or indices of joints (static); of an embedded model, those with independent speeds.
        wrenches: on each body, [torque about the body-frame origin; force], world axes [N m, N].

    Errors: `ValueError` for unknown or repeated joints, and for joints without independent speeds.

    Source: Featherstone 2008, section 9.2; Jain 2011, section 7.8.
    """
    q, v, tau, a, wrenches = conform(model, q=q, v=v, tau=tau, a=a, wrenches=wrenches)
    given = _prescribed_speeds(model, prescribed)
    free = [k for k in range(model.nv) if k not in given]
    if free:
        fixed = jnp.where(np.isin(np.arange(model.nv), free), 0.0, a)
        needed = inverse_dynamics(model, q, v, fixed, wrenches)
        chosen = np.asarray(free)
        a = fixed.at[chosen].set(_solve_free(model, q, (tau - needed)[chosen], tuple(free)))
    required = inverse_dynamics(model, q, v, a, wrenches)
    return a, jnp.where(np.isin(np.arange(model.nv), free), tau, required)


def _prescribed_speeds(model: AbstractModel, prescribed: Sequence[str | int]) -> set[int]:
    """Indices among the model's speeds of those that the prescribed joints move with."""
    topology, found = model.tree.topology, set()
    for joint in prescribed:
        body = index_of("joint", joint, model.joint_names)
        own = _names_of(model, body)
        speeds = [k for k, name in enumerate(model.speed_names) if name in own]
        if not speeds:
            moving = [topology.joint_names[b] for b in range(model.nb) if _independent(model, b)]
            raise ValueError(
                f"Joint `{model.joint_names[body]}` has no independent speeds to prescribe;"
                f"{suggestion(model.joint_names[body], moving)}"
            )
        if found & set(speeds):
            raise ValueError(f"Joint `{model.joint_names[body]}` is prescribed twice.")
        found |= set(speeds)
    return found


def _independent(model: AbstractModel, body: int) -> bool:
    return any(name in model.speed_names for name in _names_of(model, body))


def _names_of(model: AbstractModel, body: int) -> list[str]:
    """The names of a joint's speeds."""
    topology = model.tree.topology
    name, suffixes = topology.joint_names[body], topology.joints[body].speed_suffixes
    return [name + (f"_{suffix}" if suffix else "") for suffix in suffixes]


def _solve_free(
    model: AbstractModel, q: Array, b: Float[Array, " _f"], free: tuple[int, ...]
) -> Float[Array, " _f"]:
    """M_ff^-1 b of the free speeds."""
    chosen = np.asarray(free)
    if model.tree.topology.followers and isinstance(model, Model):
        M = mass_matrix(model, q)[chosen][:, chosen]
        return cho_solve(cho_factor(M, lower=True), b)
    still, still_q = lax.stop_gradient((model, q))
    at = placed(still, still_q)
    steps, spreads = _restricted(steps_of(model), still.spread(still_q), free, model.dtype)
    factors = factor_steps(steps, at, still.tree.armature, spreads)

    def widened(x):
        return jnp.zeros((model.nv,), x.dtype).at[chosen].set(x)

    def solve(_, rhs):
        return smooth_nodes(steps, factors, filter_nodes(steps, factors, rhs)).rates

    return lax.custom_linear_solve(
        lambda x: times_mass_matrix(model, q, widened(x))[chosen], b, solve, symmetric=True
    )


def _restricted(
    steps: Sequence[Step], spreads: Spreads, free: tuple[int, ...], dtype
) -> tuple[list[Step], list[Array | None]]:
    """The nodes with their free speeds only, numbered as among the free ones: columns of X are left out."""
    out, kept_spreads = [], []
    for k, step in enumerate(steps):
        kept = [c for c, speed in enumerate(step.independent) if speed in free]
        X = None if spreads is None else spreads[k]
        if len(kept) < len(step.independent):
            columns = jnp.eye(len(step.independent), dtype=dtype)[:, np.asarray(kept, int)]
            X = columns if X is None else times(X, columns)
        numbers = tuple(free.index(step.independent[c]) for c in kept)
        out.append(step._replace(independent=numbers))
        kept_spreads.append(X)
    return out, kept_spreads

"""The shortest correction that constraints ask for, in the metric of the kinetic energy.

With G the gradient of the rows, M the inertia and S = G M^{-1} G^T, rows are corrected by M^{-1} G^T S^+
times what they lack: Gauss's principle. Redundant rows leave multipliers undetermined but no motion, so
derivatives are those of the equations that the motion satisfies, with S^+ as the inverse; singular vectors
are never differentiated.
"""

import functools as ft
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.rows import Constraints, pull, push
from linkax.kinematics.bodies import State
from linkax.math.stacks import apply
from linkax.maximal import linear
from linkax.maximal.interval import Unknowns
from linkax.maximal.mechanism import Mechanism
from linkax.maximal.settings import LinearSolver, Settings


class Metric(NamedTuple):
    """By which corrections are measured: inertias, times weights where there are any."""

    inertia: Float[Array, "n 3 3"]
    mass: Float[Array, " n"]


class System(NamedTuple):
    """[M, -start^T; end, 0], M the metric."""

    constraints: Constraints
    metric: Metric
    start: linear.Gradients
    end: linear.Gradients


def momenta(metric: Metric, motion: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    return jnp.concatenate(
        [apply(metric.inertia, motion[:, :3]), metric.mass[:, None] * motion[:, 3:]], axis=-1
    )


def factorised(system: System, settings: Settings) -> linear.Factors:
    """Factors that tolerate redundant rows; they have no derivatives, as `solved` needs none of them."""
    constraints, metric, start, end = lax.stop_gradient(system)
    solver = LinearSolver.RANK_TOLERANT
    factors, _ = linear.factorise(
        constraints, settings, solver, metric.inertia, metric.mass, None, list(start), list(end)
    )
    return factors


def solved(system: System, factors: linear.Factors, force, rows) -> Unknowns:
    """The solution, shortest in the multipliers, with derivatives of any order by its own equations."""
    constraints, n = system.constraints, force.shape[0]
    if constraints.count == 0:
        return Unknowns(linear.solve(constraints, factors, force, rows)[0], rows)

    def applied(x):
        motion, impulse = x
        pushed = push(constraints, system.start, impulse, n)
        pulled = pull(constraints, system.end, motion)
        return momenta(system.metric, motion) - pushed, constraints.stacked(pulled, rows.dtype)

    plain = lambda b: linear.solve(constraints, factors, *b)

    def refined(solve, matrix, b):
        # S squares the condition of the rows; what the first solution leaves is solved for once more.
        x = solve(b)
        left = jax.tree.map(jnp.subtract, b, matrix(x))
        return jax.tree.map(jnp.add, x, solve(left))

    transposed = lambda b: jax.linear_transpose(plain, b)(b)[0]
    found = lax.custom_linear_solve(
        applied, (force, rows), ft.partial(refined, plain), ft.partial(refined, transposed)
    )
    return Unknowns(*found)


def tolerant(rank_tolerance: float, real) -> Settings:
    return Settings(rank_tolerance=max(rank_tolerance, 100.0 * float(jnp.finfo(real).eps)))


def check_fit(mechanism: Mechanism, state: State, weights, held, rank_tolerance: float) -> None:
    n = mechanism.bodies.n
    for name, width in (
        ("position", 3),
        ("orientation", 4),
        ("velocity", 3),
        ("angular_velocity", 3),
    ):
        shape = getattr(state, name).shape
        if shape != (n, width):
            raise ValueError(
                f"`state.{name}` has shape {shape}, but must have shape {(n, width)}; "
                "use `jax.vmap` for a batch."
            )
    if weights is not None and jnp.shape(weights) != (n,):
        raise ValueError(
            f"`weights` has shape {jnp.shape(weights)}, but must hold one number a body, {(n,)}."
        )
    for body in held:
        if not 0 <= body < n:
            raise ValueError(
                f"`held` names body {body!r}, but the bodies are numbered from 0 to {n - 1}."
            )
    if not (math.isfinite(rank_tolerance) and rank_tolerance > 0.0):
        raise ValueError(f"`rank_tolerance` is {rank_tolerance!r}, but must be a positive number.")

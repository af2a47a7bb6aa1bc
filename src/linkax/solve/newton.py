"""Damped Newton iteration as a value: a root, how it was reached, and its exact derivatives.

A root is differentiated by the implicit function theorem: with residual(y, args) = 0, the tangent is
y_dot = -K^{-1} (d residual / d args) args_dot, K the residual's Jacobian at the root. So a derivative costs
one factorisation and one solve, whatever the number of iterations, and reverse mode is the transposed solve.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree


class Root(NamedTuple):
    """Where the iteration ended; `value` is the start where it did not converge."""

    value: PyTree[Array]
    converged: Bool[Array, ""]
    iterations: Int[Array, ""]  # Newton steps attempted
    singular: Bool[Array, ""]  # whether a singular Jacobian was met


class Equations(NamedTuple):
    """What is solved, as pure functions.

    `residual(y, args)` gives the residual, a pytree like y, and its size: a number that is at most 1 at a
    root. `factorise(y, args)` gives what `solve` needs of the Jacobian at y, and whether it was singular;
    `solve(factors, residual)` is linear in the residual and gives the Newton correction K^{-1} residual.
    """

    residual: Callable[[Any, Any], tuple[Any, Float[Array, ""]]]
    factorise: Callable[[Any, Any], tuple[Any, Bool[Array, ""]]]
    solve: Callable[[Any, Any], Any]
    # Factors of a Jacobian near the root, from the arguments, that are tried before any other is taken.
    chord: Callable[[Any], Any] | None = None


class Budget(NamedTuple):
    """How long to try; static."""

    iterations: int = 50
    halvings: int = 12
    # A size up to here counts as a root where no step makes it smaller: the rounding floor is only estimated.
    slack: float = 1.0
    # Steps by `Equations.chord`; each must make the residual at least five times smaller.
    chords: int = 8


class _Search(NamedTuple):
    y: Any
    residual: Any
    size: Float[Array, ""]
    iterations: Int[Array, ""]
    singular: Bool[Array, ""]
    stuck: Bool[Array, ""]


def root(
    equations: Equations, y0: PyTree[Array], args: PyTree[Array], budget: Budget, active=True
) -> Root:
    """The root near y0, with derivatives with respect to `args` in both modes.

    Outside of loops modes may follow each other in any order. In the steps of a `lax.scan` one of them may
    be reverse, before or after forward ones: `jax.hessian` works, reverse over reverse does not, as a scan
    forgets the rule of what it has differentiated in reverse mode.

    The derivative with respect to y0 is zero. A lane that is not `active` takes no iteration and counts as
    not converged; neither it nor one that fails changes the others of its batch, and derivatives of a root
    that was not found are zero.

    Args:
        equations: the functions; they must not capture values that are traced by a transformation.
        y0: the guess.
        args: everything that the equations depend on; every leaf is an array.
        budget: how long to try.
        active: whether to try at all.
    """

    @jax.custom_jvp
    def found(args, y0, active):
        return _iterate(equations, y0, args, budget, active)

    @found.defjvp
    def _(primals, tangents):
        args, y0, active = primals
        out = found(args, y0, active)
        y = out.value
        _, pushed = jax.jvp(lambda a: equations.residual(y, a)[0], (args,), (tangents[0],))
        factors, _ = equations.factorise(y, args)
        good = out.converged
        # Zeroed before the solve too: what is not finite there would pass through a later zero.
        pushed = jax.tree.map(lambda x: jnp.where(good, x, jnp.zeros_like(x)), pushed)
        moved = equations.solve(factors, pushed)
        moved = jax.tree.map(lambda x: jnp.where(good, -x, jnp.zeros_like(x)), moved)
        still = jax.tree.map(_no_tangent, (out.converged, out.iterations, out.singular))
        return out, Root(moved, *still)

    return found(args, y0, jnp.asarray(active))


def _no_tangent(x: Array):
    return jnp.zeros(x.shape, jax.dtypes.float0)


def _iterate(equations: Equations, y0, args, budget: Budget, active) -> Root:
    residual, size = equations.residual(y0, args)
    none = jnp.zeros((), bool)
    start = _Search(y0, residual, size, jnp.zeros((), jnp.int32), none, none)

    def unfinished(s: _Search):
        return active & ~(s.size <= 1.0) & ~s.stuck & (s.iterations < budget.iterations)

    def newton_step(s: _Search) -> _Search:
        factors, singular = equations.factorise(s.y, args)
        step = equations.solve(factors, s.residual)
        y, residual, size = _line_search(equations, s, step, args, budget)
        better = size < s.size
        keep = lambda new, old: jax.tree.map(lambda a, b: jnp.where(better, a, b), new, old)
        return _Search(
            keep(y, s.y),
            keep(residual, s.residual),
            jnp.where(better, size, s.size),
            s.iterations + 1,
            s.singular | singular,
            ~better,
        )

    if equations.chord is not None:
        start = _chord_steps(equations, start, args, budget, active)
    end = lax.while_loop(unfinished, newton_step, start)
    good = active & ((end.size <= 1.0) | (end.stuck & (end.size <= budget.slack)))
    value = jax.tree.map(lambda new, old: jnp.where(good, new, old), end.y, y0)
    return Root(value, good, end.iterations, end.singular)


def _chord_steps(equations: Equations, start: _Search, args, budget: Budget, active) -> _Search:
    """Steps by factors that are not taken anew, while they converge fast.

    Near a root they cost a residual each, of which a new Jacobian costs several.
    """
    assert equations.chord is not None
    factors = equations.chord(args)

    def promising(s: _Search):
        return active & ~(s.size <= 1.0) & ~s.stuck & (s.iterations < budget.chords)

    def step(s: _Search) -> _Search:
        y = jax.tree.map(jnp.subtract, s.y, equations.solve(factors, s.residual))
        residual, size = equations.residual(y, args)
        good = size < 0.2 * s.size
        keep = lambda new, old: jax.tree.map(lambda a, b: jnp.where(good, a, b), new, old)
        return _Search(
            keep(y, s.y),
            keep(residual, s.residual),
            jnp.where(good, size, s.size),
            s.iterations + 1,
            s.singular,
            ~good,
        )

    end = lax.while_loop(promising, step, start)
    return end._replace(iterations=jnp.zeros_like(end.iterations), stuck=jnp.zeros_like(end.stuck))


def _line_search(equations: Equations, s: _Search, step, args, budget: Budget):
    """The first of the steps 1, 1/2, 1/4, ... that makes the residual smaller, else the last tried."""

    def trial(scale):
        y = jax.tree.map(lambda a, b: a - scale * b, s.y, step)
        return y, *equations.residual(y, args)

    def unsatisfied(carry):
        tried, _, (_, _, size) = carry
        # Not `size >= s.size`: a residual that is not a number is no better.
        return (tried == 0) | (~(size < s.size) & (tried <= budget.halvings))

    def attempt(carry):
        tried, scale, _ = carry
        return tried + 1, 0.5 * scale, trial(scale)

    # The first trial is made inside the loop too, so that the residual is compiled once.
    one = jnp.ones((), s.size.dtype)
    first = (jnp.zeros((), jnp.int32), one, (s.y, s.residual, s.size))
    return lax.while_loop(unsatisfied, attempt, first)[2]

"""One interval of a variational step: the velocities over it, and the impulses that start it.

Momentum in, momentum out. With p the bodies' momenta at the start, in world axes and in body axes, J the
impulse of the applied loads there and G^T c that of the constraints, the interval's average velocities solve

    p(v, w at the interval's start) = p + J + G(start)^T c,        g(pose at the end) = 0

(discrete Lagrange-d'Alembert with the constraint at the end: Marsden and West, Acta Numerica 10 (2001),
section 3; Manchester and Peck 2016). The gradient G is that of the start, so reactions are explicit and
positions are closed exactly.
"""

import functools as ft
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from linkax.constraints.rows import push
from linkax.kinematics.bodies import Poses, State, poses, with_ground
from linkax.math.rotations import quaternion_conjugate, quaternion_multiply
from linkax.math.stacks import apply, apply_transposed, dot, product
from linkax.maximal import linear
from linkax.maximal.discrete import (
    moved,
)
from linkax.maximal.mechanism import Mechanism, chosen_solver
from linkax.maximal.settings import LoadEvaluation, Settings
from linkax.solve import Budget, Equations, Root, root


# A residual below this many roundings of the largest momentum, or length, is a root.
FLOOR = 16.0
# Where no step makes it smaller, one below this many floors is taken for a root too, if that is still a small
# part of the whole: stiff springs round by more than the momenta that they change (270 floors were seen).
SLACK, SLACK_PART = 1e4, 1e-4


class Unknowns(NamedTuple):
    """What an interval is solved for."""

    motion: Float[Array, "n 6"]  # average [angular velocity, body axes; velocity, world axes]
    impulse: Float[Array, " m"]  # of the constraints at the start


class _Given(NamedTuple):
    """What an interval depends on."""

    mechanism: Mechanism
    start: State
    base: Float[Array, "n 6"]  # momentum at the start, explicit loads included
    gradients: linear.Gradients  # at the start
    h: Float[Array, ""]
    span: Float[Array, ""]  # the time over which loads act: h, or half of it in a first step


def solve_interval(
    mechanism: Mechanism,
    start: State,
    momentum: Float[Array, "n 6"],
    h: Float[Array, ""],
    span: Float[Array, ""],
    settings: Settings,
    active: Any = True,
) -> Root:
    """The Unknowns of the interval that begins at `start` with the given momentum.

    Args:
        mechanism: bodies, rows, loads.
        start: poses, and velocities that are the first guess and what explicit loads see.
        momentum: [angular, body axes; linear, world axes] of each body before loads and constraints act.
        h: length of the interval [s]; may be negative.
        span: the time over which loads act at the start [s].
        settings: load evaluation, solver, tolerances.
        active: whether to try at all.
    """
    at = with_ground(poses(start.position, start.orientation))
    gradients = tuple(mechanism.constraints.gradient(start.t, at))
    base = momentum
    if settings.load_evaluation is LoadEvaluation.LEFT:
        base = base + span * mechanism.loads.wrenches(mechanism.bodies, start)
    given = _Given(mechanism, start, base, gradients, h, span)
    guess = Unknowns(
        jnp.concatenate([start.angular_velocity, start.velocity], axis=-1),
        jnp.zeros((mechanism.constraints.count,), h.dtype),
    )
    equations = Equations(ft.partial(_residual, settings), ft.partial(_factorise, settings), _solve)
    slack = slack_for(h.dtype) if settings.tolerance is None else 1.0
    budget = Budget(settings.max_iterations, settings.max_line_search, slack)
    found = root(equations, guess, given, budget, active)
    # Reverse mode keeps the root and does not search for it again.
    return found._replace(value=jax.tree.map(lambda x: checkpoint_name(x, ROOT), found.value))


def slack_for(dtype: Any) -> float:
    """How many floors a residual that cannot be made smaller may be."""
    return min(SLACK, SLACK_PART / (FLOOR * float(jnp.finfo(dtype).eps)))


ROOT = "root of a variational step"


def end_of(
    settings: Settings, start: State, motion: Float[Array, "n 6"], h: Float[Array, ""]
) -> State:
    """The state in which an interval ends, with its average velocities."""
    p = moved(
        settings.chart, poses(start.position, start.orientation), motion[:, 3:], motion[:, :3], h
    )
    return State(p.position, p.orientation, motion[:, 3:], motion[:, :3], start.t + h, True)


def momenta(
    settings: Settings, mechanism: Mechanism, motion: Float[Array, "n 6"], h
) -> Float[Array, "n 6"]:
    """[angular; linear] momenta at the start of an interval of these average velocities."""
    bodies = mechanism.bodies
    turning = settings.chart.momentum_at_start(bodies.inertia, motion[:, :3], h)
    return jnp.concatenate([turning, bodies.mass[:, None] * motion[:, 3:]], axis=-1)


def _impulse_of_loads(settings: Settings, motion, given: _Given) -> Float[Array, "n 6"]:
    """What implicit loads do over the span."""
    start, h = given.start, given.h
    end = end_of(settings, start, motion, h)
    if settings.load_evaluation is LoadEvaluation.MIDPOINT:
        end = _middle(start, end, h)
    if settings.load_evaluation is LoadEvaluation.CENTRED:
        end = _centred(start, end)
    return given.span * given.mechanism.loads.wrenches(given.mechanism.bodies, end)


def _centred(start: State, end: State) -> State:
    """The start, with the velocities half way between the intervals before and after it."""
    R0, R1 = (poses(s.position, s.orientation).rotation for s in (start, end))
    after = apply_transposed(R0, apply(R1, end.angular_velocity))
    return State(
        start.position,
        start.orientation,
        0.5 * (start.velocity + end.velocity),
        0.5 * (start.angular_velocity + after),
        start.t,
        True,
    )


def _middle(start: State, end: State, h) -> State:
    """Half way: mean positions and velocities, half the rotation, the mean spin in world axes."""
    d = quaternion_multiply(quaternion_conjugate(start.orientation), end.orientation)
    d = jnp.where(d[:, :1] < 0.0, -d, d)
    half = d + jnp.asarray([[1.0, 0.0, 0.0, 0.0]], d.dtype)
    q = quaternion_multiply(start.orientation, half / jnp.sqrt(dot(half, half))[:, None])
    R0, R1 = (poses(s.position, s.orientation).rotation for s in (start, end))
    R = poses(start.position, q).rotation
    spin = 0.5 * (apply(R0, start.angular_velocity) + apply(R1, end.angular_velocity))
    return State(
        0.5 * (start.position + end.position),
        q,
        0.5 * (start.velocity + end.velocity),
        apply_transposed(R, spin),
        start.t + 0.5 * h,
        True,
    )


# Compiled functions within the compiled whole: they are traced once, though a run and its derivatives meet
# them a dozen times.
@ft.partial(jax.jit, static_argnums=0)
def _residual(settings: Settings, y: Unknowns, given: _Given):
    """((momentum (n, 6), closure over h (m,)), size)."""
    mechanism, start, h = given.mechanism, given.start, given.h
    pushed = push(mechanism.constraints, given.gradients, y.impulse, mechanism.bodies.n)
    carried = momenta(settings, mechanism, y.motion, h)
    unmet = carried - given.base - pushed
    terms = (carried, given.base, pushed)
    if settings.load_evaluation is not LoadEvaluation.LEFT:
        loaded = _impulse_of_loads(settings, y.motion, given)
        unmet, terms = unmet - loaded, (*terms, loaded)
    end = moved(
        settings.chart,
        poses(start.position, start.orientation),
        y.motion[:, 3:],
        y.motion[:, :3],
        h,
    )
    rows = mechanism.constraints.stacked(
        mechanism.constraints.residual(start.t + h, with_ground(end)), h.dtype
    )
    size = _size(settings, (unmet, rows), terms, end, h)
    # Beyond half a turn, or a whole one, an interval has no average velocity.
    inside = settings.chart.inside(y.motion[:, :3], h)
    return (unmet, rows / h), jnp.where(inside, size, jnp.inf)


def _size(settings: Settings, residual, terms, end: Poses, h) -> Float[Array, ""]:
    """At most one at a root: in units of the tolerance, or of the rounding of the largest numbers."""
    unmet, rows = residual
    if settings.tolerance is not None:
        # Document 002's norm: forces, twice the torques, constraints.
        weights = jnp.asarray([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], h.dtype)
        forces = unmet * weights[None] / h
        return _norm(jnp.sum(forces * forces) + jnp.sum(rows * rows)) / settings.tolerance
    eps = jnp.finfo(h.dtype).eps
    momentum = ft.reduce(jnp.maximum, [jnp.max(jnp.abs(x)) for x in terms])
    length = jnp.maximum(jnp.max(jnp.abs(end.position)), settings.translation_scale)
    tiny = jnp.finfo(h.dtype).tiny / eps
    forces = _norm(jnp.sum(unmet * unmet)) / (FLOOR * eps * momentum + tiny)
    return jnp.maximum(forces, _norm(jnp.sum(rows * rows)) / (FLOOR * eps * length))


def _norm(square):
    return jnp.sqrt(square)


@ft.partial(jax.jit, static_argnums=0)
def _factorise(settings: Settings, y: Unknowns, given: _Given):
    mechanism, start, h = given.mechanism, given.start, given.h
    w = y.motion[:, :3]
    end = moved(settings.chart, poses(start.position, start.orientation), y.motion[:, 3:], w, h)
    gradients = mechanism.constraints.gradient(start.t + h, with_ground(end))
    turn = jnp.concatenate([settings.chart.turn_slope(w, h), jnp.eye(3, dtype=w.dtype)[None]])
    ends = [
        through(g, turn, group.bodies)
        for g, group in zip(gradients, mechanism.constraints.groups, strict=True)
    ]
    coupling = None
    if settings.load_evaluation is not LoadEvaluation.LEFT and _loaded(mechanism):
        felt = lambda motion: -_impulse_of_loads(settings, motion, given)
        coupling = jax.jacfwd(felt)(y.motion)
    factors, singular = linear.factorise(
        mechanism.constraints,
        settings,
        chosen_solver(mechanism, settings),
        settings.chart.momentum_slope(mechanism.bodies.inertia, w, h),
        mechanism.bodies.mass,
        coupling,
        list(given.gradients),
        ends,
    )
    return (mechanism.constraints, factors), singular


def _loaded(mechanism: Mechanism) -> bool:
    return bool(jax.tree.leaves(mechanism.loads))


def through(g: Float[Array, "k r a 6"], turn: Float[Array, "n 3 3"], bodies):
    """Gradients with respect to turns at the end as gradients with respect to angular velocities, over h."""
    index = jnp.asarray(bodies, int).reshape(g.shape[0], g.shape[2])
    rotation = product(jnp.moveaxis(g[..., :3], 1, 2), turn[index])
    return jnp.concatenate([jnp.moveaxis(rotation, 2, 1), g[..., 3:]], axis=-1)


@jax.jit
def _solve(factors, residual) -> Unknowns:
    constraints, parts = factors
    return Unknowns(*linear.solve(constraints, parts, residual[0], residual[1]))

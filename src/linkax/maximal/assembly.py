"""Configurations that close the constraints, near approximate ones.

They are found by steps of the shortest correction, damped as by Levenberg and Marquardt with a factor that
falls with the square of the residual, so that rows which are redundant only in closed configurations neither
throw the iteration about nor slow its end (Yamashita and Fukushima, Computing Supplement 15 (2001)).
"""

import functools as ft
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from linkax.constraints.rows import Constraints, push
from linkax.kinematics.bodies import Poses, State, poses, with_ground
from linkax.math.rotations import quaternion_conjugate, quaternion_multiply
from linkax.math.stacks import dot
from linkax.maximal import linear
from linkax.maximal.discrete import HalfSine, moved, turn_slope
from linkax.maximal.interval import FLOOR, Unknowns, slack_for, through
from linkax.maximal.mechanism import Mechanism
from linkax.maximal.settings import Settings
from linkax.maximal.shortest import Metric, System, check_fit, factorised, momenta, solved, tolerant
from linkax.maximal.status import AssemblyStatus
from linkax.maximal.velocities import project_velocities
from linkax.solve import dense


# A step turns no body by more than this [rad]: longer ones may lead to another branch.
_LONGEST_TURN = 0.5
_HALVINGS = 12
# The damping is this factor times the squared residual, in units of the mechanism's length and of the largest
# singular value: more after a step that had to be halved, less after one that had not. A first factor of one
# needs four times the iterations on four-bars whose poses are off by 0.1.
_DAMPING, _MORE, _LESS = 1e-3, 10.0, 0.1
# A step that leaves more than this of the residual leads nowhere: parts that cannot meet come to rest apart.
_PROGRESS = 0.999


class Assembled(NamedTuple):
    """A configuration found by `assemble`, and how."""

    state: State
    closure: Float[Array, " m"]  # the rows' residuals at the state
    converged: Bool[Array, ""]
    iterations: Int[Array, ""]
    status: AssemblyStatus


def assemble(
    mechanism: Mechanism,
    state: State,
    weights: Float[Array, " n"] | None = None,
    max_iterations: int = 50,
    held: tuple[int, ...] = (),
    rank_tolerance: float = 1e-9,
) -> Assembled:
    """The closed configuration near an approximate one, with velocities that keep it closed.

    Each step is the shortest one, in the metric of the kinetic energy, that closes the linearised rows; it
    is halved until the rows come nearer to closing. So the branch (open or crossed, elbow up or down) is that
    of the approximate configuration. The rows close to rounding: 1e-13 or better for lengths of a metre in
    float64. Then the velocities are projected. A lane that fails keeps its velocities and ends in the best
    configuration that it saw; its status says why, and other lanes of a batch do not notice.

    Derivatives are those of a closed configuration that moves the shortest way, in the same metric, when the
    mechanism, the time or the start change: a change of the parameters by -M^{-1} G^T S^+ (dg/dp), one of
    the start, displacements and turns in world axes, by its part along the constraints. Where the held
    bodies determine the others, these are the derivatives of the only configuration there is.

    Args:
        mechanism: bodies and rows; loads play no part.
        state: the approximate configuration; quaternions of any length but zero.
        weights: factors of the bodies' inertias in the metric of configurations: a body of large weight
            hardly moves; all one if None. Beyond some 1e4 they cost digits: hold the body instead.
        max_iterations: steps to try; static.
        held: bodies whose poses stay as they are; their velocities are projected like all others. Static.
        rank_tolerance: as for `project_velocities`. Static.

    Raises:
        ValueError: for shapes that do not fit, bodies that do not exist, numbers that are not positive.
    """
    check_fit(mechanism, state, weights, held, rank_tolerance)
    if isinstance(max_iterations, bool) or max_iterations < 1:
        raise ValueError(f"`max_iterations` is {max_iterations!r}, but must be at least 1.")
    bodies, constraints, real = mechanism.bodies, mechanism.constraints, state.position.dtype
    settings = tolerant(rank_tolerance, real)
    factor = jnp.ones((bodies.n,), real) if weights is None else jnp.asarray(weights, real)
    metric = Metric(factor[:, None, None] * bodies.inertia, factor * bodies.mass)
    q = state.orientation
    start = _Placed(state.position, q / jnp.sqrt(dot(q, q))[:, None])
    fit = _valid(metric, state, start)
    frozen = lax.stop_gradient((constraints, metric, start, state.t))
    found = _search(*frozen, fit, held, settings, max_iterations)
    good = fit & _near(found)
    given = _Given(constraints, metric, _carried(start, found), state.t)
    ended = _moving(given, good, held, settings)
    placed = _placed(state, ended, held)
    projected = project_velocities(mechanism, placed, rank_tolerance)
    out = jax.tree.map(lambda new, old: jnp.where(good, new, old), projected, placed)
    status = AssemblyStatus.where(found.stuck, AssemblyStatus.stuck, AssemblyStatus.unfinished)
    status = AssemblyStatus.where(good, AssemblyStatus.closed, status)
    status = AssemblyStatus.where(fit, status, AssemblyStatus.invalid)
    return Assembled(out, mechanism.closure(out), good, found.iterations, status)


def _placed(state: State, end: Poses, held: tuple[int, ...]) -> State:
    """The state with the poses of `end`, but for those of the bodies held, which stay to the bit."""
    still = jnp.asarray(np.isin(np.arange(state.position.shape[0]), held))[:, None]
    keep = lambda old, new: jnp.where(still, old, new)
    return eqx.tree_at(
        lambda s: (s.position, s.orientation),
        state,
        (keep(state.position, end.position), keep(state.orientation, end.orientation)),
    )


class _Placed(NamedTuple):
    """Poses without their rotation matrices."""

    position: Float[Array, "n 3"]
    orientation: Float[Array, "n 4"]


class _Search(NamedTuple):
    """Where the steps have led."""

    at: _Placed
    rows: Float[Array, " m"]
    size: Float[Array, ""]  # in units of the rounding floor
    iterations: Int[Array, ""]
    stuck: Bool[Array, ""]
    damping: Float[Array, ""]


def _near(s: _Search) -> Bool[Array, ""]:
    return (s.size <= 1.0) | (s.stuck & (s.size <= slack_for(s.size.dtype)))


def _rows(constraints: Constraints, t, at: Poses) -> Float[Array, " m"]:
    return constraints.stacked(constraints.residual(t, with_ground(at)), at.position.dtype)


def _length(at: _Placed | Poses) -> Float[Array, ""]:
    return jnp.maximum(jnp.max(jnp.abs(at.position)), 1.0)


def _size(rows: Float[Array, " m"], at: _Placed | Poses) -> Float[Array, ""]:
    """At most one for rows that are closed to rounding."""
    floor = FLOOR * jnp.finfo(rows.dtype).eps * _length(at)
    return jnp.sqrt(jnp.sum(rows * rows)) / floor


def _search(
    constraints: Constraints,
    metric: Metric,
    start: _Placed,
    t: Float[Array, ""],
    active: Bool[Array, ""],
    held: tuple[int, ...],
    settings: Settings,
    max_iterations: int,
) -> _Search:
    """Steps until the rows close, no step helps, or there were enough; not to be differentiated."""

    def unfinished(s: _Search):
        return active & ~(s.size <= 1.0) & ~s.stuck & (s.iterations < max_iterations)

    def one(s: _Search) -> _Search:
        step = _step(constraints, metric, s, t, held, settings)

        def shorter(carry):
            halvings, scale, *_ = carry
            half = 0.5 * scale
            p = moved(
                HalfSine, poses(*s.at), half * step[:, 3:], half * step[:, :3], jnp.ones_like(t)
            )
            rows = _rows(constraints, t, p)
            return halvings + 1, half, _Placed(p.position, p.orientation), rows, _size(rows, p)

        worse = lambda carry: ~(carry[-1] < s.size) & (carry[0] <= _HALVINGS)
        before = (jnp.zeros((), jnp.int32), 2.0 * jnp.ones_like(t), s.at, s.rows, s.size)
        tried, _, at, rows, size = lax.while_loop(worse, shorter, before)
        damping = jnp.where(tried > 1, jnp.minimum(_MORE * s.damping, 1.0), _LESS * s.damping)
        better = size < s.size
        at, rows, size = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), (at, rows, size), (s.at, s.rows, s.size)
        )
        return _Search(at, rows, size, s.iterations + 1, ~(size < _PROGRESS * s.size), damping)

    rows = _rows(constraints, t, poses(*start))
    begin = _Search(
        start,
        rows,
        _size(rows, start),
        jnp.zeros((), jnp.int32),
        jnp.zeros((), bool),
        jnp.full_like(t, _DAMPING),
    )
    return lax.while_loop(unfinished, one, begin) if constraints.count else begin


def _step(constraints, metric, s: _Search, t, held, settings) -> Float[Array, "n 6"]:
    """The damped shortest step [rotation vector, body axes; displacement] that closes the rows."""
    gradients = _loose(constraints, constraints.gradient(t, with_ground(poses(*s.at))), held)
    factors = factorised(System(constraints, metric, gradients, gradients), settings)
    schur = factors.schur
    assert isinstance(schur, dense.Truncated)
    relative = jnp.sum(s.rows * s.rows) / _length(s.at) ** 2
    # The largest singular value is one over the smallest inverse; S is symmetric, so (S + d)^{-1} has the
    # same vectors.
    smallest = jnp.min(jnp.where(schur.inverse > 0.0, schur.inverse, jnp.inf))
    damped = schur.inverse / (1.0 + schur.inverse * s.damping * relative / smallest)
    factors = factors._replace(schur=schur._replace(inverse=damped))
    still = jnp.zeros((metric.mass.shape[0], 6), t.dtype)
    step, _ = linear.solve(constraints, factors, still, -s.rows)
    turn = jnp.sqrt(jnp.max(dot(step[:, :3], step[:, :3])))
    return step * jnp.where(turn > _LONGEST_TURN, _LONGEST_TURN / turn, 1.0)


def _loose(constraints: Constraints, gradients, held: tuple[int, ...]) -> linear.Gradients:
    """Gradients that see held bodies as ground."""
    if not held:
        return tuple(gradients)
    return tuple(
        jnp.where(jnp.asarray(~np.isin(np.asarray(group.bodies), held))[:, None, :, None], g, 0.0)
        for group, g in zip(constraints.groups, gradients, strict=True)
    )


# --- derivatives of configurations ---


class _Given(NamedTuple):
    """What a closed configuration depends on."""

    constraints: Constraints
    metric: Metric
    near: _Placed
    t: Float[Array, ""]


def _carried(start: _Placed, found: _Search) -> _Placed:
    """The configuration found, to the bit, moving with the start: displacements and turns in world axes."""
    position, orientation = found.at
    turn = lax.stop_gradient(
        quaternion_multiply(quaternion_conjugate(start.orientation), orientation)
    )
    along = quaternion_multiply(start.orientation, turn)
    return _Placed(
        position + (start.position - lax.stop_gradient(start.position)),
        orientation + (along - lax.stop_gradient(along)),
    )


def _moving(given: _Given, good, held, settings) -> Poses:
    """The configuration found, with its derivatives where it is `good`, else none.

    It is the root (motion, impulse) = 0 of `_unclosed`: near + M^{-1} G^T p, G that of `near`. That is
    a function of what is given, unlike the path of the search, and has its derivatives by the implicit
    function theorem.
    """
    n, real = given.near.position.shape[0], given.t.dtype
    count = given.constraints.count

    @jax.custom_jvp
    def at_root(given):
        del given
        return Unknowns(jnp.zeros((n, 6), real), jnp.zeros((count,), real))

    @at_root.defjvp
    def _(primals, tangents):
        (given,) = primals
        y = at_root(given)
        _, pushed = jax.jvp(lambda g: _unclosed(held, y, g), primals, tangents)
        # Zeroed before the solve too: what is not finite there would pass through a later zero.
        pushed = jax.tree.map(lambda x: jnp.where(good, -x, jnp.zeros_like(x)), pushed)
        return y, solved(*_linearised(held, settings, y, given), *pushed)

    return _displaced(given, at_root(given).motion)


def _displaced(given: _Given, motion: Float[Array, "n 6"]) -> Poses:
    one = jnp.ones_like(given.t)
    return moved(HalfSine, poses(*given.near), motion[:, 3:], motion[:, :3], one)


def _directions(held, given: _Given) -> linear.Gradients:
    at = with_ground(poses(*given.near))
    return _loose(given.constraints, given.constraints.gradient(given.t, at), held)


def _unclosed(held, y: Unknowns, given: _Given):
    """(momentum (n, 6), rows (m,)) that vanish at the root."""
    end = _displaced(given, y.motion)
    rows = _rows(given.constraints, given.t, end)
    pushed = push(given.constraints, _directions(held, given), y.impulse, y.motion.shape[0])
    return momenta(given.metric, y.motion) - pushed, rows


def _linearised(held, settings, y: Unknowns, given: _Given):
    constraints, w = given.constraints, y.motion[:, :3]
    end = _displaced(given, y.motion)
    gradients = constraints.gradient(given.t, with_ground(end))
    identity = jnp.eye(3, dtype=w.dtype)[None]
    turn = jnp.concatenate([turn_slope(w, jnp.ones_like(given.t)), identity])
    ends = [
        through(g, turn, group.bodies)
        for g, group in zip(gradients, constraints.groups, strict=True)
    ]
    system = System(
        constraints, given.metric, _directions(held, given), _loose(constraints, ends, held)
    )
    return system, factorised(system, settings)


def _valid(metric: Metric, state: State, start: _Placed) -> Bool[Array, ""]:
    finite = [jnp.all(jnp.isfinite(x)) for x in (*start, state.velocity, state.angular_velocity)]
    return ft.reduce(jnp.logical_and, finite, jnp.all(metric.mass > 0.0) & jnp.isfinite(state.t))

"""The linear systems of a step: velocities and the impulses of the constraints.

    [ M  -G0^T ] [dv]   [ru]          M: the slope of the bodies' momenta, minus that of implicit loads
    [ G1   0   ] [dp] = [rg]          G0: the rows' gradients where impulses act; G1: where rows are enforced

The bodies are eliminated first: M is a block a body, of a mass and a 3x3 matrix, so that S = G1 M^{-1} G0^T
couples only rows that share a body. S is positive definite, or nearly so, for independent rows: it needs no
pivots, and its graph gives the order of elimination once and for all.
"""

import functools as ft
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from linkax.constraints.rows import Constraints, dense_gradient, pull, push
from linkax.math.stacks import apply, cross, dot, product
from linkax.maximal.settings import LinearSolver, Settings
from linkax.solve import block_sparse, dense


Gradients = tuple[Float[Array, "_k _r _a 6"], ...]


class Uncoupled(NamedTuple):
    """M^{-1} where no load couples bodies."""

    rotation: Float[Array, "n 3 3"]
    mass: Float[Array, " n"]  # reciprocal


class Coupled(NamedTuple):
    """M factorised as a whole, where implicit loads couple bodies."""

    factors: dense.Pivoted


class Factors(NamedTuple):
    """What solves need."""

    bodies: Uncoupled | Coupled
    schur: block_sparse.Factors | dense.Pivoted | dense.Truncated | None
    start: Gradients  # G0
    end: Gradients  # G1


def inverse3(m: Float[Array, "n 3 3"]) -> Float[Array, "n 3 3"]:
    """Inverses by cofactors: rows of the inverse are cross products of columns."""
    a, b, c = (m[:, :, k] for k in range(3))
    rows = jnp.stack([cross(b, c), cross(c, a), cross(a, b)], axis=1)
    return rows / dot(a, rows[:, 0])[:, None, None]


def factorise(
    constraints: Constraints,
    settings: Settings,
    solver: LinearSolver,
    slope: Float[Array, "n 3 3"],
    mass: Float[Array, " n"],
    coupling: Float[Array, "n 6 n 6"] | None,
    start: list[Float[Array, "_k _r _a 6"]],
    end: list[Float[Array, "_k _r _a 6"]],
) -> tuple[Factors, Bool[Array, ""]]:
    """Factors of the system and whether S was singular.

    Args:
        constraints: says which bodies the rows belong to.
        settings: shift and rank tolerance.
        solver: how S is factorised.
        slope: of the angular momenta.
        mass: of the bodies.
        coupling: what implicit loads add to M, or None.
        start: G0 times the weight of an impulse in its step.
        end: G1.
    """
    if coupling is None:
        bodies = Uncoupled(inverse3(slope), 1.0 / mass)
    else:
        bodies = Coupled(dense.factor(_whole(slope, mass, coupling), 0.0)[0])
    kept = Factors(bodies, None, tuple(start), tuple(end))
    if constraints.count == 0:
        return kept, jnp.zeros((), bool)
    if solver is LinearSolver.BLOCK_SPARSE and isinstance(bodies, Uncoupled):
        plan = plan_of(constraints)
        schur, singular = block_sparse.factor(
            plan, _schur_blocks(plan, constraints, bodies, start, end), settings.shift
        )
    elif solver is LinearSolver.RANK_TOLERANT:
        matrix = _schur(constraints, bodies, start, end)
        schur, singular = dense.factor_truncated(matrix, settings.rank_tolerance)
        singular = jnp.zeros_like(singular)  # what this solver is for
    else:
        schur, singular = dense.factor(_schur(constraints, bodies, start, end), settings.shift)
    return kept._replace(schur=schur), singular


def solve(
    constraints: Constraints, factors: Factors, force: Float[Array, "n 6"], rows: Float[Array, " m"]
) -> tuple[Float[Array, "n 6"], Float[Array, " m"]]:
    """(dv, dp) for right-hand sides ru = `force` [torque; force] and rg = `rows`; linear in both."""
    if constraints.count == 0:
        return _bodies_solve(factors.bodies, force), rows
    free = _bodies_solve(factors.bodies, force)
    unmet = rows - constraints.stacked(pull(constraints, factors.end, free), rows.dtype)
    schur = factors.schur
    if isinstance(schur, dense.Truncated):
        impulse = dense.solve_truncated(schur, unmet)
    elif isinstance(schur, dense.Pivoted):
        impulse = dense.solve(schur, unmet)
    else:
        assert schur is not None
        impulse = _solve_blocks(constraints, schur, unmet)
    pushed = push(constraints, factors.start, impulse, force.shape[0])
    return _bodies_solve(factors.bodies, force + pushed), impulse


def _bodies_solve(bodies: Uncoupled | Coupled, force: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    if isinstance(bodies, Coupled):
        return dense.solve(bodies.factors, force.reshape(-1)).reshape(force.shape)
    turning = apply(bodies.rotation, force[:, :3])
    return jnp.concatenate([turning, bodies.mass[:, None] * force[:, 3:]], axis=-1)


def _whole(slope, mass, coupling) -> Float[Array, "N N"]:
    n = mass.shape[0]
    linear = mass[:, None, None] * jnp.eye(3, dtype=mass.dtype)[None]
    zero = jnp.zeros_like(slope)
    blocks = jnp.concatenate(
        [jnp.concatenate([slope, zero], 2), jnp.concatenate([zero, linear], 2)], 1
    )
    where = jnp.eye(n, dtype=mass.dtype)[:, None, :, None]
    return (blocks[:, :, None, :] * where + coupling).reshape(6 * n, 6 * n)


def _schur(constraints: Constraints, bodies, start, end) -> Float[Array, "m m"]:
    n = bodies.mass.shape[0] if isinstance(bodies, Uncoupled) else bodies.factors.lu.shape[0] // 6
    first, last = (dense_gradient(constraints, g, n) for g in (start, end))
    moved = jax.vmap(ft.partial(_bodies_solve, bodies))(first)
    m = constraints.count
    # Highest precision: accelerators would round the factors to ten bits else.
    return jnp.matmul(
        last.reshape(m, -1), moved.reshape(m, -1).T, precision=jax.lax.Precision.HIGHEST
    )


# --- block-sparse ---


class _Node(NamedTuple):
    group: int
    instance: int


@ft.lru_cache(maxsize=256)
def _graph(shape: tuple[tuple[tuple[tuple[int, ...], ...], int], ...]):
    """(plan, nodes, contributions) of groups given as (bodies, rows)."""
    nodes = [_Node(g, i) for g, (bodies, _) in enumerate(shape) for i in range(len(bodies))]
    sizes = tuple(shape[node.group][1] for node in nodes)
    at_body: dict[int, list[tuple[int, int]]] = {}
    for k, node in enumerate(nodes):
        for slot, body in enumerate(shape[node.group][0][node.instance]):
            if body >= 0:
                at_body.setdefault(body, []).append((k, slot))
    meetings: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for found in at_body.values():
        for i, slot_i in found:
            for j, slot_j in found:
                meetings.setdefault((i, j), []).append((slot_i, slot_j))
    plan = block_sparse.plan_elimination(sizes, sorted({(i, j) for i, j in meetings if i < j}))
    return plan, tuple(nodes), meetings


# Up to here all nodes are given the rows of the largest: one kind of block to compile instead of one for
# every pair of sizes.
_COMMON = 6


def _sizes(constraints: Constraints) -> tuple[int, ...]:
    """The rows that the nodes of each group are given in the elimination."""
    rows = [group.rows for group in constraints.groups]
    common = max(rows)
    return tuple(common if common <= _COMMON else r for r in rows)


def _shape(constraints: Constraints):
    sizes = _sizes(constraints)
    return tuple((g.bodies, size) for g, size in zip(constraints.groups, sizes, strict=True))


def _empty(constraints: Constraints) -> np.ndarray:
    """Which rows of each node, numbered as in the plan, hold no equation (nodes, rows)."""
    sizes = _sizes(constraints)
    filled = [used for group in constraints.groups for used in group.filled]
    return np.arange(max(sizes))[None] >= np.asarray(filled)[:, None]


def _lengthened(x: Array, axis: int, size: int) -> Array:
    """x with zero rows added along an axis."""
    missing = size - x.shape[axis]
    if missing == 0:
        return x
    shape = [missing if k == axis else length for k, length in enumerate(x.shape)]
    return jnp.concatenate([x, jnp.zeros(shape, x.dtype)], axis=axis)


def plan_of(constraints: Constraints) -> block_sparse.Plan:
    """The order in which the rows are eliminated."""
    return _graph(_shape(constraints))[0]


def _by_size(constraints: Constraints, parts) -> dict[int, Float[Array, "..."]]:
    """Slots (instance, body) of all groups of one number of rows side by side, and a zero at the end."""
    found: dict[int, list] = {}
    for size, x in zip(_sizes(constraints), parts, strict=True):
        found.setdefault(size, []).append(x)
    out = {}
    for size, arrays in found.items():
        flat = [x.reshape(-1, *x.shape[2:]) for x in arrays]
        out[size] = jnp.concatenate([*flat, jnp.zeros_like(flat[0][:1])])
    return out


def _schur_blocks(plan, constraints: Constraints, bodies: Uncoupled, start, end):
    """The blocks of S, fill included."""
    _, nodes, meetings = _graph(_shape(constraints))
    slots: dict[tuple[int, int], int] = {}
    ends: dict[int, int] = {}
    for k, node in enumerate(nodes):
        size, arity = plan.sizes[k], len(constraints.groups[node.group].bodies[node.instance])
        for slot in range(arity):
            slots[k, slot] = ends.get(size, 0) + slot
        ends[size] = ends.get(size, 0) + arity
    real = bodies.mass.dtype
    grouped = list(zip(constraints.groups, _sizes(constraints), strict=True))
    longer = lambda gradients: [
        _lengthened(g, 1, size) for g, (_, size) in zip(gradients, grouped, strict=True)
    ]
    left = _by_size(constraints, [jnp.moveaxis(g, 2, 1) for g in longer(end)])
    padded = Uncoupled(
        jnp.concatenate([bodies.rotation, jnp.zeros((1, 3, 3), real)]),
        jnp.concatenate([bodies.mass, jnp.zeros((1,), real)]),
    )
    right = _by_size(
        constraints,
        [_felt(padded, group, g) for (group, _), g in zip(grouped, longer(start), strict=True)],
    )
    blocks = {}
    for (a, b), pairs in plan.pairs:
        layers = max(len(meetings.get(pair, ())) for pair in pairs)
        total = None
        for layer in range(max(layers, 1)):
            met = [k for k, pair in enumerate(pairs) if len(meetings.get(pair, ())) > layer]
            if total is None:
                met = list(range(len(pairs)))
            ij = [_slot_pair(slots, ends, meetings, pairs[k], layer, (a, b)) for k in met]
            term = product(
                block_sparse.gathered(left[a], [i for i, _ in ij]),
                block_sparse.gathered(right[b], [j for _, j in ij]),
            )
            total = term if total is None else block_sparse.added(total, met, term)
        assert total is not None
        if a == b:
            total = total + jnp.asarray(_ones(constraints, pairs, a), real)
        blocks[a, b] = total
    return blocks


def _ones(constraints: Constraints, pairs, size: int) -> np.ndarray:
    """Ones on the diagonal where a row is empty, so that its multiplier comes out as zero."""
    empty = _empty(constraints)[:, :size]
    own = np.asarray([i == j for i, j in pairs])
    rows = empty[np.asarray([i for i, _ in pairs])] & own[:, None]
    return rows[:, :, None] * np.eye(size)


def _slot_pair(slots, ends, meetings, pair, layer, sizes):
    found = meetings.get(pair, ())
    if layer >= len(found):
        return ends[sizes[0]], ends[sizes[1]]  # the zero at the end: fill
    (i, j), (slot_i, slot_j) = pair, found[layer]
    return slots[i, slot_i], slots[j, slot_j]


def _felt(bodies: Uncoupled, group, g: Float[Array, "k r a 6"]) -> Float[Array, "k a 6 r"]:
    """M^{-1} G^T, body by body."""
    index = np.asarray(group.bodies, int).reshape(len(group.bodies), -1)
    columns = jnp.moveaxis(g, 1, 3)
    turning = product(bodies.rotation[index], columns[:, :, :3])
    return jnp.concatenate(
        [turning, bodies.mass[index][:, :, None, None] * columns[:, :, 3:]], axis=2
    )


def _solve_blocks(constraints: Constraints, schur, rows: Float[Array, " m"]):
    plan = plan_of(constraints)
    sizes = _sizes(constraints)
    by_size: dict[int, list] = {}
    for size, x in zip(sizes, constraints.split(rows), strict=True):
        by_size.setdefault(size, []).append(_lengthened(x, 1, size))
    found = block_sparse.solve(
        plan, schur, {size: jnp.concatenate(x) for size, x in by_size.items()}
    )
    used = dict.fromkeys(found, 0)
    parts = []
    for group, size in zip(constraints.groups, sizes, strict=True):
        begin, k = used[size], len(group.bodies)
        parts.append(found[size][begin : begin + k, : group.rows])
        used[size] = begin + k
    return constraints.stacked(parts, rows.dtype)

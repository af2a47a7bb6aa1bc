"""Block elimination in an order worked out once, from the graph of which unknowns meet.

Nodes are groups of unknowns; an edge says that two groups meet in an equation. Each round eliminates nodes of
few neighbours that are no neighbours of each other, all of one shape side by side: multiple minimum degree
(Liu 1985), which on a chain is cyclic reduction and on a tree is rake and compress (Miller and Reif 1985). So
a chain of n nodes takes some log2(n) rounds, little to compile, and work in proportion to n; its fill never
joins more than two neighbours. Pivots stay on the diagonal: for matrices that are positive definite, or
nearly so, up to a sign, like G M^{-1} G^T, every order is as good as any.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from linkax.math.materialise import materialise
from linkax.math.stacks import apply, product
from linkax.solve.dense import negligible


Shape = tuple[int, int]
Pair = tuple[int, int]
Blocks = dict[Shape, Float[Array, "_blocks _rows _columns"]]
Vectors = dict[int, Float[Array, "_nodes _rows"]]


class Group(NamedTuple):
    """Nodes of one size with neighbours of the same sizes, eliminated side by side."""

    nodes: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]  # of each node
    size: int
    sizes: tuple[int, ...]  # of the neighbours


class Plan(NamedTuple):
    """The order of elimination and where each block is kept; static and hashable.

    Blocks of one shape lie in one array, in the order of `pairs`; vectors of one size likewise, in the order
    of the nodes.
    """

    sizes: tuple[int, ...]
    rounds: tuple[tuple[Group, ...], ...]
    pairs: tuple[
        tuple[Shape, tuple[Pair, ...]], ...
    ]  # ordered pairs of nodes, diagonal and fill included

    def place(self, pair: Pair) -> int:
        """Where a block lies among those of its shape."""
        return _places(self)[pair]

    def node_place(self, node: int) -> int:
        """Where a node's vector lies among those of its size."""
        return sum(size == self.sizes[node] for size in self.sizes[:node])

    def nodes_of(self, size: int) -> tuple[int, ...]:
        """The nodes of a size, in the order of their vectors."""
        return tuple(i for i, s in enumerate(self.sizes) if s == size)


_PLACES: dict[Plan, dict[Pair, int]] = {}


def _places(plan: Plan) -> dict[Pair, int]:
    if plan not in _PLACES:
        _PLACES[plan] = {p: k for _, pairs in plan.pairs for k, p in enumerate(pairs)}
    return _PLACES[plan]


def plan_elimination(sizes: tuple[int, ...], edges) -> Plan:
    """The plan for a graph: `sizes` of the nodes and the pairs of them that meet."""
    around: list[set[int]] = [set() for _ in sizes]
    for i, j in edges:
        if i != j:
            around[i].add(j)
            around[j].add(i)
    met = {(i, i) for i in range(len(sizes))} | {(i, j) for i, a in enumerate(around) for j in a}
    left, rounds = set(range(len(sizes))), []
    while left:
        chosen = _independent(left, around)
        groups: dict[tuple, list[int]] = {}
        by_size = lambda j: (sizes[j], j)
        order = {node: tuple(sorted(around[node], key=by_size)) for node in chosen}
        for node in chosen:
            near = tuple(sizes[j] for j in order[node])
            groups.setdefault((sizes[node], near), []).append(node)
        rounds.append(
            tuple(
                Group(tuple(nodes), tuple(order[i] for i in nodes), size, near)
                for (size, near), nodes in groups.items()
            )
        )
        for node in chosen:
            for i in around[node]:
                met |= {(i, j) for j in around[node]}
                around[i] |= around[node] - {i}
        for node in chosen:
            for i in around[node]:
                around[i].discard(node)
            left.discard(node)
    shapes: dict[Shape, list[Pair]] = {}
    for i, j in sorted(met):
        shapes.setdefault((sizes[i], sizes[j]), []).append((i, j))
    pairs = tuple((shape, tuple(found)) for shape, found in shapes.items())
    return Plan(tuple(sizes), tuple(rounds), pairs)


def _independent(left: set[int], around: list[set[int]]) -> list[int]:
    """Nodes of least degree (or of two neighbours at most) of which no two are neighbours."""
    most = max(2, min(len(around[i]) for i in left))
    chosen: list[int] = []
    taken: set[int] = set()
    for node in sorted(left, key=lambda i: (len(around[i]), i)):
        if len(around[node]) <= most and node not in taken:
            chosen.append(node)
            taken |= around[node]
    return chosen


class _Eliminated(NamedTuple):
    """What a group leaves behind for solves."""

    inverse: Float[Array, "nodes s s"]
    lower: tuple[Float[Array, "nodes t s"], ...]  # A_jp of each neighbour j
    upper: tuple[Float[Array, "nodes s t"], ...]  # P^{-1} A_pj


Factors = tuple[tuple[_Eliminated, ...], ...]


def gathered(x: Float[Array, "n ..."], places) -> Float[Array, "k ..."]:
    """Entries along the first axis at static places; neighbouring ones are one slice."""
    places = np.asarray(places, int)
    steps = np.diff(places)
    if len(places) and np.all(steps == 1):
        return x[int(places[0]) : int(places[-1]) + 1]
    if len(places) > 1 and np.all(steps == steps[0]) and steps[0] > 1:
        return x[int(places[0]) : int(places[-1]) + 1 : int(steps[0])]
    return x[places]


def added(x: Float[Array, "n ..."], places, terms: Float[Array, "k ..."]) -> Float[Array, "n ..."]:
    """x with terms added at static places, several at one place where it is named several times.

    By gathering: a scatter is a loop over its places on CPU.
    """
    waiting: dict[int, list[int]] = {}
    for k, place in enumerate(places):
        waiting.setdefault(int(place), []).append(k)
    padded = jnp.concatenate([terms, jnp.zeros_like(terms[:1])])
    for layer in range(max(len(found) for found in waiting.values())):
        rows = [
            waiting[n][layer] if n in waiting and layer < len(waiting[n]) else len(places)
            for n in range(x.shape[0])
        ]
        x = x + gathered(padded, rows)
    return x


def factor(
    plan: Plan, blocks: Blocks, shift: Float[Array, ""] | float
) -> tuple[Factors, Bool[Array, ""]]:
    """The elimination of a matrix, and whether a pivot was negligible; such a pivot has `shift` added."""
    blocks = dict(blocks)
    threshold = jnp.max(jnp.stack([negligible(x) for x in blocks.values()]))
    singular = jnp.zeros((), bool)
    factors = []
    for groups in plan.rounds:
        done = []
        for group in groups:
            eliminated, bad = _eliminate(plan, group, blocks, threshold, shift)
            singular = singular | bad
            done.append(eliminated)
        for group, eliminated in zip(groups, done, strict=True):
            _update(plan, group, blocks, eliminated)
        factors.append(tuple(done))
    return tuple(factors), singular


def _pick(plan: Plan, blocks: Blocks, pairs: list[Pair]):
    shape = (plan.sizes[pairs[0][0]], plan.sizes[pairs[0][1]])
    return gathered(blocks[shape], [plan.place(pair) for pair in pairs])


def _eliminate(plan: Plan, group: Group, blocks: Blocks, threshold, shift):
    pivot = _pick(plan, blocks, [(i, i) for i in group.nodes])
    ranks = range(len(group.sizes))
    near = [[n[k] for n in group.neighbours] for k in ranks]
    right = [_pick(plan, blocks, list(zip(group.nodes, near[k], strict=True))) for k in ranks]
    lower = tuple(_pick(plan, blocks, list(zip(near[k], group.nodes, strict=True))) for k in ranks)
    reduced, singular = _reduced(
        jnp.concatenate([pivot, *right], axis=-1), group.size, threshold, shift
    )
    ends = [int(n) for n in np.cumsum((group.size, *group.sizes))]
    inverse = reduced[..., : group.size]
    upper = tuple(reduced[..., ends[k] : ends[k + 1]] for k in ranks)
    return _Eliminated(inverse, lower, upper), singular


def _reduced(m: Float[Array, "nodes s c"], size: int, threshold, shift):
    """[P | U] to [P^{-1} | P^{-1} U], by Gauss-Jordan steps in place, one kernel each."""
    singular = jnp.zeros((), bool)
    rows = np.arange(size)[:, None]
    columns = np.arange(m.shape[-1])[None]
    for p in range(size):
        here = jnp.asarray(columns == p)[None]
        pivot = m[:, p : p + 1, p : p + 1]
        bad = ~(jnp.abs(pivot) > threshold)
        singular = singular | jnp.any(bad)
        pivot = pivot + jnp.where(bad, shift, 0.0)
        column = m[:, :, p : p + 1]
        row = materialise(jnp.where(here, 1.0, m[:, p : p + 1]) / pivot)
        below = jnp.where(here, 0.0, m) - column * row
        m = materialise(jnp.where(jnp.asarray(rows == p)[None], row, below))
    return m, singular


def _update(plan: Plan, group: Group, blocks: Blocks, done: _Eliminated) -> None:
    """Subtracts A_ap P^{-1} A_pb from the blocks of every two neighbours."""
    terms: dict[Shape, list] = {}
    places: dict[Shape, list[int]] = {}
    for a, size_a in enumerate(group.sizes):
        for b, size_b in enumerate(group.sizes):
            shape = (size_a, size_b)
            terms.setdefault(shape, []).append(-product(done.lower[a], done.upper[b]))
            places.setdefault(shape, []).extend(plan.place((n[a], n[b])) for n in group.neighbours)
    for shape, found in terms.items():
        moved = found[0] if len(found) == 1 else jnp.concatenate(found)
        blocks[shape] = materialise(added(blocks[shape], places[shape], moved))


def solve(plan: Plan, factors: Factors, b: Vectors) -> Vectors:
    """The solution for one right-hand side, linear in it."""
    b = dict(b)
    halfway = []
    for groups, done in zip(plan.rounds, factors, strict=True):
        found = []
        for group, parts in zip(groups, done, strict=True):
            own = gathered(b[group.size], [plan.node_place(i) for i in group.nodes])
            found.append(materialise(apply(parts.inverse, own)))
        for group, parts, y in zip(groups, done, found, strict=True):
            for k, size in enumerate(group.sizes):
                places = [plan.node_place(n[k]) for n in group.neighbours]
                b[size] = materialise(added(b[size], places, -apply(parts.lower[k], y)))
        halfway.append(found)
    # What is known so far, by size: an array, and where each node lies in it.
    known: dict[int, Float[Array, "known s"]] = {}
    place: dict[int, int] = {}
    for groups, done, found in zip(
        reversed(plan.rounds), reversed(factors), reversed(halfway), strict=True
    ):
        before = dict(known)
        for group, parts, y in zip(groups, done, found, strict=True):
            x = y
            for k, size in enumerate(group.sizes):
                near = gathered(before[size], [place[n[k]] for n in group.neighbours])
                x = x - apply(parts.upper[k], near)
            x = materialise(x)
            there = known.get(group.size)
            place.update(
                {n: i + (0 if there is None else there.shape[0]) for i, n in enumerate(group.nodes)}
            )
            known[group.size] = x if there is None else jnp.concatenate([there, x])
    return {
        size: gathered(known[size], [place[i] for i in plan.nodes_of(size)])
        for size in set(plan.sizes)
    }

"""The smallest groups of bodies that hold each loop: static, from which bodies each row is about."""

from collections.abc import Sequence
from dataclasses import dataclass

from linkax.constraints.tree_rows import TreeConstraints
from linkax.model.grouping import Compound
from linkax.model.topology import GROUND, Topology


@dataclass(frozen=True)
class Loop:
    """One constraint as a set of rows, and the joints that they depend on, by the bodies that these move."""

    name: str
    rows: tuple[int, ...]  # among the multipliers
    bodies: tuple[int, ...]


@dataclass(frozen=True)
class Group:
    """Bodies that hang on one parent and hold some loops whole."""

    loops: tuple[Loop, ...]
    bodies: tuple[int, ...]
    parent: int

    @property
    def rows(self) -> tuple[int, ...]:
        """Of all its loops."""
        return tuple(sorted(row for loop in self.loops for row in loop.rows))

    def compound(self, nested: Sequence[Compound] = ()) -> Compound:
        """The group as a compound body; given ones that lie inside become its members."""
        inside = [c for c in nested if set(c.bodies) <= set(self.bodies)]
        covered = {b for c in inside for b in c.bodies}
        plain = [b for b in self.bodies if b not in covered]
        return Compound("+".join(loop.name for loop in self.loops), (*inside, *plain))


def loops_of(topology: Topology, rows: TreeConstraints, names: Sequence[str] | None) -> list[Loop]:
    """Every instance of every group of rows, then every coupling; `names` in the multipliers' order."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    order = {i: place for i, place in enumerate(rows.places or range(rows.count))}
    for group, places in zip(rows.rows.groups, rows.rows.places, strict=True):
        for bodies, own in zip(group.bodies, places, strict=True):
            used = tuple(order[place] for place in own if place >= 0)
            if used:
                found.append((used, _moving(topology, bodies)))
    if rows.couplings is not None:
        first = rows.rows.count
        owner = {
            start + k: body
            for body, start in enumerate(topology.v_slots.start)
            for k in range(topology.v_slots.width[body])
        }
        for i, speeds in enumerate(rows.couplings.speeds):
            bodies = {owner[s] for s in speeds}
            found.append(((order[first + i],), spanned(topology, bodies)))
    found.sort(key=lambda pair: pair[0])
    if names is None:
        names = [f"row {rows[0]}" for rows, _ in found]
    return [Loop(name, *pair) for name, pair in zip(names, found, strict=True)]


def _moving(topology: Topology, bodies: Sequence[int]) -> tuple[int, ...]:
    """The bodies whose joints move the given ones relative to each other."""
    paths = [() if b == GROUND else topology.ancestors[b] for b in bodies]
    shared = _common(paths)
    return tuple(sorted({b for p in paths for b in p[shared:]}))


def _common(paths: Sequence[tuple[int, ...]]) -> int:
    """How many bodies all paths from the ground begin with."""
    shared = 0
    while all(len(p) > shared for p in paths) and len({p[shared] for p in paths}) == 1:
        shared += 1
    return shared


def spanned(topology: Topology, bodies: Sequence[int] | set[int]) -> tuple[int, ...]:
    """The bodies with all that lie between them and the nearest one that carries them all."""
    paths = [topology.ancestors[b][:-1] for b in bodies]
    shared = _common(paths)
    between = {b for p in paths for b in p[shared:]}
    return tuple(sorted(between | set(bodies)))


def group_loops(
    topology: Topology, loops: Sequence[Loop], compounds: Sequence[Compound] = ()
) -> list[Group]:
    """The smallest groups, no two of which share a body; compound bodies are not cut."""
    pending = [([loop], set(loop.bodies)) for loop in loops if loop.bodies]
    merged: list[tuple[list[Loop], set[int]]] = []
    while pending:
        own, bodies = pending.pop(0)
        bodies = _whole(topology, bodies, compounds)
        touching = [other for other in merged if other[1] & bodies]
        if not touching:
            merged.append((own, bodies))
            continue
        for other in touching:
            merged.remove(other)
            own, bodies = other[0] + own, other[1] | bodies
        pending.insert(0, (own, bodies))
    groups = [_group(topology, own, bodies) for own, bodies in merged]
    return sorted(groups, key=lambda g: g.bodies)


def _whole(topology: Topology, bodies: set[int], compounds: Sequence[Compound]) -> set[int]:
    """The bodies with the compound bodies that they cut into, and what then lies between."""
    grown = set(spanned(topology, bodies))
    for compound in compounds:
        if grown & set(compound.bodies):
            grown |= set(compound.bodies)
    grown = set(spanned(topology, grown))
    return grown if grown == bodies else _whole(topology, grown, compounds)


def _group(topology: Topology, loops: Sequence[Loop], bodies: set[int]) -> Group:
    outside = {topology.parents[b] for b in bodies} - bodies
    assert len(outside) == 1
    ordered = tuple(sorted(loops, key=lambda loop: loop.rows))
    return Group(ordered, tuple(sorted(bodies)), outside.pop())

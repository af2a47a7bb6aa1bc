"""The static side of a model: names, tree, joint classes, slots, and the order in which bodies are visited.

Everything here is hashable and known while tracing; a change of it is a new compilation.

The visiting order is depth first, so that a body's parent is nearly always the body just visited and its
value still sits in the carry of a scan. Where a body has several children, its value waits in a *register*
until the last of them has been visited; visiting the subtree that needs most registers last keeps their
number at most log2 of the body count (Sethi and Ullman 1970). A whole tree of one joint class is thus a
single scan of bodies, whatever its branching, compiled once.
"""

import functools as ft
import itertools
from dataclasses import dataclass
from typing import NamedTuple

from linkax.joints import COVERED_BY, AbstractJoint


GROUND = -1
# Where the parent's value is found when a body is visited; registers are numbered from zero.
PREVIOUS = -1
FROM_GROUND = -2
# Shorter runs are written out: a loop of two costs more than it saves.
SHORTEST_SCAN = 3
# No register keeps the body's own value.
UNKEPT = -1


class Run(NamedTuple):
    """Consecutive bodies of one joint class in visiting order."""

    joint: type[AbstractJoint]
    bodies: tuple[int, ...]
    source: tuple[int, ...]  # PREVIOUS, FROM_GROUND or the register of the parent's value
    keep: tuple[int, ...]  # register for the body's own value, or UNKEPT


class Slots(NamedTuple):
    """First index and count of every body's entries in a stacked array."""

    start: tuple[int, ...]
    width: tuple[int, ...]
    size: int


def _slots(counts) -> Slots:
    counts = tuple(counts)
    start = tuple(sum(counts[:i]) for i in range(len(counts)))
    return Slots(start, counts, sum(counts))


@dataclass(frozen=True)
class Topology:
    """Bodies (moving ones only, parents first), their joints, frames and mimic joints.

    Joint i moves body i. `followers` pairs the body of a mimic joint with the body of its leader; both
    joints have one freedom and no leader is itself a follower. `unroll` bodies of a scan are compiled side
    by side; 0 writes out every body. `tree_nq` and `tree_nv` count all joints; `nq`, `nv` only leaders.
    """

    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joints: tuple[type[AbstractJoint], ...]
    parents: tuple[int, ...]
    frame_names: tuple[str, ...] = ()
    frame_bodies: tuple[int, ...] = ()
    followers: tuple[tuple[int, int], ...] = ()
    unroll: int = 1

    @property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.parents)

    @ft.cached_property
    def q_slots(self) -> Slots:
        """Coordinates of all joints of the tree, followers included."""
        return _slots(joint.nq for joint in self.joints)

    @ft.cached_property
    def v_slots(self) -> Slots:
        """Speeds of all joints of the tree, followers included."""
        return _slots(joint.nv for joint in self.joints)

    @property
    def tree_nq(self) -> int:
        """Number of coordinates with followers."""
        return self.q_slots.size

    @property
    def tree_nv(self) -> int:
        """Number of speeds with followers."""
        return self.v_slots.size

    @property
    def nq(self) -> int:
        """Number of independent coordinates."""
        return self.tree_nq - len(self.followers)

    @property
    def nv(self) -> int:
        """Number of independent speeds."""
        return self.tree_nv - len(self.followers)

    @ft.cached_property
    def free_bodies(self) -> tuple[int, ...]:
        """Bodies whose joints are not followers."""
        dependent = {follower for follower, _ in self.followers}
        return tuple(i for i in range(self.nb) if i not in dependent)

    def _names(self, suffixes: str) -> tuple[str, ...]:
        return tuple(
            self.joint_names[i] + (f"_{suffix}" if suffix else "")
            for i in self.free_bodies
            for suffix in getattr(self.joints[i], suffixes)
        )

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the independent coordinates; a one-freedom joint's bears the joint's name."""
        return self._names("coordinate_suffixes")

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names of the independent speeds; a one-freedom joint's bears the joint's name."""
        return self._names("speed_suffixes")

    @ft.cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The bodies that each body carries."""
        return tuple(tuple(j for j, p in enumerate(self.parents) if p == i) for i in range(self.nb))

    @ft.cached_property
    def ancestors(self) -> tuple[tuple[int, ...], ...]:
        """The bodies from each body to the ground, itself included, itself last."""
        paths: list[tuple[int, ...]] = []
        for i, parent in enumerate(self.parents):
            paths.append((*(paths[parent] if parent != GROUND else ()), i))
        return tuple(paths)

    @ft.cached_property
    def levels(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Bodies by their distance from the ground, each with its parent's place in the level before."""
        depth = [len(path) for path in self.ancestors]
        found, before = [], ()
        for level in range(1, max(depth, default=0) + 1):
            own = tuple(b for b in range(self.nb) if depth[b] == level)
            hung = tuple(before.index(self.parents[b]) for b in own) if before else ()
            found.append((own, hung))
            before = own
        return tuple(found)

    @ft.cached_property
    def roots(self) -> tuple[int, ...]:
        """The root body of the tree that each body belongs to."""
        return tuple(path[0] for path in self.ancestors)

    @ft.cached_property
    def runs(self) -> tuple[Run, ...]:
        """The visiting order, cut into runs of one joint class: the joints' own, or one that covers them."""
        runs: list[Run] = []
        for body, source, keep in _visits(self.parents, self.children):
            joint = self.joints[body]
            if runs and runs[-1].joint is joint:
                last = runs[-1]
                runs[-1] = Run(
                    joint, (*last.bodies, body), (*last.source, source), (*last.keep, keep)
                )
            else:
                runs.append(Run(joint, (body,), (source,), (keep,)))
        return tuple(_covered(runs) if self.unroll else runs)

    @ft.cached_property
    def classes(self) -> tuple[tuple[type[AbstractJoint], tuple[int, ...]], ...]:
        """Bodies grouped by joint class, for what needs no recursion."""
        groups: dict[type[AbstractJoint], list[int]] = {}
        for body, joint in enumerate(self.joints):
            groups.setdefault(joint, []).append(body)
        return tuple((joint, tuple(bodies)) for joint, bodies in groups.items())


def _covered(runs: list[Run]) -> list[Run]:
    """Neighbouring runs of types that one type covers, joined into one run of it.

    It costs no more a body (7 and 30 revolute joints as such ran 0.97 and 0.85 times as long as by their own
    type, which is noise), and a run saved is a second of compiling.
    """
    joined: list[Run] = []
    for cover, group in itertools.groupby(runs, lambda run: COVERED_BY.get(run.joint)):
        together = list(group)
        bodies = sum(len(run.bodies) for run in together)
        if cover is None or len(together) == 1 or bodies < SHORTEST_SCAN:
            joined += together
            continue
        columns = zip(*(run[1:] for run in together), strict=True)
        joined.append(Run(cover, *(tuple(itertools.chain(*column)) for column in columns)))
    return joined


def _visits(parents, children) -> list[tuple[int, int, int]]:
    """(body, source of its parent's value, register that keeps its own) in visiting order."""
    need = [0] * len(parents)
    order: list[tuple[int, ...]] = [()] * len(parents)
    for body in reversed(range(len(parents))):
        ranked = sorted(children[body], key=lambda child: need[child])
        order[body] = tuple(ranked)
        if len(ranked) == 1:
            need[body] = need[ranked[0]]
        elif ranked:
            need[body] = max(need[ranked[-2]] + 1, need[ranked[-1]], 1)
    visits: list[tuple[int, int, int]] = []
    # A stack instead of recursion: chains of thousands of bodies are legal.
    pending = [
        (root, FROM_GROUND, 0) for root in reversed(range(len(parents))) if parents[root] == GROUND
    ]
    while pending:
        body, source, free = pending.pop()
        branches = order[body]
        keep = free if len(branches) > 1 else UNKEPT
        visits.append((body, source, keep))
        for rank in reversed(range(len(branches))):
            last = rank == len(branches) - 1
            where = PREVIOUS if rank == 0 else keep
            pending.append((branches[rank], where, free if last else free + 1))
    return visits

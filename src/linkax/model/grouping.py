"""Bodies taken together: compound bodies, and the tree of nodes that they make of a model's tree.

All static. A compound body is a group of bodies, possibly compound ones themselves, whose base bodies all
hang on one body outside, or on the ground. Source: document 004; Jain 2011, chapter 14 (aggregation).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Union

from linkax.model.topology import Topology


@dataclass(frozen=True)
class Compound:
    """A named group of bodies; `members` are indices of bodies, or compound bodies, in the order given."""

    name: str
    members: tuple[Union[int, "Compound"], ...]

    @property
    def bodies(self) -> tuple[int, ...]:
        """All bodies at any depth, parents first."""
        return tuple(sorted(self._expanded()))

    def _expanded(self) -> Iterator[int]:
        for member in self.members:
            if isinstance(member, Compound):
                yield from member._expanded()
            else:
                yield member

    def contains(self, member: Union[int, "Compound"]) -> bool:
        """Whether a body or compound body is embedded in this one, at any depth."""
        return any(
            own == member or (isinstance(own, Compound) and own.contains(member))
            for own in self.members
        )


class Node(NamedTuple):
    """A body, or an outermost compound body, as one step of a recursion over nodes."""

    bodies: tuple[int, ...]  # parents first
    parent: int  # the one body outside that all bases hang on; GROUND
    bases: tuple[int, ...]
    compound: Compound | None  # None for a plain body

    def speeds(self, topology: Topology) -> tuple[int, ...]:
        """Indices of the tree speeds of its bodies' joints, body by body."""
        slots = topology.v_slots
        return tuple(slots.start[b] + k for b in self.bodies for k in range(slots.width[b]))


def nodes_of(topology: Topology, compounds: tuple[Compound, ...]) -> tuple[Node, ...]:
    """The nodes of a tree with outermost compound bodies, parents first.

    The groups must be connected (every member hangs on another member or on the one parent).
    """
    owner: dict[int, Compound] = {b: c for c in compounds for b in c.bodies}
    nodes, seen = [], set()
    for body, parent in enumerate(topology.parents):
        compound = owner.get(body)
        if compound is None:
            nodes.append(Node((body,), parent, (body,), None))
        elif compound not in seen:
            seen.add(compound)
            members = compound.bodies
            bases = tuple(b for b in members if topology.parents[b] not in members)
            nodes.append(Node(members, topology.parents[bases[0]], bases, compound))
    # In the order of their first bodies: that of a group is a base, and what it hangs on came before.
    return tuple(nodes)

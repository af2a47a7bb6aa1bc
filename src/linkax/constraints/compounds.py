"""What is known of a compound body: its members, its neighbours, and its part of coordinates and speeds."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Array, Float

from linkax.model import AbstractModel, Compound
from linkax.model.naming import suggestion
from linkax.model.traverse import take


def every_compound(model: AbstractModel) -> Iterator[Compound]:
    """All compound bodies of a model at any depth, the outer before the inner."""
    for node in model.nodes or ():
        if node.compound is not None:
            yield from _with_inner(node.compound)


def _with_inner(compound: Compound) -> Iterator[Compound]:
    yield compound
    for member in compound.members:
        if isinstance(member, Compound):
            yield from _with_inner(member)


def compound_of(model: AbstractModel, compound: str | Compound) -> Compound:
    """A compound body by name, at any depth; the error says which there are."""
    known = list(every_compound(model))
    name = compound.name if isinstance(compound, Compound) else compound
    for other in known:
        if compound in (other, other.name):
            return other
    raise ValueError(
        f"There is no compound body `{name}`;{suggestion(name, [c.name for c in known])}"
    )


def node_of(model: AbstractModel, compound: str | Compound) -> int:
    """The position among `model.nodes` of an outermost compound body."""
    found = compound_of(model, compound)
    for k, node in enumerate(model.nodes or ()):
        if node.compound == found:
            return k
        if node.compound is not None and node.compound.contains(found):
            raise ValueError(
                f"The compound body `{found.name}` is inside `{node.compound.name}` and no step of the "
                f"recursion of its own; ask for `{node.compound.name}`."
            )
    raise AssertionError("every compound body is in a node")


# --- members and neighbours; indices of bodies, GROUND (-1) for the ground ---


def member_names(model: AbstractModel, compound: str | Compound) -> tuple[str, ...]:
    """The direct members, bodies and compound bodies, in the order they were given."""
    found = compound_of(model, compound)
    return tuple(m.name if isinstance(m, Compound) else model.body_names[m] for m in found.members)


def physical_bodies(model: AbstractModel, compound: str | Compound) -> tuple[str, ...]:
    """All bodies at any depth, parents first: the order of everything that is stacked."""
    return tuple(model.body_names[b] for b in compound_of(model, compound).bodies)


def contains(model: AbstractModel, compound: str | Compound, body: str | int | Compound) -> bool:
    """Whether a body or a compound body is embedded in this one, at any depth."""
    found = compound_of(model, compound)
    if isinstance(body, Compound) or body in [c.name for c in every_compound(model)]:
        assert not isinstance(body, int)
        return found.contains(compound_of(model, body))
    return found.contains(model.body_index(body))


def base_bodies(model: AbstractModel, compound: str | Compound) -> tuple[int, ...]:
    """The members that hang on the body outside."""
    parents, bodies = model.tree.topology.parents, compound_of(model, compound).bodies
    return tuple(b for b in bodies if parents[b] not in bodies)


def physical_parent(model: AbstractModel, compound: str | Compound) -> int:
    """The one body outside that all base bodies hang on; GROUND (-1) for the ground."""
    parents = model.tree.topology.parents
    on = {parents[b] for b in base_bodies(model, compound)}
    # An inner compound body of a group with several branches hangs on one body too: `aggregate` saw to it.
    assert len(on) == 1
    return on.pop()


def external_children(model: AbstractModel, compound: str | Compound) -> dict[int, tuple[int, ...]]:
    """For each body of the compound body, the bodies outside that hang on it."""
    bodies, children = compound_of(model, compound).bodies, model.tree.topology.children
    return {b: tuple(c for c in children[b] if c not in bodies) for b in bodies}


# --- its part of coordinates and speeds ---


def _places(model: AbstractModel, compound: str | Compound, slots) -> tuple[int, ...]:
    bodies = compound_of(model, compound).bodies
    return tuple(slots.start[b] + k for b in bodies for k in range(slots.width[b]))


def coordinate_indices(model: AbstractModel, compound: str | Compound) -> tuple[int, ...]:
    """Where its joints' coordinates stand in the tree's, body by body, parents first."""
    return _places(model, compound, model.tree.topology.q_slots)


def speed_indices(model: AbstractModel, compound: str | Compound) -> tuple[int, ...]:
    """Where its joints' speeds (accelerations, forces) stand in the tree's, body by body, parents first."""
    return _places(model, compound, model.tree.topology.v_slots)


def stacked_coordinates(
    model: AbstractModel, compound: str | Compound, q: Float[Array, " tree_nq"]
) -> Float[Array, " _part"]:
    """Q of a compound body out of the coordinates of the tree."""
    return take(q, coordinate_indices(model, compound))


def scattered_coordinates(
    model: AbstractModel,
    compound: str | Compound,
    part: Float[Array, " _part"],
    q: Float[Array, " tree_nq"],
) -> Float[Array, " tree_nq"]:
    """The coordinates of the tree with Q of a compound body in place of its own."""
    return q.at[np.asarray(coordinate_indices(model, compound))].set(part)


def stacked_speeds(
    model: AbstractModel, compound: str | Compound, v: Float[Array, " tree_nv"]
) -> Float[Array, " _part"]:
    """U, Udot or T of a compound body out of the speeds, accelerations or forces of the tree."""
    return take(v, speed_indices(model, compound))


def scattered_speeds(
    model: AbstractModel,
    compound: str | Compound,
    part: Float[Array, " _part"],
    v: Float[Array, " tree_nv"],
) -> Float[Array, " tree_nv"]:
    """The speeds, accelerations or forces of the tree with those of a compound body in place of its own."""
    return v.at[np.asarray(speed_indices(model, compound))].set(part)

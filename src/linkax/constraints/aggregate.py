"""Compound bodies: groups of bodies that a model's recursions treat as one (aggregation, document 004)."""

from collections.abc import Sequence

import equinox as eqx

from linkax.constraints.compounds import every_compound
from linkax.model import AbstractModel, Compound, Model, Node, nodes_of
from linkax.model.description import GROUND as WORLD
from linkax.model.naming import repeated, suggestion
from linkax.model.topology import GROUND, Topology


class AggregatedModel(AbstractModel):
    """A tree some of whose bodies are grouped into compound bodies; its speeds are the tree's.

    Aggregation changes how the dynamics are worked out, not what they are: a compound body with n speeds is
    one step with an n x n matrix. `compounds` holds the outermost ones.
    """

    base: Model
    compounds: tuple[Compound, ...] = eqx.field(static=True)

    @property
    def tree(self) -> Model:
        """The tree as it was."""
        return self.base

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Bodies and outermost compound bodies, parents first."""
        return nodes_of(self.base.topology, self.compounds)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.base.nq

    @property
    def nv(self) -> int:
        """Number of speeds."""
        return self.base.nv

    @property
    def speed_names(self) -> tuple[str, ...]:
        """One name a speed."""
        return self.base.speed_names

    @property
    def compound_names(self) -> tuple[str, ...]:
        """Compound bodies at any depth, the outer before the inner."""
        return tuple(compound.name for compound in every_compound(self))

    def tree_coordinates(self, q):
        """The coordinates."""
        return self.base.tree_coordinates(q)

    def tree_speeds(self, q, v):
        """The speeds."""
        return self.base.tree_speeds(q, v)

    def tree_accelerations(self, q, v, a):
        """The accelerations."""
        return self.base.tree_accelerations(q, v, a)

    def project(self, q, x):
        """Forces as they are."""
        return self.base.project(q, x)

    def spread(self, q):
        """None: the speeds are the tree's."""
        return

    def neutral(self):
        """The tree's neutral coordinates."""
        return self.base.neutral()

    def random(self, key):
        """Random coordinates of the tree."""
        return self.base.random(key)

    def integrate(self, q, dv):
        """See `Model.integrate`."""
        return self.base.integrate(q, dv)

    def difference(self, q0, q1):
        """See `Model.difference`."""
        return self.base.difference(q0, q1)

    def rate(self, q, v):
        """See `Model.rate`."""
        return self.base.rate(q, v)


def aggregate(
    model: AbstractModel, bodies: Sequence[str | int], name: str | None = None
) -> AggregatedModel:
    """The same model with a group of its bodies as one compound body.

    All bodies of the group that do not hang on another of it must hang on one body outside, or all on the
    ground; any of its bodies may carry bodies outside. The dynamics stay the same; the recursions over
    `model.nodes` treat the group as one step.

    Args:
        model: a plain model without mimic joints, or an aggregated one.
        bodies: names or indices of bodies, or names of compound bodies, to nest them.
        name: of the compound body; by default "a+b" for members a and b, "+a" for a alone.

    Errors: `ValueError` for groups that are empty, not connected, or hang on several bodies; for names that
    are unknown, repeated or already in use; for members of other compound bodies.

    Source: document 004, CompoundBody.create; Jain 2011, section 14.2.
    """
    if isinstance(model, Model):
        model = AggregatedModel(model, ())
    if type(model) is not AggregatedModel:  # one that derives from it may spread its speeds
        raise ValueError(
            "`aggregate` takes a plain or an aggregated model, but got one of class "
            f"`{type(model).__name__}`."
        )
    _check_plain(model.base)
    members = tuple(_member(model, body) for body in bodies)
    if not members:
        raise ValueError("A compound body needs at least one body, but `bodies` is empty.")
    names = [_name(model, member) for member in members]
    twice = repeated(names)
    if twice is not None:
        raise ValueError(f"`{twice}` is listed twice in `bodies`; each member is named once.")
    default = "+".join(names) if len(names) > 1 else f"+{names[0]}"
    compound = Compound(default if name is None else name, members)
    _check_name(model, compound.name)
    _check_group(model.base.topology, compound)
    kept = tuple(c for c in model.compounds if c not in members)
    return AggregatedModel(model.base, (*kept, compound))


def _check_plain(tree: Model) -> None:
    if tree.topology.followers:
        joint = tree.joint_names[tree.topology.followers[0][0]]
        raise ValueError(
            f"Joint `{joint}` is a mimic joint, whose speed is not one of the model's; a model with mimic "
            "joints cannot be aggregated, but it can be embedded."
        )


def _member(model: AggregatedModel, body: str | int) -> int | Compound:
    for compound in model.compounds:
        if body == compound.name:
            return compound
    for compound in every_compound(model):
        if body == compound.name:
            outer = next(c for c in model.compounds if c.contains(compound))
            raise ValueError(
                f"The compound body `{body}` is already inside `{outer.name}`; "
                f"name `{outer.name}` to nest that one."
            )
    valid = (*model.body_names, *model.compound_names)
    if isinstance(body, str) and body not in valid:
        raise ValueError(f"There is no body or compound body `{body}`;{suggestion(body, valid)}")
    index = model.body_index(body)
    for compound in model.compounds:
        if compound.contains(index):
            raise ValueError(
                f"Body `{model.body_names[index]}` is already inside the compound body "
                f"`{compound.name}`; name `{compound.name}` to nest it."
            )
    return index


def _name(model: AggregatedModel, member: int | Compound) -> str:
    return member.name if isinstance(member, Compound) else model.body_names[member]


def _check_name(model: AggregatedModel, name: str) -> None:
    kinds = {"body": (*model.body_names, WORLD), "frame": model.frame_names}
    kinds["compound body"] = model.compound_names
    for kind, names in kinds.items():
        if name in names:
            raise ValueError(
                f"The compound body cannot be called `{name}`: there is a {kind} of that name; "
                "give it another `name`."
            )


def _check_group(topology: Topology, compound: Compound) -> None:
    """One parent for all base bodies, and no hole between them and the rest."""
    bodies, names = compound.bodies, topology.body_names
    bases = [b for b in bodies if topology.parents[b] not in bodies]
    for base in bases:
        outside = [b for b in topology.ancestors[base][:-1] if b not in bodies]
        inside = [b for b in topology.ancestors[base][:-1] if b in bodies]
        if inside:
            missing = [b for b in outside if b > inside[-1]]
            raise ValueError(
                f"The bodies of `{compound.name}` are not connected: `{names[base]}` is carried by "
                f"`{names[inside[-1]]}` through {', '.join(f'`{names[b]}`' for b in missing)}; "
                "add what lies between."
            )
    parents = {base: topology.parents[base] for base in bases}
    first, *others = bases
    for base in others:
        if parents[base] != parents[first]:
            on = [WORLD if parents[b] == GROUND else names[parents[b]] for b in (first, base)]
            raise ValueError(
                f"The bodies of `{compound.name}` hang on two different parents: `{names[first]}` on "
                f"`{on[0]}`, `{names[base]}` on `{on[1]}`; a compound body hangs on one."
            )

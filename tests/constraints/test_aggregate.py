"""Which groups of bodies make a compound body, what the errors say, and what is known of one."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import constraints
from linkax.constraints import aggregate
from linkax.model import library
from linkax.model.description import FrameDescription, MimicDescription


PARENTS = {
    "hip": None,
    "thigh": "hip",
    "shank": "thigh",
    "foot": "shank",
    "arm": "hip",
    "post": None,
}


def walker():
    kinds = ("revolute", "spherical", "cylindrical")
    tree = library.random_tree(jax.random.key(0), len(PARENTS), kinds, 0.0)
    for body, joint, (name, parent) in zip(tree.bodies, tree.joints, PARENTS.items(), strict=True):
        body.name = joint.child = name
        joint.parent = parent or "world"
    tree.frames.append(FrameDescription("sole", "foot"))
    return tree


@ft.cache
def model():
    return lx.build(walker()).model


@ft.cache
def nested():
    """The limb holds the leg, given last member first, and the foot."""
    return aggregate(aggregate(model(), ["shank", 1], "leg"), ["leg", "foot"], "limb")


ERRORS = {
    "empty": ([], "A compound body needs at least one body, but `bodies` is empty."),
    "unknown": (["shnk"], "There is no body or compound body `shnk`; did you mean `shank`?"),
    "bad index": ([6], "There is no body 6: indices run from 0 to 5 (ground is -1)."),
    "repeated": (["arm", 4], "`arm` is listed twice in `bodies`; each member is named once."),
    "hole": (
        ["hip", "shank"],
        "The bodies of `hip+shank` are not connected: `shank` is carried by `hip` through `thigh`; "
        "add what lies between.",
    ),
    "hole above others": (
        ["thigh", "foot"],
        "The bodies of `thigh+foot` are not connected: `foot` is carried by `thigh` through "
        "`shank`; add what lies between.",
    ),
    "two parents": (
        ["thigh", "post"],
        "The bodies of `thigh+post` hang on two different parents: `thigh` on `hip`, `post` on "
        "`world`; a compound body hangs on one.",
    ),
}


@pytest.mark.parametrize("bodies, sentence", ERRORS.values(), ids=ERRORS)
def test_groups_that_are_none_are_errors(bodies, sentence):
    with pytest.raises(ValueError) as error:
        aggregate(model(), bodies)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    "name, kind", [("foot", "body"), ("sole", "frame"), ("limb", "compound body")]
)
def test_names_in_use_are_errors(name, kind):
    with pytest.raises(ValueError) as error:
        aggregate(nested(), ["arm"], name)
    assert str(error.value) == (
        f"The compound body cannot be called `{name}`: there is a {kind} of that name; "
        "give it another `name`."
    )
    with pytest.raises(ValueError, match="called `world`: there is a body of that name"):
        aggregate(model(), ["arm"], "world")


def test_members_of_compound_bodies_are_nested_by_its_name():
    with pytest.raises(ValueError) as error:
        aggregate(nested(), ["hip", "foot"], "body")
    assert str(error.value) == (
        "Body `foot` is already inside the compound body `limb`; name `limb` to nest it."
    )
    with pytest.raises(ValueError) as error:
        aggregate(nested(), ["hip", "leg"], "body")
    assert str(error.value) == (
        "The compound body `leg` is already inside `limb`; name `limb` to nest that one."
    )
    whole = aggregate(nested(), ["limb", "hip", "post"], "whole")
    assert whole.compound_names == ("whole", "limb", "leg")
    assert [node.bodies for node in whole.nodes] == [(0, 1, 2, 3, 5), (4,)]


def test_mimic_joints_are_an_error():
    tree = library.random_tree(jax.random.key(0), 3, ("revolute",), 0.0)
    tree.joints[2].mimic = MimicDescription("joint0")
    with pytest.raises(ValueError, match=r"Joint `joint2` is a mimic joint.*it can be embedded\."):
        aggregate(lx.build(tree).model, ["body0"])


def test_only_plain_and_aggregated_models_are_taken():
    class Other(constraints.AggregatedModel):
        """A model whose speeds could stand for anything."""

    with pytest.raises(ValueError) as error:
        aggregate(Other(model(), ()), ["arm"])
    assert str(error.value) == (
        "`aggregate` takes a plain or an aggregated model, but got one of class `Other`."
    )


def test_compound_bodies_have_names_of_their_own():
    m = aggregate(aggregate(model(), ["arm"]), ["thigh", "shank"])
    assert m.compound_names == ("thigh+shank", "+arm")  # as they stand in the tree
    assert constraints.physical_bodies(m, "+arm") == ("arm",)
    with pytest.raises(ValueError, match=r"no compound body `\+arms`; did you mean `\+arm`\?"):
        constraints.physical_parent(m, "+arms")
    with pytest.raises(ValueError, match=r"There is no compound body `leg`; there are none\."):
        constraints.physical_parent(model(), "leg")


def test_a_compound_body_knows_its_members_and_neighbours():
    m = nested()
    assert constraints.member_names(m, "limb") == ("leg", "foot")
    assert constraints.member_names(m, "leg") == ("shank", "thigh")
    assert constraints.physical_bodies(m, "limb") == ("thigh", "shank", "foot")
    assert constraints.contains(m, "limb", "shank")
    assert constraints.contains(m, "limb", "leg")
    assert not constraints.contains(m, "leg", "foot")
    assert not constraints.contains(m, "leg", "limb")
    assert constraints.base_bodies(m, "limb") == (1,)
    assert constraints.physical_parent(m, "limb") == 0
    assert constraints.external_children(m, "leg") == {1: (), 2: (3,)}
    both = aggregate(m, ["hip", "post"], "feet")
    assert constraints.base_bodies(both, "feet") == (0, 5)
    assert constraints.physical_parent(both, "feet") == -1
    assert constraints.external_children(both, "feet") == {0: (1, 4), 5: ()}
    assert [node.parent for node in both.nodes] == [-1, 0, 0]


def test_the_tree_is_what_it_was():
    m = nested()
    q, dv = m.random(jax.random.key(1)), jnp.linspace(-1.0, 1.0, m.nv)
    moved = m.integrate(q, dv)
    np.testing.assert_array_equal(moved, model().integrate(q, dv))
    np.testing.assert_allclose(m.difference(q, moved), dv, atol=1e-14)
    np.testing.assert_array_equal(m.rate(q, dv), model().rate(q, dv))
    np.testing.assert_array_equal(m.neutral(), model().neutral())
    assert (m.nq, m.nv, m.speed_names) == (model().nq, model().nv, model().speed_names)


def test_coordinates_and_speeds_are_stacked_parents_first_and_put_back():
    m = aggregate(model(), ["arm", "thigh", "hip"], "body")
    topology = m.tree.topology
    q, v = m.random(jax.random.key(1)), jnp.arange(m.nv, dtype=float)
    for x, slots, stacked, scattered in (
        (q, topology.q_slots, constraints.stacked_coordinates, constraints.scattered_coordinates),
        (v, topology.v_slots, constraints.stacked_speeds, constraints.scattered_speeds),
    ):
        parts = [np.asarray(x)[slots.start[b] : slots.start[b] + slots.width[b]] for b in (0, 1, 4)]
        part = stacked(m, "body", x)
        np.testing.assert_array_equal(part, np.concatenate(parts))
        changed = scattered(m, "body", 2.0 * part, x)
        np.testing.assert_array_equal(stacked(m, "body", changed), 2.0 * part)
        untouched = constraints.stacked_speeds if x is v else constraints.stacked_coordinates
        rest = aggregate(m, ["shank", "foot"], "rest")
        np.testing.assert_array_equal(untouched(rest, "rest", changed), untouched(rest, "rest", x))

"""Descriptions become models with every number in its place."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.model import library
from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    Description,
    JointDescription,
    MimicDescription,
    Placement,
)
from linkax.model.library import diagonal
from linkax.model.placement import (
    fixed_axis_quaternion,
    rotation_matrix,
)
from linkax.model.root import with_root


UNIT = diagonal(1.0, 1.0, 1.0)
TURNED = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, -0.2, 0.7)))


def body(name, mass=1.0, com=(0.0, 0.0, 0.0), inertia=UNIT):
    return BodyDescription(name, mass, com, inertia)


def hinge(name, parent, child, kind="revolute", **options):
    return JointDescription(name, kind, parent, child, **options)


def pair(kind="revolute", **options):
    """Two bodies on a hinge and on a joint of the kind."""
    return Description(
        bodies=[body("a"), body("b")],
        joints=[hinge("ja", "world", "a"), hinge("jb", "a", "b", kind, **options)],
    )


# --- arrays ---


def test_numbers_reach_their_leaves():
    assembly = assemble(
        Description(
            bodies=[body("a", 2.0, (0.1, 0.2, 0.3), diagonal(0.4, 0.5, 0.6))],
            joints=[
                hinge(
                    *("j", "world", "a", "cylindrical"),
                    parent_frame=TURNED,
                    child_frame=Placement((1.0, 2.0, 3.0), (0.6, 0.8, 0.0, 0.0)),
                    axis=(0.0, 0.0, 2.0),
                    armature=(0.1, 0.2),
                    damping=0.3,
                    lower=-1.0,
                    upper=(1.0, 2.0),
                    effort=(5.0, 6.0),
                    position=(0.1, 0.2),
                    speed=(0.3, 0.4),
                )
            ],
            gravity=(1.0, 2.0, 3.0),
        )
    )
    model = assembly.model
    expected = {
        "mass": [2.0],
        "com": [[0.1, 0.2, 0.3]],
        "inertia": [diagonal(0.4, 0.5, 0.6)],
        "parent_position": [TURNED.position],
        "parent_quaternion": [TURNED.quaternion],
        "child_position": [[1.0, 2.0, 3.0]],
        "child_quaternion": [[0.6, 0.8, 0.0, 0.0]],
        "axis": [[0.0, 0.0, 1.0]],
        "pitch": [0.0],
        "armature": [0.1, 0.2],
        "lower": [-1.0, -1.0],
        "upper": [1.0, 2.0],
        "gravity": [1.0, 2.0, 3.0],
        "frame_position": [[0.0, 0.0, 0.0]],
        "frame_quaternion": [[1.0, 0.0, 0.0, 0.0]],
        "ratio": [],
        "offset": [],
    }
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(model, name), value, rtol=1e-15, err_msg=name)
    np.testing.assert_array_equal(assembly.damping, [0.3, 0.3])
    np.testing.assert_array_equal(assembly.initial_q, [0.1, 0.2])
    np.testing.assert_array_equal(assembly.initial_v, [0.3, 0.4])
    np.testing.assert_array_equal(assembly.effort, [5.0, 6.0])
    np.testing.assert_array_equal(assembly.velocity_limit, [math.inf, math.inf])


@pytest.mark.parametrize("dtype", [None, jnp.float32])
def test_leaves_are_strong_and_of_one_precision(dtype):
    model = assemble(library.random_tree(jax.random.key(0), 9), dtype=dtype).model
    for leaf in jax.tree.leaves(model):
        assert leaf.dtype == (jnp.result_type(float) if dtype is None else dtype)
        assert not leaf.weak_type


def test_a_model_can_be_built_inside_a_trace():
    description = library.random_tree(jax.random.key(1), 9)

    @jax.jit
    def total(x):
        return x * assemble(description).model.mass.sum()

    assert total(1.0) == pytest.approx(sum(b.mass for b in description.bodies))


def test_silence_means_neutral_free_and_undamped():
    assembly = assemble(pair("floating"))
    np.testing.assert_array_equal(assembly.initial_q, [0, 1, 0, 0, 0, 0, 0, 0])
    assert not assembly.initial_v.any()
    assert not assembly.damping.any()
    assert np.isposinf(assembly.effort).all()
    assert np.isneginf(assembly.model.lower).all()
    assert np.isposinf(assembly.model.upper).all()


def test_bodies_are_sorted_parents_first_and_otherwise_as_described():
    names = ["d", "c", "b", "a", "e"]
    parents = {"d": "b", "c": "world", "b": "a", "a": "world", "e": "c"}
    model = assemble(
        Description(
            bodies=[body(name) for name in names],
            joints=[hinge(f"j{n}", parents[n], n) for n in reversed(names)],
        )
    ).model
    assert model.body_names == ("c", "a", "b", "d", "e")
    assert model.joint_names == ("jc", "ja", "jb", "jd", "je")
    assert model.topology.parents == (-1, -1, 1, 2, 0)
    assert model.frame_names == ("d", "c", "b", "a", "e")
    assert model.topology.frame_bodies == (3, 0, 2, 1, 4)


def test_axes_of_a_universal_joint_are_baked_into_its_placements():
    first, second = (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)
    child = Placement((1.0, 0.0, 0.0), (0.6, 0.0, 0.8, 0.0))
    model = assemble(
        pair("universal", axis=first, axis2=second, parent_frame=TURNED, child_frame=child)
    ).model
    R_PF = rotation_matrix(model.parent_quaternion[1])
    R_P = rotation_matrix(TURNED.quaternion)
    np.testing.assert_allclose(R_PF[:, 0], R_P @ first, atol=1e-15)
    np.testing.assert_allclose(R_PF[:, 1], R_P @ second, atol=1e-15)
    R_BM = rotation_matrix(model.child_quaternion[1])
    neutral = R_P @ rotation_matrix(child.quaternion).T
    np.testing.assert_allclose(R_PF @ R_BM.T, neutral, atol=1e-15)
    np.testing.assert_allclose(model.parent_position[1], TURNED.position)
    np.testing.assert_allclose(model.axis[1], (0.0, 0.0, 1.0))


# --- mimic joints ---


def mimics(**leaders):
    """Three hinges in a row that follow each other as told."""
    names = ("a", "b", "c")
    carriers = ("world", "a", "b")
    return Description(
        bodies=[body(name) for name in names],
        joints=[
            hinge(f"j{name}", carrier, name, axis=(0.0, 1.0, 0.0), mimic=leaders.get(name))
            for name, carrier in zip(names, carriers, strict=True)
        ],
    )


def test_chains_of_followers_are_resolved_to_the_free_leader():
    description = mimics(
        a=MimicDescription("jb", 2.0, 0.5),
        b=MimicDescription("jc", -3.0, 0.25),
    )
    description.joints[2].position = 0.1
    description.joints[2].lower = -1.0
    description.joints[0].damping = 0.7
    assembly = assemble(description)
    model = assembly.model
    assert model.topology.followers == ((0, 2), (1, 2))
    # q_a = 2 q_b + 0.5 and q_b = -3 q_c + 0.25
    np.testing.assert_allclose(model.ratio, [-6.0, -3.0])
    np.testing.assert_allclose(model.offset, [1.0, 0.25])
    assert (model.nq, model.nv, model.armature.shape) == (1, 1, (3,))
    assert model.lower.tolist() == [-1.0]
    assert assembly.initial_q.tolist() == [0.1]
    assert assembly.damping.tolist() == [0.7, 0.0, 0.0]


def test_a_follower_may_repeat_what_its_leader_implies_and_nothing_else():
    description = mimics(b=MimicDescription("ja", 2.0, 0.5))
    description.joints[0].position = 0.25
    description.joints[1].position = 1.0
    assemble(description)
    description.joints[1].position = 0.9
    with pytest.raises(ValueError, match=r"`jb` has initial position=0\.9, but it follows `ja`"):
        assemble(description)


def test_a_mimic_on_a_fixed_joint_is_noted():
    description = pair("fixed", mimic=MimicDescription("ja"))
    assert assemble(description).notes == ("A mimic on a fixed joint has no effect: jb.",)


# --- roots ---


def test_a_root_joint_is_added_to_the_one_free_body():
    free = Description(bodies=[body("a"), body("b")], joints=[hinge("j", "a", "b")])
    floating = assemble(with_root(free, "floating")).model
    assert floating.joint_names == ("root", "j")
    assert (floating.nq, floating.nv) == (8, 7)
    fixed = assemble(with_root(free, "fixed")).model
    assert (fixed.body_names, fixed.topology.frame_bodies) == (("b",), (-1, 0))
    assert len(free.joints) == 1


def test_an_attached_description_needs_no_fixed_root_and_takes_no_floating_one():
    assert with_root(pair(), "fixed") == pair()
    with pytest.raises(ValueError, match="attached to the ground by `ja`"):
        with_root(pair(), "floating")


@pytest.mark.parametrize(
    ("description", "root", "expected"),
    [
        (pair(), "floatin", "root is `floatin`; did you mean `floating`"),
        (Description(bodies=[body("a"), body("b")]), "fixed", "2 bodies are carried by no joint"),
        (
            Description(bodies=[body("a"), body("b")], joints=[hinge("root", "a", "b")]),
            "fixed",
            "would be called `root`",
        ),
    ],
)
def test_a_root_that_cannot_be_added_is_refused(description, root, expected):
    with pytest.raises(ValueError, match=expected):
        with_root(description, root)

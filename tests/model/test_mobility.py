"""Joints that cannot be accelerated are found, and others are left alone."""

import math

import jax
import numpy as np
import pytest

from linkax.joints import JOINTS
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
    transform_point,
)


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


# --- massless bodies ---


def massless(name):
    return BodyDescription(name)


def test_a_massless_tip_is_an_error_or_welded():
    description = pair()
    description.bodies[1] = massless("b")
    with pytest.raises(ValueError, match="Joint `jb` moves no inertia"):
        assemble(description)
    welded = assemble(description, massless="weld")
    assert welded.model.body_names == ("a",)
    assert welded.model.frame_names == ("a", "b")
    assert welded.notes == (
        "Joints that move no inertia are welded at their neutral position: `jb`.",
    )


def test_a_massless_link_that_carries_mass_moves():
    description = pair(axis=(1.0, 0.0, 0.0))
    description.bodies[0] = massless("a")
    assert assemble(description).model.nv == 2


def test_armature_alone_is_inertia():
    description = pair(armature=0.1)
    description.bodies[1] = massless("b")
    assert assemble(description).model.nv == 2


def test_a_point_mass_on_the_axis_is_no_inertia():
    """However the axis lies: round-off must not look like inertia."""
    point = BodyDescription("b", 1.0, (0.0, 0.0, 0.7))
    frame = Placement((0.3, 0.2, 0.1), fixed_axis_quaternion((0.4, -0.2, 0.7)))
    description = pair(parent_frame=TURNED, child_frame=frame)
    x, y, z = transform_point(frame, (0.0, 0.0, 0.7))
    description.bodies[1] = BodyDescription("b", 1.0, (x, y, z))
    with pytest.raises(ValueError, match="`jb` moves no inertia"):
        assemble(description)
    description.bodies[1] = BodyDescription("b", 1.0, (x + 1e-6, y, z))
    assert assemble(description).model.nv == 2
    sliding = pair("prismatic", axis=(0.0, 0.0, 1.0))
    sliding.bodies[1] = point
    assert assemble(sliding).model.nv == 2


def test_a_slender_rod_about_its_own_axis_is_no_inertia():
    axis = np.array([0.6, 0.0, 0.8])
    inertia = (np.eye(3) - np.outer(axis, axis)).tolist()
    rod = body("b", 1.0, (0.0, 0.0, 0.0), tuple(tuple(row) for row in inertia))
    description = pair(axis=(0.6, 0.0, 0.8))
    description.bodies[1] = rod
    with pytest.raises(ValueError, match="`jb` moves no inertia"):
        assemble(description)


def test_a_mechanism_singular_only_at_neutral_is_accepted():
    """A point mass hanging below two crossed hinges lies on the first axis, until it swings."""
    description = pair(axis=(1.0, 0.0, 0.0))
    description.bodies = [massless("a"), BodyDescription("b", 1.0, (0.0, 0.0, -1.0))]
    assert assemble(description).model.nv == 2


def test_a_freedom_without_inertia_of_its_own_is_an_error_in_every_policy():
    coaxial = pair()
    coaxial.bodies[0] = massless("a")
    ball = pair("spherical")
    ball.bodies[1] = BodyDescription("b", 1.0, (0.0, 0.0, -1.0))
    for description, name in ((coaxial, "ja"), (ball, "jb")):
        for policy in ("error", "weld"):
            with pytest.raises(ValueError, match=f"`{name}` makes the mass matrix singular"):
                assemble(description, massless=policy)


def fingers(mass):
    """A massless leader and two followers, the second of which may have mass."""
    description = mimics(b=MimicDescription("ja", 2.0), c=MimicDescription("ja", 1.0, 0.5))
    description.joints[1].parent = description.joints[2].parent = "world"
    for i in (0, 1):
        description.bodies[i] = massless("abc"[i])
    description.bodies[2].mass = mass
    description.bodies[2].inertia = diagonal(mass, mass, mass)
    return description


def test_a_mimic_group_lives_on_the_inertia_of_any_member():
    model = assemble(fingers(1.0)).model
    assert (model.nb, model.nv) == (3, 1)


def test_a_dead_mimic_group_is_welded_where_its_offsets_put_it():
    with pytest.raises(ValueError, match=r"`ja` moves no inertia \(nor do `jb`, `jc`\)"):
        assemble(fingers(0.0))
    description = fingers(0.0)
    description.bodies.append(massless("d"))
    description.joints.append(hinge("jd", "c", "d", "fixed"))
    model = assemble(description, massless="weld").model
    assert (model.nb, model.nv, model.nq) == (0, 0, 0)
    assert model.frame_names == ("a", "b", "c", "d")
    half = 0.5 / 2.0
    expected = (math.cos(half), 0.0, math.sin(half), 0.0)
    np.testing.assert_allclose(model.frame_quaternion[2], expected, atol=1e-15)
    np.testing.assert_allclose(model.frame_quaternion[3], expected, atol=1e-15)
    np.testing.assert_allclose(model.frame_quaternion[0], (1.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize("kind", [name for name in JOINTS if JOINTS[name].nv])
def test_no_joint_type_is_dead_or_singular_on_a_solid_body(kind):
    model = assemble(library.random_tree(jax.random.key(5), 3, joints=(kind,))).model
    assert model.nv == 3 * JOINTS[kind].nv

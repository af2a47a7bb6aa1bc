"""Drives become rotors and couplings; a fault in one is a sentence that names it."""

import copy
import dataclasses
import math

import numpy as np
import pytest

from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    CouplingDescription,
    Description,
    DifferentialDescription,
    FrameDescription,
    GearDescription,
    JointDescription,
    MimicDescription,
    Placement,
    RotorDescription,
)
from linkax.model.drives import expand_drives, made_by
from linkax.model.library import diagonal
from linkax.model.placement import fixed_axis_quaternion, rotation_matrix


UNIT = diagonal(1.0, 1.0, 1.0)
F = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, -0.2, 0.7)))
AT = Placement((1.0, 2.0, 3.0), fixed_axis_quaternion((-0.3, 0.5, 0.1)))
GEAR = GearDescription("g", "jb", 50.0, 0.01)
DIFFERENTIAL = DifferentialDescription(
    "g",
    ("jb", "jc"),
    (RotorDescription(0.1, 2.0), RotorDescription(0.2, damping=0.5)),
    ((1.0, 2.0), (0.0, -3.0)),
)


def machine(*drives) -> Description:
    """Hinge, hinge, slide, ball and a hinge that follows the first."""
    names = ("a", "b", "c", "d", "e")
    kinds = ("revolute", "revolute", "prismatic", "spherical", "revolute")
    carriers = ("world", *names)
    joints = [
        JointDescription(f"j{name}", kind, carrier, name, F)
        for name, kind, carrier in zip(names, kinds, carriers, strict=False)
    ]
    joints[1].axis, joints[1].position, joints[1].speed = (0.0, 3.0, 4.0), 0.2, (0.3,)
    joints[2].position = -0.1
    joints[4].mimic = MimicDescription("ja")
    bodies = [BodyDescription(name, 1.0, inertia=UNIT) for name in names]
    return Description(bodies=bodies, joints=joints, drives=list(drives))


def changed(drive, **values) -> Description:
    """Assignment is never checked, building is."""
    drive = copy.deepcopy(drive)
    for key, value in values.items():
        setattr(drive, key, value)
    return machine(drive)


def moments(body, axis):
    """(about the axis, across it, what the two leave of the inertia)."""
    n = np.asarray(axis)
    inertia = np.asarray(body.inertia)
    axial = n @ inertia @ n
    across = 0.5 * (np.trace(inertia) - axial)
    rest = inertia - across * np.eye(3) - (axial - across) * np.outer(n, n)
    return axial, across, np.abs(rest).max()


# --- what they become ---


def test_a_gear_is_a_rotor_on_the_parent_of_its_joint():
    before = machine(GEAR)
    found = expand_drives(before)
    assert before == machine(GEAR)
    assert found.drives == []
    assert (found.bodies[:-1], found.joints[:-1]) == (before.bodies, before.joints)
    body, joint = found.bodies[-1], found.joints[-1]
    assert (body.name, body.mass, body.com) == ("g_rotor", 0.0, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(moments(body, (0.0, 0.6, 0.8)), (0.01, 0.005, 0.0), atol=1e-17)
    assert joint == JointDescription(
        *("g_rotor", "revolute", "a", "g_rotor", F),
        axis=(0.0, 0.6, 0.8),
        damping=0.0,
        position=50.0 * 0.2,
        speed=50.0 * 0.3,
    )
    assert found.loops == [CouplingDescription("g", ("jb", "g_rotor"), (50.0, -1.0))]
    assert made_by(GEAR) == (("g_rotor", "g"),)


def test_a_rotor_may_sit_elsewhere():
    options = (2.0, 0.03, "world", AT, (1.0, 0.0, 0.0), 0.4)
    found = expand_drives(machine(GearDescription("g", "ja", -2.0, 0.01, *options)))
    body, joint = found.bodies[-1], found.joints[-1]
    np.testing.assert_allclose(moments(body, (1.0, 0.0, 0.0)), (0.01, 0.03, 0.0), atol=1e-17)
    assert (body.mass, joint.parent, joint.parent_frame.position) == (2.0, "world", AT.position)
    np.testing.assert_allclose(joint.parent_frame.quaternion, AT.quaternion, atol=1e-15)
    assert (joint.axis, joint.damping) == ((1.0, 0.0, 0.0), 0.4)
    assert (joint.position, joint.speed) == (None, None)


def test_a_rotor_in_another_frame_keeps_the_direction_of_the_axis():
    moved = dataclasses.replace(GEAR, carrier_frame=AT)
    joint = expand_drives(machine(moved)).joints[-1]
    there = rotation_matrix(AT.quaternion) @ joint.axis
    here = rotation_matrix(F.quaternion) @ (0.0, 0.6, 0.8)
    np.testing.assert_allclose(there, here, atol=1e-15)
    assert np.abs(np.subtract(joint.axis, (0.0, 0.6, 0.8))).max() > 0.1


def test_a_differential_is_a_rotor_and_a_coupling_a_row():
    found = expand_drives(machine(DIFFERENTIAL))
    first, second = found.joints[-2:]
    assert [body.name for body in found.bodies[-2:]] == ["g_rotor_0", "g_rotor_1"]
    assert made_by(DIFFERENTIAL) == (("g_rotor_0", "g_0"), ("g_rotor_1", "g_1"))
    assert [body.mass for body in found.bodies[-2:]] == [2.0, 0.0]
    assert (first.parent, first.axis, first.damping) == ("a", (0.0, 0.6, 0.8), 0.0)
    assert (second.parent, second.axis, second.damping) == ("b", (0.0, 0.0, 1.0), 0.5)
    assert first.position == pytest.approx(0.2 - 0.2, abs=1e-15)
    assert second.position == pytest.approx(0.3)
    assert (first.speed, second.speed) == (pytest.approx(0.3), None)
    assert found.loops == [
        CouplingDescription("g_0", ("jb", "jc", "g_rotor_0"), (1.0, 2.0, -1.0)),
        CouplingDescription("g_1", ("jc", "g_rotor_1"), (-3.0, -1.0)),
    ]


def test_an_assembly_has_the_rotors_and_the_couplings():
    found = assemble(machine(GEAR))
    assert found.model.body_names == ("a", "b", "c", "d", "e", "g_rotor")
    assert found.model.nv == 1 + 1 + 1 + 3 + 1
    assert [loop.name for loop in found.loops] == ["g"]
    coordinate = found.model.coordinate_names.index("g_rotor")
    assert found.initial_q[coordinate] == 10.0
    assert found.initial_v[found.model.speed_names.index("g_rotor")] == 15.0
    assert found.notes == ()


def test_nothing_is_expanded_where_there_is_no_drive():
    description = machine()
    assert expand_drives(description) is description


# --- faults ---


def clash(**tables):
    description = machine(GEAR)
    for key, item in tables.items():
        getattr(description, key).append(item)
    return description


FAULTS = {
    "nameless": (changed(GEAR, name=""), "One of the drives is called ''; a name is a non-empty"),
    "drives alike": (machine(GEAR, GEAR), "Two drives are called `g`; names must be unique"),
    "body of that name": (
        clash(bodies=BodyDescription("g_rotor")),
        "Drive `g` makes a body `g_rotor`, but that name is taken; rename the drive or the other",
    ),
    "frame of that name": (
        clash(frames=FrameDescription("g_rotor", "a")),
        "Drive `g` makes a body `g_rotor`, but that name is taken",
    ),
    "joint of that name": (
        clash(joints=JointDescription("g_rotor", "fixed", "a", "x")),
        "Drive `g` makes a joint `g_rotor`, but that name is taken",
    ),
    "loop of that name": (
        clash(loops=CouplingDescription("g", ("ja", "jb"), (1.0, 2.0))),
        "Drive `g` makes a loop `g`, but that name is taken",
    ),
    "drive named like a joint": (
        changed(GEAR, name="ja"),
        "Drive `ja` makes a loop `ja`, but that",
    ),
    "no joint": (
        changed(GEAR, joint="jx"),
        "Drive `g` has joint `jx`, which is no joint; valid are `ja`, `jb`, `jc`.",
    ),
    "ball": (
        changed(GEAR, joint="jd"),
        "Drive `g` has joint `jd` of type `spherical`, which has 3 freedoms; it drives joints of one",
    ),
    "follower": (
        changed(GEAR, joint="je"),
        "Drive `g` has joint `je`, which follows `ja`; drive the joint that leads",
    ),
    "ratio": (changed(GEAR, ratio=0.0), "Drive `g` has ratio=0, by which nothing turns the rotor"),
    "infinite ratio": (changed(GEAR, ratio=math.inf), "Drive `g` has ratio=inf, but it must be"),
    "no inertia": (
        changed(GEAR, rotor_inertia=0.0),
        "Drive `g` has rotor inertia=0, but it is above zero",
    ),
    "rotor mass": (
        changed(GEAR, rotor_mass=-1.0),
        "Drive `g` has rotor mass=-1, but it may not be",
    ),
    "damping": (
        changed(GEAR, damping=-1.0),
        "Drive `g` has damping=-1, but it may not be negative",
    ),
    "too thin": (
        changed(GEAR, transverse_inertia=0.004),
        "Drive `g` has transverse inertia=0.004, below half of that about the axis (0.01)",
    ),
    "carrier": (
        changed(GEAR, carrier="worl"),
        "Drive `g` has carrier `worl`, which is no body; did you mean `world`",
    ),
    "carrier without frame": (
        changed(GEAR, carrier="world", axis=(0.0, 0.0, 1.0)),
        "Drive `g` has carrier `world`, which is not the parent of joint `jb`; give the rotor's frame",
    ),
    "carrier without axis": (
        changed(GEAR, carrier="world", carrier_frame=F),
        "give the rotor's frame on it and its axis",
    ),
    "axis": (changed(GEAR, axis=(0.0, 0.0, 0.0)), "Drive `g` has a zero axis; give it a direction"),
    "frame": (
        changed(GEAR, carrier_frame=Placement(quaternion=(1.0, 1.0, 0.0, 0.0))),
        "Drive `g` has a frame whose quaternion (w, x, y, z) has length 1.41421356",
    ),
    "one joint": (
        changed(DIFFERENTIAL, joints=("jb",)),
        "Drive `g` has joints=['jb'], but a differential has two or more, each once",
    ),
    "joint twice": (changed(DIFFERENTIAL, joints=("jb", "jb")), "has two or more, each once"),
    "one rotor": (
        changed(DIFFERENTIAL, rotors=(RotorDescription(1.0),)),
        "Drive `g` has 1 rotors for 2 joints; give one a joint",
    ),
    "short matrix": (
        changed(DIFFERENTIAL, matrix=((1.0, 1.0),)),
        "Drive `g` has matrix=[[1.0, 1.0]], but it is 2x2 numbers: a row a rotor, a column a joint",
    ),
    "narrow matrix": (changed(DIFFERENTIAL, matrix=((1.0,), (1.0,))), "but it is 2x2 numbers"),
    "zero row": (
        changed(DIFFERENTIAL, matrix=((1.0, 1.0), (0.0, 0.0))),
        "Drive `g` has a matrix whose row 1 is zero, so that nothing turns rotor 1",
    ),
    "entry": (
        changed(DIFFERENTIAL, matrix=((1.0, math.nan), (0.0, 1.0))),
        "Drive `g` has an entry of matrix=nan, but it must be finite",
    ),
    "fault of the joint itself": (
        clash(joints=JointDescription("jx", "revolut", "a", "x")),
        "Joint `jx` has type `revolut`, which is no joint type",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    description, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        assemble(description)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)

"""A fault in a loop that is no joint is one sentence that names it; what it leaves open is filled in."""

import dataclasses
import math

import numpy as np
import pytest

from linkax.joints import JOINTS
from linkax.model.axial import axial_coordinates
from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    CouplingDescription,
    Description,
    DistanceDescription,
    ExpressionDescription,
    JointDescription,
    MimicDescription,
    MotionDescription,
    Placement,
    TorsionalDamperDescription,
    VelocityDescription,
)
from linkax.model.library import diagonal
from linkax.model.placement import compose, fixed_axis_quaternion, transform_point, turn


UNIT = diagonal(1.0, 1.0, 1.0)
TURNED = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, -0.2, 0.7)))
# Body, and type of the joint that carries it on the one before.
CHAIN = {
    "a": "revolute",
    "b": "spherical",
    "c": "revolute",
    "d": "cylindrical",
    "e": "prismatic",
    "f": "universal",
    "g": "planar",
    "h": "helical",
}
START = {
    "a": (0.3,),
    "b": turn((0.6, 0.0, 0.8), 0.7),
    "d": (0.5, -0.2),
    "e": (0.4,),
    "f": (0.2, -0.3),
    "g": (0.4, 0.1, -0.2),
    "h": (0.6,),
}


def machine(*loops, **tables) -> Description:
    """A chain of joints of many types, of which `jc` follows the first."""
    carriers = ["world", *CHAIN]
    joints = [
        JointDescription(f"j{name}", kind, carrier, name, TURNED, position=START.get(name))
        for carrier, (name, kind) in zip(carriers, CHAIN.items(), strict=False)
    ]
    joints[2].mimic = MimicDescription("ja", 2.0, 0.1)
    joints[-1].pitch = 0.1
    bodies = [BodyDescription(name, 1.0, inertia=UNIT) for name in CHAIN]
    return Description(bodies=bodies, joints=joints, loops=list(loops), **tables)


ROD = DistanceDescription("l", "a", "c", point_b=(1.0, 0.0, 0.0), length=1.0)
GEAR = CouplingDescription("l", ("ja", "je"), (2.0, -1.0))
WHEEL = VelocityDescription("l", "world", "a", ("vx", "wz"))


def changed(loop, **values) -> Description:
    """Assignment is never checked, building is."""
    loop = dataclasses.replace(loop)
    for key, value in values.items():
        setattr(loop, key, value)
    return machine(loop)


FAULTS = {
    "rod to no body": (
        changed(ROD, body_b="aa"),
        "Loop `l` has body_b `aa`, which is no body; did",
    ),
    "rod from no body": (changed(ROD, body_a="x"), "Loop `l` has body_a `x`, which is no body"),
    "rod on one body": (changed(ROD, body_b="a"), "Loop `l` has both its ends on `a`"),
    "rod without length": (changed(ROD, length=0.0), "Loop `l` has length=0, but it is above zero"),
    "negative rod": (changed(ROD, length=-1.0), "Loop `l` has length=-1, but it is above zero"),
    "endless rod": (changed(ROD, length=math.inf), "length=inf, but it must be finite"),
    "flat point": (changed(ROD, point_a=(1.0, 2.0)), "point_a=(1.0, 2.0), but it is 3 numbers"),
    "point of a rod": (changed(ROD, point_b=(0.0, math.nan, 0.0)), "it must be finite"),
    "points that coincide": (
        changed(ROD, body_b="world", point_b=TURNED.position),
        "Loop `l` has points that coincide at the initial coordinates, where their distance has no",
    ),
    "rod like a joint": (changed(ROD, name="ja"), "Two joints (each loop is one) are called `ja`"),
    "coupling of one": (
        changed(GEAR, joints=("ja",), coefficients=(1.0,)),
        "Loop `l` couples 1 coordinates; name at least two",
    ),
    "coupling with itself": (
        changed(GEAR, joints=("ja", "ja")),
        "Loop `l` couples `ja` with itself; name each coordinate once",
    ),
    "coupling of a string": (changed(GEAR, joints="ja"), "joints='ja', but it is a list of names"),
    "three coefficients": (
        changed(GEAR, coefficients=(1.0, 2.0, 3.0)),
        "Loop `l` has coefficients=(1.0, 2.0, 3.0), but it takes 2, one for each of its joints",
    ),
    "zero coefficient": (
        changed(GEAR, coefficients=(1.0, 0.0)),
        "Loop `l` has coefficient 0 for `je`, which couples nothing",
    ),
    "infinite coefficient": (
        changed(GEAR, coefficients=(math.inf, 1.0)),
        "Loop `l` has a coefficient=inf, but it must be finite",
    ),
    "infinite offset": (changed(GEAR, offset=math.nan), "Loop `l` has offset=nan, but it must be"),
    "coupling of no joint": (
        changed(GEAR, joints=("ja", "jd_slid")),
        "Loop `l` couples `jd_slid`, which is no joint or coordinate of one; did you mean `jd_slide`",
    ),
    "coupling of a follower": (
        changed(GEAR, joints=("je", "jc")),
        "Loop `l` couples joint `jc`, which follows `ja`; couple the joint that leads",
    ),
    "coupling of two freedoms": (
        changed(GEAR, joints=("ja", "jd")),
        "Loop `l` couples joint `jd`, which has 2 coordinates; name `jd_angle` or `jd_slide`",
    ),
    "coupling of a ball": (
        changed(GEAR, joints=("ja", "jb")),
        "Loop `l` couples joint `jb` of type `spherical`, but only angles about and slides along one",
    ),
    "coupling of crossed axes": (
        changed(GEAR, joints=("ja", "jf")),
        "joint `jf` of type `universal`, but only angles",
    ),
    "coupling of a plane": (
        changed(GEAR, joints=("ja", "jg")),
        "joint `jg` of type `planar`, but only angles",
    ),
    "wheel on no body": (changed(WHEEL, child="x"), "Loop `l` has child `x`, which is no body"),
    "wheel from no body": (changed(WHEEL, parent="x"), "Loop `l` has parent `x`, which is no body"),
    "wheel on itself": (changed(WHEEL, child="world"), "Loop `l` has both its ends on `world`"),
    "nothing locked": (
        changed(WHEEL, locked=()),
        "Loop `l` locks nothing; name some of wx, wy, wz",
    ),
    "unknown component": (
        changed(WHEEL, locked=("vx", "vw")),
        "Loop `l` locks `vw`, which is no component of a velocity; valid are `wx`, `wy`",
    ),
    "locked twice": (
        changed(WHEEL, locked=("vx", "vx")),
        "Loop `l` locks `vx` twice; name it once",
    ),
    "locked in one string": (changed(WHEEL, locked="vx"), "locked='vx', but it is a list of names"),
    "long quaternion": (
        changed(WHEEL, child_frame=Placement(quaternion=(1.0, 0.0, 0.0, 1.0))),
        "a child_frame whose quaternion (w, x, y, z) has length 1.41421356",
    ),
    "damper on a rod": (
        machine(ROD, elements=[TorsionalDamperDescription("e", "l", 1.0)]),
        "Element `e` has joint `l` of type `distance`, but it acts on a `revolute` one",
    ),
    "motion of a coupling": (
        machine(GEAR, motions=[MotionDescription("m", ExpressionDescription(), joint="l")]),
        "Motion `m` has joint `l`, which is a loop",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    description, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        assemble(description)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_become_floats_and_names_tuples():
    def found(loop, **values):
        return assemble(changed(loop, **values)).loops[0]

    rod = found(ROD, point_a=[1, 0, 0], length=2)
    assert repr((rod.point_a, rod.length)) == "((1.0, 0.0, 0.0), 2.0)"
    names = ["ja", "jd_angle", "jd_slide"]
    gear = found(GEAR, joints=names, coefficients=[1, 2, 3], offset=1)
    assert repr((gear.joints, gear.coefficients, gear.offset)) == repr(
        (tuple(names), (1.0, 2.0, 3.0), 1.0)
    )
    assert found(WHEEL, locked=["vx"]).locked == ("vx",)


def test_a_missing_offset_is_what_the_initial_coordinates_meet():
    names = ("ja", "jd_angle", "jd_slide", "jh")
    loop = CouplingDescription("l", names, (1.0, 2.0, 3.0, -5.0), None)
    (found,) = assemble(machine(loop)).loops
    assert found.offset == pytest.approx(-(0.3 + 2.0 * 0.5 + 3.0 * -0.2 - 5.0 * 0.6), abs=1e-15)


def test_a_missing_length_is_the_initial_distance():
    """Against the product of the joints written out, joints of every type being passed on the way."""
    p, q = (0.1, 0.2, 0.3), (-0.4, 0.5, 0.1)
    (found,) = assemble(machine(DistanceDescription("l", "world", "h", p, q))).loops
    z = (0.0, 0.0, 1.0)
    s = START
    joints = [
        Placement(quaternion=turn(z, s["a"][0])),
        Placement(quaternion=s["b"]),
        Placement(quaternion=turn(z, 2.0 * s["a"][0] + 0.1)),
        Placement((0.0, 0.0, s["d"][1]), turn(z, s["d"][0])),
        Placement((0.0, 0.0, s["e"][0])),
        compose(
            Placement(quaternion=turn((1.0, 0.0, 0.0), s["f"][0])),
            Placement(quaternion=turn((0.0, 1.0, 0.0), s["f"][1])),
        ),
        Placement((s["g"][1], s["g"][2], 0.0), turn(z, s["g"][0])),
        Placement((0.0, 0.0, 0.1 * s["h"][0]), turn(z, s["h"][0])),
    ]
    place = Placement()
    for joint in joints:
        place = compose(compose(place, TURNED), joint)
    expected = np.linalg.norm(np.subtract(transform_point(place, q), p))
    assert found.length == pytest.approx(expected, rel=1e-14)


def test_an_axis_off_z_is_turned_before_distances_are_measured():
    description = machine(DistanceDescription("l", "world", "a", point_b=(0.0, 0.0, 2.0)))
    description.joints[0].parent_frame = Placement((1.0, 0.0, 0.0))
    description.joints[0].axis = (0.0, 1.0, 0.0)
    (found,) = assemble(description).loops
    tip = (1.0 + 2.0 * math.sin(0.3), 2.0 * math.cos(0.3))
    assert found.length == pytest.approx(math.hypot(*tip), rel=1e-14)


def test_a_joint_goes_before_the_coordinate_of_another():
    description = machine()
    kinds = [joint.type for joint in description.joints]
    found = axial_coordinates(["a_slide", "a"], [JOINTS["revolute"], JOINTS["cylindrical"]])
    assert found == {"a_slide": (0, 0, True), "a_angle": (1, 0, True)}
    names = axial_coordinates([j.name for j in description.joints], [JOINTS[k] for k in kinds])
    assert set(names) == {"ja", "jc", "jd_angle", "jd_slide", "je", "jh"}
    assert not names["je"].turns

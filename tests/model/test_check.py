"""A fault in a description is one sentence that names it."""

import math

import pytest

from linkax.io import parse_urdf
from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    MarkerDescription,
    MimicDescription,
    Placement,
)
from linkax.model.library import diagonal
from linkax.model.root import with_root


UNIT = diagonal(1.0, 1.0, 1.0)


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


# --- faults ---


def with_body(**values):
    """A hinge whose body has the given attributes; assignment is never checked, building is."""
    description = Description(bodies=[body("a")], joints=[hinge("ja", "world", "a")])
    for key, value in values.items():
        setattr(description.bodies[0], key, value)
    return description


def with_joint(kind="revolute", **values):
    description = pair(kind)
    for key, value in values.items():
        setattr(description.joints[1], key, value)
    return description


def joined(*joints, bodies="ab"):
    return Description(bodies=[body(name) for name in bodies], joints=list(joints))


def bad_frame(**values):
    frame = Placement()
    for key, value in values.items():
        setattr(frame, key, value)
    return frame


A, B = hinge("ja", "world", "a"), hinge("jb", "a", "b")
FAULTS = {
    "no body": (Description(), "has no body"),
    "bodies alike": (joined(A, bodies="aa"), "Two bodies are called `a`"),
    "joints alike": (joined(A, hinge("ja", "a", "b")), "Two joints are called `ja`"),
    "nameless": (with_body(name=""), "One of the bodies is called ''"),
    "frame like a body": (
        Description(bodies=[body("a")], joints=[A], frames=[FrameDescription("a", "a")]),
        "Two frames (each body is one) are called `a`",
    ),
    "markers alike": (
        Description(bodies=[body("a")], joints=[A], markers=[MarkerDescription("m", "a")] * 2),
        "Two markers are called `m`",
    ),
    "the ground as a body": (with_body(name="world"), 'A body is called "world"'),
    "unknown parent": (
        joined(A, hinge("jb", "worl", "b")),
        "Joint `jb` has parent `worl`, which is no body; did you mean `world`?",
    ),
    "unknown child": (
        joined(A, hinge("jb", "a", "x")),
        "child `x`, which is no body; valid are `a`",
    ),
    "unknown frame body": (
        Description(bodies=[body("a")], joints=[A], frames=[FrameDescription("f", "x")]),
        "Frame `f` has body `x`, which is no body",
    ),
    "unknown marker body": (
        Description(bodies=[body("a")], joints=[A], markers=[MarkerDescription("m", "x")]),
        "Marker `m` has body `x`, which is no body",
    ),
    "two parents": (
        joined(A, B, hinge("jc", "world", "b")),
        "Body `b` is the child of both joint `jb` and joint `jc`, a loop in a tree; a joint that "
        "closes a loop belongs under [[loop]].",
    ),
    "cycle": (
        joined(A, B, hinge("jc", "d", "c"), hinge("jd", "c", "d"), bodies="abcd"),
        "Body `c` on `d` on `c` is a loop in a tree; a joint that closes a loop belongs under",
    ),
    "itself": (joined(A, hinge("jb", "b", "b")), "Body `b` on `b` is a loop"),
    "ground as child": (joined(A, B, hinge("jc", "b", "world")), 'child "world", the ground'),
    "unattached": (joined(B), "Nothing connects `a` to the ground; add a joint with parent"),
    "unknown type": (
        with_joint(type="revolut"),
        "Joint `jb` has type `revolut`, which is no joint type; did you mean `revolute`",
    ),
    "negative mass": (with_body(mass=-1.0), "Body `a` has mass=-1, but a mass is not negative."),
    "mass is a word": (with_body(mass="heavy"), "mass='heavy', but it consists of numbers"),
    "infinite mass": (with_body(mass=math.inf), "mass=inf, but it must be finite"),
    "mass is a list": (with_body(mass=[1.0]), "mass=[1.0], but it is a number"),
    "short com": (with_body(com=(1.0, 2.0)), "com=(1.0, 2.0), but it is 3 numbers"),
    "nan com": (with_body(com=(1.0, 2.0, math.nan)), "it must be finite"),
    "flat inertia": (with_body(inertia=(1.0, 1.0, 1.0)), "but it is 3x3 numbers"),
    "ragged inertia": (with_body(inertia=((1.0,), (1.0, 1.0), ())), "consists of numbers"),
    "asymmetric inertia": (
        with_body(inertia=((1.0, 0.1, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
        "which is not symmetric",
    ),
    "negative inertia": (
        with_body(inertia=diagonal(-0.1, 1.0, 1.0)),
        "an inertia with a negative principal moment (-0.1, 1, 1)",
    ),
    "triangle": (
        with_body(inertia=diagonal(1.0, 1.0, 2.1)),
        "a principal moment above the sum of the other two (1, 1, 2.1)",
    ),
    "zero axis": (with_joint(axis=(0.0, 0.0, 0.0)), "Joint `jb` has a zero axis"),
    "axis of a ball": (
        with_joint("spherical", axis=(0.0, 0.0, 1.0)),
        "a spherical joint takes none",
    ),
    "second axis": (with_joint(axis2=(0.0, 1.0, 0.0)), "only a universal joint has two axes"),
    "axes not perpendicular": (with_joint("universal", axis2=(0.1, 1.0, 0.0)), "are perpendicular"),
    "pitch": (with_joint(pitch=0.1), "only a helical joint has a pitch"),
    "long quaternion": (
        with_joint(parent_frame=bad_frame(quaternion=(1.0, 0.0, 0.0, 0.1))),
        "a parent_frame whose quaternion (w, x, y, z) has length 1.00498756",
    ),
    "three quaternion entries": (
        with_joint(child_frame=bad_frame(quaternion=(1.0, 0.0, 0.0))),
        "child_frame quaternion=(1.0, 0.0, 0.0), but it is 4 numbers",
    ),
    "too many": (with_joint(armature=(1.0, 2.0)), "a joint of this type takes one number or 1"),
    "negative armature": (with_joint(armature=-1.0), "armature=-1, but it may not be negative"),
    "negative damping": (with_joint(damping=-1.0), "damping=-1, but it may not be negative"),
    "infinite damping": (with_joint(damping=math.inf), "damping=inf, but it must be finite"),
    "nan limit": (with_joint(lower=math.nan), "lower=nan, but it must be finite"),
    "limits exchanged": (with_joint(lower=1.0, upper=-1.0), "lower=1 above upper=-1"),
    "position of a ball": (
        with_joint("spherical", position=(1.0, 0.0, 0.0, 1.0)),
        "an initial position whose quaternion (w, x, y, z) has length 1.41421356",
    ),
    "gravity": (with_body(), ""),
    "mimic of nothing": (
        mimics(b=MimicDescription("jaa")),
        "Joint `jb` mimics `jaa`, which is no joint; did you mean `ja`",
    ),
    "mimic of itself": (mimics(b=MimicDescription("jb")), "Joint `jb` mimics itself"),
    "mimic in a circle": (
        mimics(a=MimicDescription("jb"), b=MimicDescription("jc"), c=MimicDescription("jb")),
        "Joints `jb` -> `jc` -> `jb` mimic each other in a circle",
    ),
    "mimic by two freedoms": (
        with_joint("cylindrical", mimic=MimicDescription("ja")),
        "Joint `jb` takes part in the mimic, but its type `cylindrical` has 2 freedoms",
    ),
    "mimic of two freedoms": (
        joined(
            hinge("ja", "world", "a", "planar"), hinge("jb", "a", "b", mimic=MimicDescription("ja"))
        ),
        "Joint `ja` takes part in the mimic of joint `jb`, but its type `planar` has 3 freedoms",
    ),
    "mimic ratio": (with_joint(mimic=MimicDescription("ja", math.nan)), "mimic ratio=nan"),
}
FAULTS["gravity"][0].gravity = (0.0, 9.81)
FAULTS["gravity"] = (FAULTS["gravity"][0], "The description has gravity=(0.0, 9.81)")


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    description, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        assemble(description)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_policy_lists_the_known_ones():
    with pytest.raises(ValueError, match="massless is `wield`; did you mean `weld`"):
        assemble(pair(), massless="wield")


def test_improper_inertias_are_noted_where_they_are_allowed():
    description = with_body(inertia=diagonal(1.0, 1.0, 2.1))
    description.allow_improper_inertia = True
    (note,) = assemble(description).notes
    assert "above the sum of the other two" in note
    assert note.endswith(": a.")
    text = (
        '<robot name="r"><link name="a"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="2.1"/></inertial></link></robot>'
    )
    assert len(assemble(with_root(parse_urdf(text), "floating")).notes) == 1


def test_inertias_of_few_digits_pass():
    assemble(with_body(inertia=((1.0, 0.1, 0.0), (0.1000001, 1.0, 0.0), (0.0, 0.0, 2.000001))))

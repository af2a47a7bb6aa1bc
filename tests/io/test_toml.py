"""TOML: read strictly, written without loss."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from linkax.io import parse_toml, parse_urdf, read_toml, write_toml
from linkax.model import library
from linkax.model.description import (
    DRIVES,
    ELEMENTS,
    LOOPS,
    BodyDescription,
    CouplingDescription,
    Description,
    DifferentialDescription,
    DistanceDescription,
    DriveDescription,
    ElementDescription,
    ExpressionDescription,
    ForceDescription,
    FrameDescription,
    GearDescription,
    HarmonicDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    LoopDescription,
    MarkerDescription,
    MimicDescription,
    MotionDescription,
    Placement,
    RotorDescription,
    RunDescription,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
    VelocityDescription,
)
from linkax.model.placement import rotation_matrix


TEXT = """
name = "arm"
[run]
duration = 2
dt = 1e-3
integrator = "lie-midpoint"
formulation = "tree"
load_evaluation = "start"
save_every = 5
[world]
gravity = [0, -9.81, 0]
[[body]]
name = "link"
mass = 2
com = [0.5, 0, 0]
inertia = [0.1, 0.2, 0.3]
[[joint]]
name = "hinge"
type = "revolute"
parent = "world"
child = "link"
parent_frame = {position = [1, 2, 3], rpy = [0.3, -0.4, 0.5]}
child_frame = {quaternion = [0.5, 0.5, 0.5, 0.5]}
axis = [0, 1, 0]
armature = 0.01
damping = 0.1
limits = [-1, 2.5]
effort = 10
velocity = 3
position = 0.2
speed = -0.1
[[marker]]
name = "tip"
body = "link"
point = [1, 0, 0]
[[frame]]
name = "tool"
body = "link"
placement = {position = [1, 0, 0]}
[[loop]]
name = "closure"
type = "spherical"
parent = "link"
child = "world"
parent_frame = {position = [1, 0, 0]}
[[element]]
name = "push"
type = "force"
body = "link"
force = [0, 1, 0]
[[motion]]
name = "drive"
joint = "hinge"
expression = {ramp = 2}
"""


def test_every_table_is_read():
    found = parse_toml(TEXT)
    assert found.name == "arm"
    assert found.run == RunDescription(2.0, 1e-3, "lie-midpoint", "tree", 5, "start")
    assert found.gravity == (0.0, -9.81, 0.0)
    inertia = ((0.1, 0.0, 0.0), (0.0, 0.2, 0.0), (0.0, 0.0, 0.3))
    assert found.bodies == [BodyDescription("link", 2.0, (0.5, 0.0, 0.0), inertia)]
    (joint,) = found.joints
    assert (joint.axis, joint.armature, joint.damping) == ((0.0, 1.0, 0.0), 0.01, 0.1)
    assert (joint.lower, joint.upper, joint.effort, joint.velocity) == (-1.0, 2.5, 10.0, 3.0)
    assert (joint.position, joint.speed) == (0.2, -0.1)
    assert joint.child_frame == Placement(quaternion=(0.5, 0.5, 0.5, 0.5))
    assert found.markers == [MarkerDescription("tip", "link", (1.0, 0.0, 0.0))]
    assert found.frames == [FrameDescription("tool", "link", Placement((1.0, 0.0, 0.0)))]
    tip = Placement((1.0, 0.0, 0.0))
    assert found.loops == [JointDescription("closure", "spherical", "link", "world", tip)]
    assert found.elements == [ForceDescription("push", "link", (0.0, 1.0, 0.0))]
    assert found.motions == [
        MotionDescription("drive", ExpressionDescription(ramp=2.0), joint="hinge")
    ]


def test_rpy_turns_about_body_fixed_axes():
    frame = parse_toml(TEXT).joints[0].parent_frame
    x, y, z = 0.3, -0.4, 0.5
    cx, cy, cz = math.cos(x), math.cos(y), math.cos(z)
    sx, sy, sz = math.sin(x), math.sin(y), math.sin(z)
    Rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    Ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    Rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    np.testing.assert_allclose(rotation_matrix(frame.quaternion), Rx @ Ry @ Rz, atol=1e-15)
    assert frame.position == (1.0, 2.0, 3.0)


INERTIA = ((1.0, 0.1, 0.0), (0.1, 1.0, 0.0), (0.0, 0.0, 1.0))


def every_element() -> list[ElementDescription]:
    third = 1.0 / 3.0
    return [
        LinearSpringDescription("s", "a", "world", third, 0.5, point_b=(0.1, 0.0, third)),
        LinearDamperDescription("d", "world", "b", third, (1.0, 2.0, 3.0)),
        TorsionalSpringDescription("ts", "j", 2.0, third),
        TorsionalDamperDescription("td", "l", third),
        ForceDescription("f", "a", (third, 0.0, 1.0)),
        ForceDescription("f0", "a", (third, 0.0, 1.0), (0.0, 0.0, 0.0)),
        TorqueDescription("t", "b", (third, 0.0, -1.0)),
    ]


def test_every_kind_of_element_is_there():
    assert {type(element) for element in every_element()} == set(ELEMENTS.values())


def every_other_loop() -> list[LoopDescription]:
    third = 1.0 / 3.0
    frame = Placement((1.0, 2.0, third), (0.6, 0.8, 0.0, 0.0))
    return [
        DistanceDescription("d1", "a", "world", (third, 0.0, 1.0), (0.0, third, 0.0), third),
        DistanceDescription("d2", "a", "b"),
        CouplingDescription("c1", ("j_angle", "h"), (third, -1.0), third),
        CouplingDescription("c2", ("j_angle", "j_slide", "h"), (1.0, 2.0, third), None),
        VelocityDescription("v1", "world", "a", ("wx", "vz"), frame, frame),
        VelocityDescription("v2", "a", "b", ("vy",)),
    ]


def every_drive() -> list[DriveDescription]:
    third = 1.0 / 3.0
    frame = Placement((1.0, 2.0, third), (0.6, 0.8, 0.0, 0.0))
    options = (0.5, third, "b", frame, (0.0, 0.6, 0.8), 0.1)
    rotors = (RotorDescription(third), RotorDescription(third, *options))
    return [
        GearDescription("g1", "h", 50.5, third, *options),
        GearDescription("g2", "h", -third, 0.01),
        DifferentialDescription("g3", ("h", "k"), rotors, ((third, 1.0), (0.0, -third))),
    ]


def test_every_kind_of_loop_and_drive_is_there():
    assert {type(loop) for loop in every_other_loop()} == set(LOOPS.values())
    assert {type(drive) for drive in every_drive()} == set(DRIVES.values())


def everything() -> Description:
    third = 1.0 / 3.0
    return Description(
        name="all",
        bodies=[
            BodyDescription("a", third, (third, 0.1, -2e-300), INERTIA),
            BodyDescription("b"),
        ],
        joints=[
            JointDescription(
                *("j", "cylindrical", "world", "a"),
                parent_frame=Placement((0.1, 0.2, third)),
                child_frame=Placement(quaternion=(0.6, 0.8, 0.0, 0.0)),
                axis=(0.0, 0.6, 0.8),
                armature=(0.1, third),
                damping=0.5,
                lower=(-1.0, -math.inf),
                upper=(1.0, math.inf),
                effort=(1.0, 2.0),
                velocity=5.0,
                position=(0.1, 0.2),
                speed=(0.3, 0.4),
            ),
            JointDescription(
                *("u", "universal", "a", "b"),
                axis=(1.0, 0.0, 0.0),
                axis2=(0.0, 0.0, 1.0),
                upper=1.0,
            ),
            JointDescription(
                *("h", "helical", "b", "c"), pitch=0.1, mimic=MimicDescription("k", -third, 0.1)
            ),
        ],
        frames=[FrameDescription("f", "a", Placement((1.0, 2.0, 3.0)))],
        markers=[MarkerDescription("m", "b", (1.0, 2.0, third))],
        loops=[
            JointDescription(
                *("l", "helical", "b", "world"),
                parent_frame=Placement((1.0, 2.0, third), (0.6, 0.8, 0.0, 0.0)),
                axis=(0.0, 0.6, 0.8),
                pitch=third,
            ),
            JointDescription(
                *("l2", "universal", "world", "b"),
                child_frame=Placement((1.0, 2.0, third)),
                axis=(0.0, 1.0, 0.0),
                axis2=(0.0, 0.0, 1.0),
            ),
            *every_other_loop(),
        ],
        drives=every_drive(),
        elements=every_element(),
        motions=[
            MotionDescription("zero", ExpressionDescription(), joint="j"),
            MotionDescription(
                "all",
                ExpressionDescription(
                    *(third, -0.5),
                    sine=[HarmonicDescription(1.0, third), HarmonicDescription(2.0, 3.0, 0.1, 0.2)],
                    cosine=[HarmonicDescription(third, 2.0, -0.1, 0.0)],
                ),
                body="a",
            ),
        ],
        gravity=(0.0, 0.0, third),
        run=RunDescription(1.0, third, "runge-kutta4", "maximal", 2, "end"),
        notes=["a note", "another"],
        allow_improper_inertia=True,
    )


@pytest.mark.parametrize(
    "description",
    [
        Description(),
        everything(),
        library.double_pendulum(),
        library.random_tree(jax.random.key(3), 9),
    ],
    ids=lambda description: description.name,
)
def test_writing_and_reading_gives_the_same_description(description, tmp_path):
    path = tmp_path / "out.toml"
    text = write_toml(description, path)
    assert parse_toml(text) == description
    assert read_toml(path) == description


def test_a_urdf_robot_survives_the_round_trip():
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><origin rpy="0.1 0.2 0.3"/>'
        '<limit lower="-1" upper="1" effort="2" velocity="3"/></joint><gazebo/></robot>'
    )
    description = parse_urdf(text)
    assert parse_toml(write_toml(description)) == description


def test_arrays_are_written_as_lists():
    push = ForceDescription("push", "a", (0.0, 0.0, 0.0))
    push.force = np.array([1.0, 2.0, 3.0])
    (found,) = parse_toml(write_toml(Description(elements=[push]))).elements
    assert found == ForceDescription("push", "a", (1.0, 2.0, 3.0))


def test_every_field_of_a_description_reaches_the_file():
    """A field added to the description must be written, or the round trip loses it."""
    silent = Description()
    for field in dataclasses.fields(Description):
        assert getattr(everything(), field.name) != getattr(silent, field.name), field.name


BODY = '[[body]]\nname = "a"\n'
JOINT = BODY + '[[joint]]\nname = "j"\ntype = "revolute"\nparent = "world"\nchild = "a"\n'
FAULTS = {
    "malformed": ("name = ", "the TOML is malformed"),
    "unknown table": (
        "[[bodi]]\nname = 'a'",
        "the file has the unknown key `bodi`; did you mean `body`?",
    ),
    "unknown run key": ("[run]\ndurations = 1", "unknown key `durations`; did you mean `duration`"),
    "unknown world key": ("[world]\ngravitation = 1", "did you mean `gravity`?"),
    "unknown body key": (
        BODY + "mas = 1",
        "body `a` has the unknown key `mas`; did you mean `mass`?",
    ),
    "unknown joint key": (JOINT + "dampin = 1", "joint `j` has the unknown key `dampin`"),
    "unknown frame key": (JOINT + "parent_frame = {rotation = 1}", "unknown key `rotation`"),
    "unknown marker key": ("[[marker]]\nname = 'm'\nbodi = 'a'", "marker `m` has the unknown key"),
    "unknown mimic key": (JOINT + "mimic = {leader = 'k', ration = 2}", "did you mean `ratio`?"),
    "single table": ("[body]\nname = 'a'", "`body` is not a list of tables; write [[body]]"),
    "no name": ("[[body]]\nmass = 1", "[[body]] number 1 has no `name`"),
    "no type": ('[[joint]]\nname = "j"', "joint `j` has no `type`"),
    "name is a number": ("[[body]]\nname = 3", "has name=3, but it is a string"),
    "mass is a word": (BODY + 'mass = "heavy"', "body `a` has mass='heavy', but it is a number"),
    "mass is a truth value": (BODY + "mass = true", "has mass=True, but it is a number"),
    "short com": (BODY + "com = [1, 2]", "com=[1, 2], but it is 3 numbers"),
    "scalar inertia": (BODY + "inertia = 1", "3x3 array or its diagonal"),
    "ragged inertia": (BODY + "inertia = [[1, 0, 0], [0, 1], [0, 0, 1]]", "but it is 3 numbers"),
    "long quaternion": (
        JOINT + "parent_frame = {quaternion = [1, 0, 0, 0.01]}",
        "parent_frame of joint `j` has a quaternion (w, x, y, z) of length 1.00005",
    ),
    "two rotations": (
        JOINT + "child_frame = {quaternion = [1, 0, 0, 0], rpy = [0, 0, 0]}",
        "both `quaternion` and `rpy`",
    ),
    "frame is a list": (JOINT + "parent_frame = [0, 0, 1]", "it is a table of position"),
    "limits": (JOINT + "limits = 3", "limits=3, but limits are [lower, upper]"),
    "limits twice": (JOINT + "limits = [0, 1]\nlower = 0", "both `limits` and `lower` or `upper`"),
    "save_every": ("[run]\nsave_every = 1.5", "a whole number from 1 on"),
    "flag": ("allow_improper_inertia = 1", "is true or false"),
    "notes": ("notes = [1]", "a list of strings"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    text, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        parse_toml(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)

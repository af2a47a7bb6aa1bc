"""URDF: what the format says, and one clear sentence for what it does not."""

import math

import numpy as np
import pytest

from linkax.io import parse_urdf
from linkax.model.placement import rotation_matrix
from linkax.model.tree import unattached


def robot(*elements, links=("a", "b"), attributes='name="r"'):
    declared = "".join(f'<link name="{link}"/>' for link in links)
    return f"<robot {attributes}>{declared}{''.join(elements)}</robot>"


def joint(*inside, name="j", kind="revolute", parent="a", child="b"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{"".join(inside)}</joint>'


def link(*inside, name="a"):
    return f'<link name="{name}">{"".join(inside)}</link>'


INERTIA = '<inertia ixx="0.02" iyy="0.05" izz="0.06" ixy="0" ixz="0" iyz="0"/>'


def inertial(origin=""):
    return f'<inertial>{origin}<mass value="2"/>{INERTIA}</inertial>'


def only_joint(*inside, **options):
    return parse_urdf(robot(joint(*inside, **options))).joints[0]


# --- links ---


def test_inertial_rpy_turns_the_tensor_on_both_sides():  # O18
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/>'
    body = parse_urdf(robot(link(inertial(origin)), links=())).bodies[0]
    expected = [
        [0.0307407128, -0.0098990838, -0.0110692142],
        [-0.0098990838, 0.0460660386, -0.0090102232],
        [-0.0110692142, -0.0090102232, 0.0531932486],
    ]
    np.testing.assert_allclose(body.inertia, expected, atol=5e-11)
    assert body.com == (0.1, 0.2, 0.3)
    assert body.mass == 2.0


def test_inertial_without_rpy_is_about_the_centre_of_mass_and_exact():  # O19
    body = parse_urdf(robot(link(inertial('<origin xyz="0.3 0 0"/>')), links=())).bodies[0]
    assert body.com == (0.3, 0.0, 0.0)
    assert body.inertia == ((0.02, 0.0, 0.0), (0.0, 0.05, 0.0), (0.0, 0.0, 0.06))


def test_missing_inertial_is_zero_mass():  # O19
    body = parse_urdf(robot(links=("a",))).bodies[0]
    assert body.mass == 0.0
    assert not np.any(body.inertia)


def test_meshes_are_never_opened():  # O25
    mesh = '<geometry><mesh filename="{}"/></geometry>'
    paths = ("package://no/such.dae", "missing.stl", "file:///nowhere.obj", "")
    shapes = "".join(f"<visual>{mesh.format(p)}</visual>" for p in paths)
    description = parse_urdf(robot(link(shapes, inertial()), links=()))
    assert description.bodies[0].mass == 2.0
    assert [note for note in description.notes if "Shapes" in note]


# --- joints ---


def test_axis_defaults_to_x_and_is_normalised():  # O21
    assert only_joint().axis == (1.0, 0.0, 0.0)
    assert only_joint('<axis xyz="0 0 2"/>').axis == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_zero_axis_is_ignored_where_nothing_turns_about_it(kind):  # O21
    assert only_joint('<axis xyz="0 0 0"/>', kind=kind).axis is None


def test_origin_rpy_turns_about_fixed_axes():
    frame = only_joint('<origin xyz="1 2 3" rpy="0.3 -0.4 0.5"/>').parent_frame

    def turn(axis, angle):
        i, k = (axis + 1) % 3, (axis + 2) % 3
        R = np.eye(3)
        R[i, i] = R[k, k] = math.cos(angle)
        R[k, i] = math.sin(angle)
        R[i, k] = -math.sin(angle)
        return R

    expected = turn(2, 0.5) @ turn(1, -0.4) @ turn(0, 0.3)
    np.testing.assert_allclose(rotation_matrix(frame.quaternion), expected, atol=1e-15)
    assert frame.position == (1.0, 2.0, 3.0)


def test_origin_may_be_a_quaternion_in_xyzw_order():
    frame = only_joint('<origin xyz="0 0 1" quat_xyzw="0 0 0.70710678 0.70710678"/>').parent_frame
    np.testing.assert_allclose(frame.quaternion, (0.5**0.5, 0, 0, 0.5**0.5), atol=1e-15)


def test_continuous_joints_have_no_bounds():  # O22
    found = only_joint('<limit lower="-1" upper="1" effort="3" velocity="4"/>', kind="continuous")
    assert (found.type, found.lower, found.upper) == ("revolute", None, None)
    assert (found.effort, found.velocity) == (3.0, 4.0)


def test_bounds_are_read_and_missing_ones_are_not_zero():  # O22
    bounded = only_joint('<limit lower="-1" upper="2" effort="0" velocity="0"/>')
    assert (bounded.lower, bounded.upper, bounded.effort, bounded.velocity) == (-1, 2, 0, 0)
    for inside in ("", '<limit effort="3" velocity="4"/>'):
        description = parse_urdf(robot(joint(inside, kind="prismatic")))
        assert (description.joints[0].lower, description.joints[0].upper) == (None, None)
        assert any("unlimited: j." in note for note in description.notes)
    one_sided = only_joint('<limit upper="2"/>')
    assert (one_sided.lower, one_sided.upper) == (0.0, 2.0)


def test_planar_and_floating_keep_their_freedoms_and_placement():  # O23
    planar = only_joint('<origin xyz="1 2 3"/>', '<axis xyz="0 1 0"/>', kind="planar")
    assert (planar.type, planar.axis) == ("planar", (0.0, 1.0, 0.0))
    floating = only_joint('<origin xyz="1 2 3"/>', kind="floating")
    assert floating.type == "floating"
    assert floating.parent_frame.position == (1.0, 2.0, 3.0)


def test_damping_is_honoured_and_friction_noted():  # O26
    description = parse_urdf(robot(joint('<dynamics damping="0.12" friction="0.3"/>')))
    assert description.joints[0].damping == 0.12
    assert "Joint friction is not honoured: j." in description.notes


def test_mimic_is_read_and_dropped_where_it_means_nothing():
    three = ("a", "b", "c", "d")
    description = parse_urdf(
        robot(
            joint(name="j1"),
            joint('<mimic joint="j1" multiplier="-2" offset="0.1"/>', name="j2", child="c"),
            joint('<mimic joint="gone"/>', name="j3", child="d"),
            links=three,
        )
    )
    first, second, third = description.joints
    assert first.mimic is None
    assert second.mimic is not None
    assert (second.mimic.leader, second.mimic.ratio, second.mimic.offset) == ("j1", -2.0, 0.1)
    assert third.mimic is None
    assert any("does not exist" in note and "j3" in note for note in description.notes)
    fixed = parse_urdf(robot(joint('<mimic joint="j"/>', kind="fixed")))
    assert fixed.joints[0].mimic is None
    assert "<mimic> on a fixed joint has no effect: j." in fixed.notes


# --- the whole ---


def test_only_direct_children_of_robot_count():  # O44
    description = parse_urdf(
        robot(
            joint(name="j1"),
            '<transmission><joint name="j1"/><joint name="j9"/></transmission>',
            '<gazebo reference="a"><link name="ghost"/></gazebo>',
        )
    )
    assert [j.name for j in description.joints] == ["j1"]
    assert [b.name for b in description.bodies] == ["a", "b"]


def test_notes_have_one_sentence_a_kind():
    parts = ['<transmission name="t1"/>', '<transmission name="t2"/>', "<gazebo/>"]
    inside = '<dynamics friction="1"/><safety_controller/>'
    description = parse_urdf(robot(*parts, joint(inside)))
    assert description.notes == [
        "<transmission> is not honoured: t1, t2.",
        "<gazebo> is not honoured.",
        "<safety_controller> of a joint is not honoured: j.",
        "Joints without position bounds are unlimited: j.",
        "Joint friction is not honoured: j.",
    ]


def test_the_root_link_is_a_body_without_a_joint():
    assert unattached(parse_urdf(robot(joint()))) == ["a"]


def test_a_root_link_called_world_is_the_ground():
    description = parse_urdf(robot(joint(parent="world"), links=("world", "b")))
    assert [body.name for body in description.bodies] == ["b"]
    assert unattached(description) == []


def test_a_xacro_namespace_alone_is_harmless():  # O24
    text = robot(joint(), attributes='name="r" xmlns:xacro="http://wiki.ros.org/xacro"')
    assert len(parse_urdf(text).joints) == 1


XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
FAULTS = {
    "xacro include": (robot("<xacro:include/>", attributes=XACRO), "expand it first"),
    "xacro without a namespace": (robot("<xacro:include/>"), "expand it first"),
    "xacro expression": (robot(joint('<axis xyz="${x} 0 0"/>')), "expand it first"),
    "xacro without links": (robot(links=(), attributes=XACRO), "expand it first"),
    "no link": (robot(links=()), "contains no <link>"),
    "malformed": ("<robot><link></robot>", "XML is malformed"),
    "another root": ("<sdf/>", "root element is <sdf>"),
    "no link name": ("<robot><link/></robot>", "<link> has no name"),
    "no joint name": (robot("<joint type='fixed'/>"), "<joint> has no name"),
    "links alike": (robot(links=("a", "a")), "Two links are called `a`"),
    "joints alike": (robot(joint(), joint(child="c"), links="abc"), "Two joints are called `j`"),
    "unknown parent": (
        robot(joint(parent="left_arn"), links=("left_arm", "b")),
        "Joint `j` has parent `left_arn`, which is no link; did you mean `left_arm`?",
    ),
    "unknown child": (
        robot(joint(child="x")),
        "has child `x`, which is no link; valid are `a`, `b`",
    ),
    "no child": (
        robot('<joint name="j" type="fixed"><parent link="a"/></joint>'),
        "has no <child link",
    ),
    "two roots": (robot(), "2 root links (`a`, `b`)"),
    "two parents": (
        robot(joint(child="c"), joint(parent="b", child="c", name="k"), links=("c", "a", "b")),
        "2 root links",
    ),
    "loop": (
        robot(
            joint(child="b"),
            joint(child="c", name="k"),
            joint(parent="b", child="c", name="m"),
            links="abc",
        ),
        "Link `c` is the child of both joint `k` and joint `m`, a loop in a tree",
    ),
    "cycle": (
        robot(joint(parent="b", child="c"), joint(parent="c", child="b", name="k"), links="abc"),
        "Link `b` on `c` on `b` is a loop in a tree",
    ),
    "world as a child": (robot(joint(child="world"), links=("a", "world")), 'child "world"'),
    "unsupported type": (robot(joint(kind="screw")), "type `screw`, which is not supported; valid"),
    "mistyped type": (robot(joint(kind="revolut")), "did you mean `revolute`"),
    "no type": (robot('<joint name="j"/>'), "type `None`"),
    "zero axis": (robot(joint('<axis xyz="0 0 0"/>')), "Joint `j` moves, but its axis is zero"),
    "zero planar axis": (robot(joint('<axis xyz="0 0 0"/>', kind="planar")), "axis is zero"),
    "two numbers": (robot(joint('<origin xyz="1 2"/>')), 'xyz="1 2">, but xyz is 3 finite numbers'),
    "words": (robot(joint('<axis xyz="x y z"/>')), "3 finite numbers"),
    "not finite": (robot(joint('<limit upper="nan"/>')), "upper is a finite number"),
    "no mass": (robot(link(f"<inertial>{INERTIA}</inertial>"), links=()), "without <mass>"),
    "no inertia": (
        robot(link('<inertial><mass value="1"/></inertial>'), links=()),
        "without <inertia>",
    ),
    "no mass value": (
        robot(link(f"<inertial><mass/>{INERTIA}</inertial>"), links=()),
        "<mass> without value",
    ),
    "two inertials": (robot(link(inertial(), inertial()), links=()), "2 <inertial> elements"),
    "mimic without joint": (robot(joint("<mimic/>")), "<mimic> without joint"),
    "zero quaternion": (robot(joint('<origin quat_xyzw="0 0 0 0"/>')), "zero length"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    text, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        parse_urdf(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)

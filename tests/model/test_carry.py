"""What names a merged body acts on the one that carries it, at the same place and in the same direction."""

import copy

import numpy as np
import pytest

from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    CouplingDescription,
    Description,
    DistanceDescription,
    ExpressionDescription,
    ForceDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    MotionDescription,
    Placement,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
    VelocityDescription,
)
from linkax.model.library import diagonal
from linkax.model.placement import compose, fixed_axis_quaternion, rotation_matrix, transform_point
from linkax.model.root import with_root


UNIT = diagonal(1.0, 1.0, 1.0)
TURNED = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, -0.2, 0.7)))
FURTHER = Placement((0.0, 0.5, 0.0), (0.8, 0.6, 0.0, 0.0))
ROLLED = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, 0.0, 0.0)))
COM = (0.1, 0.2, 0.3)
POINT = (1.0, 2.0, 3.0)
STILL = ExpressionDescription(0.5)


def machine(frame=TURNED, **tables) -> Description:
    """`a` on a hinge carries `b`, which is fixed to it, and `c` hangs on that; `d` is fixed to the ground."""
    return Description(
        bodies=[BodyDescription(name, 1.0, COM, UNIT) for name in ("a", "b", "c", "d")],
        joints=[
            JointDescription("ja", "revolute", "world", "a"),
            JointDescription("jb", "fixed", "a", "b", parent_frame=frame),
            JointDescription("jc", "revolute", "b", "c"),
            JointDescription("jd", "fixed", "world", "d", parent_frame=frame),
        ],
        **{key: list(value) for key, value in tables.items()},
    )


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_loop_is_closed_on_the_carriers():
    loop = JointDescription("l", "universal", "d", "b", FURTHER, FURTHER)
    (found,) = assemble(machine(loops=[loop])).loops
    expected = compose(TURNED, FURTHER)
    assert (found.parent, found.child) == ("world", "a")
    assert (found.axis, found.axis2) == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    for frame in (found.parent_frame, found.child_frame):
        close(frame.position, expected.position)
        close(frame.quaternion, expected.quaternion)


def test_a_loop_between_moving_bodies_is_left_as_it_is():
    loop = JointDescription("l", "spherical", "c", "world", FURTHER, TURNED)
    (found,) = assemble(machine(loops=[loop])).loops
    assert (found.parent, found.child) == ("c", "world")
    close(found.parent_frame.quaternion, FURTHER.quaternion)
    assert (found.parent_frame.position, found.child_frame.position) == (
        (0.0, 0.5, 0.0),
        TURNED.position,
    )


def test_springs_and_dampers_keep_their_points():
    spring = LinearSpringDescription("s", "b", "c", 1.0, 0.5, POINT, POINT)
    damper = LinearDamperDescription("d", "c", "d", 1.0, POINT, POINT)
    moved_spring, moved_damper = assemble(machine(elements=[spring, damper])).elements
    assert (moved_spring.body_a, moved_spring.body_b) == ("a", "c")
    close(moved_spring.point_a, transform_point(TURNED, POINT))
    assert moved_spring.point_b == POINT
    assert (moved_damper.body_a, moved_damper.body_b) == ("c", "world")
    assert moved_damper.point_a == POINT
    close(moved_damper.point_b, transform_point(TURNED, POINT))
    assert (moved_spring.stiffness, moved_spring.free_length, moved_damper.damping) == (
        1.0,
        0.5,
        1.0,
    )


def test_a_force_acts_at_its_point_and_by_default_at_the_centre_of_mass_of_the_part():
    up = (0.0, 0.0, 1.0)
    forces = [ForceDescription("f", "b", up, POINT), ForceDescription("g", "b", up)]
    forces += [ForceDescription("h", "a", up)]
    assembly = assemble(machine(elements=forces))
    f, g, h = assembly.elements
    assert [(e.body, e.force) for e in (f, g, h)] == [("a", up)] * 3
    close(f.point, transform_point(TURNED, POINT))
    close(g.point, transform_point(TURNED, COM))
    close(h.point, COM)
    assert np.abs(assembly.model.com[0] - np.asarray(COM)).max() > 0.01


def test_a_torque_keeps_its_direction():
    (found,) = assemble(machine(elements=[TorqueDescription("t", "b", POINT)])).elements
    assert found.body == "a"
    close(found.torque, rotation_matrix(TURNED.quaternion) @ POINT)


def test_what_acts_within_one_body_is_left_out_and_noted():
    elements = [
        LinearSpringDescription("s", "a", "b", 1.0, 0.5),
        LinearDamperDescription("w", "world", "d", 1.0),
        ForceDescription("f", "d", POINT),
        TorqueDescription("t", "d", POINT),
        ForceDescription("kept", "c", POINT),
    ]
    assembly = assemble(machine(elements=elements))
    assert [element.name for element in assembly.elements] == ["kept"]
    assert assembly.notes == (
        "Elements on parts that hold still have no effect: `s`, `w`, `f`, `t`.",
    )


def test_a_loop_within_one_body_is_refused():
    with pytest.raises(ValueError, match="Loop `l` joins `b` and `a`, but joints that hold still"):
        assemble(machine(loops=[JointDescription("l", "revolute", "b", "a")]))


def light(**tables) -> Description:
    """A hinge that moves no inertia, beyond one that does."""
    return Description(
        bodies=[BodyDescription("a", 1.0, COM, UNIT), BodyDescription("b")],
        joints=[
            JointDescription("ja", "revolute", "world", "a"),
            JointDescription("jb", "revolute", "a", "b"),
        ],
        **tables,
    )


def test_what_acts_on_a_welded_joint_is_left_out():
    spring, damper = (
        TorsionalSpringDescription("s", "jb", 1.0),
        TorsionalDamperDescription("d", "ja", 1.0),
    )
    assembly = assemble(light(elements=[spring, damper]), massless="weld")
    assert assembly.elements == (damper,)
    assert assembly.notes[-1] == "Elements on parts that hold still have no effect: `s`."
    with pytest.raises(ValueError, match="Motion `m` prescribes joint `jb`, which is welded"):
        motion = MotionDescription("m", STILL, joint="jb")
        assemble(light(motions=[motion]), massless="weld")


def test_a_planar_angle_is_carried_over_where_the_x_axis_is_the_same():
    motions = [MotionDescription("m", STILL, body="b"), MotionDescription("n", STILL, joint="jc")]
    m, n = assemble(machine(ROLLED, motions=motions)).motions
    assert (m.body, m.joint, m.expression) == ("a", None, STILL)
    assert n == motions[1]


def test_a_planar_angle_of_a_turned_part_is_refused():
    with pytest.raises(
        ValueError, match="Motion `m` prescribes body `b`, which is fixed to `a` with"
    ):
        assemble(machine(motions=[MotionDescription("m", STILL, body="b")]))


def test_a_planar_angle_of_what_is_fixed_to_the_ground_is_refused():
    with pytest.raises(ValueError, match="Motion `m` prescribes body `d`, which joints that hold"):
        assemble(machine(ROLLED, motions=[MotionDescription("m", STILL, body="d")]))


def test_one_body_follows_one_planar_angle():
    motions = [MotionDescription("m", STILL, body="a"), MotionDescription("n", STILL, body="b")]
    with pytest.raises(ValueError, match="Motion `n` prescribes `b` and motion `m` `a`, which are"):
        assemble(machine(ROLLED, motions=motions))


def test_a_fixed_root_makes_its_body_part_of_the_ground():
    description = machine(elements=[LinearSpringDescription("s", "a", "c", 1.0, 0.5, POINT)])
    description.joints = description.joints[1:3]
    description.bodies = description.bodies[:3]
    fixed, floating = (with_root(description, root) for root in ("fixed", "floating"))
    (spring,) = assemble(fixed).elements
    assert (spring.body_a, spring.point_a, spring.body_b) == ("world", POINT, "c")
    (spring,) = assemble(floating).elements
    assert (spring.body_a, spring.point_a, spring.body_b) == ("a", POINT, "c")


def test_the_description_is_left_as_it_was():
    loop = JointDescription("l", "revolute", "d", "b", FURTHER, FURTHER)
    force = ForceDescription("f", "b", POINT)
    motion = MotionDescription("m", STILL, body="b")
    description = machine(ROLLED, loops=[loop], elements=[force], motions=[motion])
    before = copy.deepcopy(description)
    assemble(description)
    assert description == before


# --- loops that are no joints ---


def test_a_rod_keeps_its_points_on_the_carriers():
    (found,) = assemble(machine(loops=[DistanceDescription("l", "d", "b", POINT, COM)])).loops
    assert (found.body_a, found.body_b) == ("world", "a")
    close(found.point_a, transform_point(TURNED, POINT))
    close(found.point_b, transform_point(TURNED, COM))
    # `b` starts where `d` is.
    rotated = rotation_matrix(TURNED.quaternion) @ np.subtract(POINT, COM)
    np.testing.assert_allclose(found.length, np.linalg.norm(rotated), rtol=1e-14)


def test_a_locked_velocity_keeps_its_frames_on_the_carriers():
    loop = VelocityDescription("l", "d", "b", ("vx",), FURTHER, FURTHER)
    (found,) = assemble(machine(loops=[loop])).loops
    expected = compose(TURNED, FURTHER)
    assert (found.parent, found.child, found.locked) == ("world", "a", ("vx",))
    for frame in (found.parent_frame, found.child_frame):
        close(frame.position, expected.position)
        close(frame.quaternion, expected.quaternion)


def test_no_rod_or_locked_velocity_lies_within_one_body():
    rod = DistanceDescription("l", "b", "a", POINT)
    wheel = VelocityDescription("l", "world", "d", ("vx",))
    with pytest.raises(ValueError, match="Loop `l` joins `b` and `a`, but joints that hold still"):
        assemble(machine(loops=[rod]))
    with pytest.raises(ValueError, match="Loop `l` joins `world` and `d`, but joints that hold"):
        assemble(machine(loops=[wheel]))


def test_a_coupling_of_a_welded_joint_is_refused():
    loop = CouplingDescription("l", ("ja", "jb"), (1.0, 2.0))
    with pytest.raises(ValueError, match="Loop `l` couples joint `jb`, which is welded since it"):
        assemble(light(loops=[loop]), massless="weld")
    free = CouplingDescription("l", ("ja", "jc"), (1.0, 2.0))
    assert assemble(machine(loops=[free])).loops == (free,)
    slider = light(loops=[CouplingDescription("l", ("ja", "jb_slide"), (1.0, 2.0))])
    slider.joints[1].type = "cylindrical"
    with pytest.raises(ValueError, match="Loop `l` couples joint `jb`, which is welded since it"):
        assemble(slider, massless="weld")

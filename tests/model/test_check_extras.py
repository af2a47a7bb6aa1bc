"""A fault in a loop, element or motion is one sentence that names it."""

import math

import pytest

from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    Description,
    ExpressionDescription,
    ForceDescription,
    HarmonicDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    MimicDescription,
    MotionDescription,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
)
from linkax.model.library import diagonal
from linkax.model.root import with_root


UNIT = diagonal(1.0, 1.0, 1.0)
STILL = ExpressionDescription()


def machine(loops=(), elements=(), motions=()) -> Description:
    """Three bodies in a row: on a hinge, on a ball, and on a hinge that follows the first."""
    return Description(
        bodies=[BodyDescription(name, 1.0, inertia=UNIT) for name in ("a", "b", "c")],
        joints=[
            JointDescription("ja", "revolute", "world", "a"),
            JointDescription("jb", "spherical", "a", "b"),
            JointDescription("jc", "revolute", "b", "c", mimic=MimicDescription("ja")),
        ],
        loops=list(loops),
        elements=list(elements),
        motions=list(motions),
    )


def loop(*ends, kind="revolute", name="l", **options):
    return machine([JointDescription(name, kind, *(ends or ("c", "world")), **options)])


def element(kind, *values, **options):
    return machine(elements=[kind("e", *values, **options)])


def motion(expression=STILL, **of):
    return machine(motions=[MotionDescription("m", expression, **of)])


def undeclared(description, **values):
    """Assignment is never checked, building is."""
    for key, value in values.items():
        setattr((description.elements or description.motions)[0], key, value)
    return description


def spring(a="a", b="b", **options):
    return element(
        LinearSpringDescription, a, b, **{"stiffness": 1.0, "free_length": 0.5, **options}
    )


PUSH = ForceDescription("e", "a", (0.0, 0.0, 1.0))
DRIVE = MotionDescription("m", STILL, joint="ja")
FAULTS = {
    "loop to no body": (loop("c", "worl"), "Loop `l` has child `worl`, which is no body; did you"),
    "loop from no body": (loop("x", "world"), "Loop `l` has parent `x`, which is no body"),
    "loop on one body": (loop("c", "c"), "Loop `l` has both its ends on `c`"),
    "loop on the ground": (loop("world", "world"), "Loop `l` has both its ends on `world`"),
    "type of a loop": (loop(kind="revolut"), "Loop `l` has type `revolut`, which is no joint type"),
    "floating loop": (
        loop(kind="floating"),
        "Loop `l` has type `floating`, which constrains nothin",
    ),
    "damped loop": (
        loop(damping=0.5),
        "Loop `l` has damping=0.5, but a joint that closes a loop has",
    ),
    "loop with a position": (loop(position=0.0), "Loop `l` has position=0.0, but a joint that"),
    "loop that follows": (loop(mimic=MimicDescription("ja")), "a loop has no mimic; leave it out"),
    "axis of a ball": (loop(kind="spherical", axis=(0.0, 0.0, 1.0)), "Loop `l` has an axis, but a"),
    "pitch of a hinge": (loop(pitch=0.1), "Loop `l` has pitch=0.1, but only a helical joint"),
    "loop like a joint": (loop(name="ja"), "Two joints (each loop is one) are called `ja`"),
    "nameless loop": (loop(name=""), "is called ''; a name is a non-empty string"),
    "elements alike": (machine(elements=[PUSH, PUSH]), "Two elements are called `e`"),
    "spring to no body": (spring(b="bb"), "Element `e` has body_b `bb`, which is no body; did you"),
    "spring from no body": (spring("x"), "Element `e` has body_a `x`, which is no body"),
    "spring on one body": (spring("a", "a"), "Element `e` has body_a and body_b both `a`; it acts"),
    "damper on the ground": (
        element(LinearDamperDescription, "world", "world", 1.0),
        "Element `e` has body_a and body_b both `world`",
    ),
    "soft spring": (
        spring(stiffness=-2.0),
        "Element `e` has stiffness=-2, but it may not be negat",
    ),
    "short spring": (
        spring(free_length=-0.5),
        "Element `e` has free_length=-0.5, but it may not be",
    ),
    "endless spring": (spring(stiffness=math.inf), "stiffness=inf, but it must be finite"),
    "point of a spring": (
        spring(point_b=(0.0, 0.0, math.nan)),
        "Element `e` has point_b=(0.0, 0.0, nan), but it must be finite",
    ),
    "flat point": (undeclared(spring(), point_a=(0.0, 1.0)), "point_a=(0.0, 1.0), but it is 3 num"),
    "driving damper": (
        element(LinearDamperDescription, "a", "world", -1.0),
        "Element `e` has damping=-1, but it may not be negative",
    ),
    "spring of no joint": (
        element(TorsionalSpringDescription, "jaa", 1.0),
        "Element `e` has joint `jaa`, which is no joint or loop; did you mean `ja`",
    ),
    "spring of a ball": (
        element(TorsionalSpringDescription, "jb", 1.0),
        "Element `e` has joint `jb` of type `spherical`, but it acts on a `revolute` one",
    ),
    "torsional stiffness": (
        element(TorsionalSpringDescription, "ja", -1.0),
        "Element `e` has stiffness=-1, but it may not be negative",
    ),
    "free angle": (
        element(TorsionalSpringDescription, "ja", 1.0, math.nan),
        "Element `e` has free_angle=nan, but it must be finite",
    ),
    "torsional damping": (
        element(TorsionalDamperDescription, "ja", -1.0),
        "Element `e` has damping=-1, but it may not be negative",
    ),
    "damper of a ball": (element(TorsionalDamperDescription, "jb", 1.0), "it acts on a `revolute`"),
    "force on no body": (
        element(ForceDescription, "x", (0.0, 0.0, 1.0)),
        "Element `e` has body `x`, which is no body; valid are `a`, `b`, `c`.",
    ),
    "force on the ground": (
        element(ForceDescription, "world", (0.0, 0.0, 1.0)),
        'Element `e` has body "world", the ground, which never moves',
    ),
    "infinite force": (
        element(ForceDescription, "a", (0.0, 0.0, math.inf)),
        "force=(0.0, 0.0, inf), but it must be finite",
    ),
    "point of a force": (
        element(ForceDescription, "a", (0.0, 0.0, 1.0), (0.0, 0.0, math.inf)),
        "point=(0.0, 0.0, inf), but it must be finite",
    ),
    "torque on no body": (
        element(TorqueDescription, "x", (0.0, 0.0, 1.0)),
        "Element `e` has body `x`, which is no body",
    ),
    "torque in letters": (
        undeclared(element(TorqueDescription, "a", (0.0, 0.0, 1.0)), torque="much"),
        "Element `e` has torque='much', but it consists of numbers",
    ),
    "motions alike": (machine(motions=[DRIVE, DRIVE]), "Two motions are called `m`"),
    "motion twice": (
        machine(motions=[DRIVE, MotionDescription("n", STILL, joint="ja")]),
        "Motion `n` prescribes `ja`, as motion `m` does; remove one of them",
    ),
    "motion of nothing": (motion(), "Motion `m` has neither `joint` nor `body`; give one of them"),
    "motion of both": (
        motion(joint="ja", body="a"),
        "Motion `m` has both `joint` and `body`; give",
    ),
    "motion of no joint": (
        motion(joint="x"),
        "Motion `m` has joint `x`, which is no joint; valid are `ja`.",
    ),
    "motion of a ball": (
        motion(joint="jb"),
        "Motion `m` has joint `jb` of type `spherical`, which has 3 freedoms; a motion prescribes a",
    ),
    "motion of a follower": (
        motion(joint="jc"),
        "Motion `m` has joint `jc`, which follows `ja`; prescribe the joint that leads",
    ),
    "motion of a loop": (
        machine(
            [JointDescription("l", "revolute", "c", "world")],
            motions=[MotionDescription("m", STILL, joint="l")],
        ),
        "Motion `m` has joint `l`, which is a loop",
    ),
    "motion of no body": (motion(body="x"), "Motion `m` has body `x`, which is no body"),
    "motion of the ground": (motion(body="world"), 'Motion `m` has body "world", the ground'),
    "constant": (
        motion(ExpressionDescription(math.nan), joint="ja"),
        "`m` has constant=nan, but it",
    ),
    "ramp": (motion(ExpressionDescription(0.0, math.inf), joint="ja"), "`m` has ramp=inf, but it"),
    "amplitude": (
        motion(ExpressionDescription(sine=[HarmonicDescription(math.inf, 1.0)]), joint="ja"),
        "Motion `m` has sine amplitude=inf, but it must be finite",
    ),
    "frequency": (
        motion(ExpressionDescription(cosine=[HarmonicDescription(1.0, math.nan)]), body="a"),
        "Motion `m` has cosine frequency=nan, but it must be finite",
    ),
    "phase": (
        motion(ExpressionDescription(cosine=[HarmonicDescription(1.0, 1.0, math.nan)]), body="a"),
        "Motion `m` has cosine phase=nan, but it must be finite",
    ),
    "offset": (
        motion(
            ExpressionDescription(sine=[HarmonicDescription(1.0, 1.0, 0.0, math.nan)]), body="a"
        ),
        "Motion `m` has sine offset=nan, but it must be finite",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    description, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        assemble(description)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["fixed", "prismatic", "helical", "planar", "cylindrical"])
def test_most_joint_types_may_close_a_loop(kind):
    (found,) = assemble(loop("world", "c", kind=kind)).loops
    assert (found.type, found.parent, found.child) == (kind, "world", "c")
    assert found.armature is None


def test_a_torsional_element_may_act_on_a_loop():
    damper = TorsionalDamperDescription("e", "l", 1.0)
    description = machine([JointDescription("l", "revolute", "c", "world")], [damper])
    assert assemble(description).elements == (damper,)


def test_axes_and_quaternions_of_a_loop_are_completed():
    (found,) = assemble(loop("world", "c", axis=(0.0, 3.0, 4.0))).loops
    assert found.axis == (0.0, 0.6, 0.8)
    (found,) = assemble(loop("world", "c", kind="universal")).loops
    assert (found.axis, found.axis2) == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def test_a_root_is_not_called_like_a_loop():
    description = loop(name="root")
    del description.joints[0]
    description.joints[-1].mimic = None
    with pytest.raises(ValueError, match="The root joint would be called `root`, as one of the"):
        with_root(description, "floating")

"""What does not fit together in a linkage is refused with a sentence that names it."""

import math

import jax.numpy as jnp
import pytest
from four_bars import ROOT, R, four_bar, rod

from linkax import linkage
from linkax.maximal.linkage import Joint, JointType, Link, Placement


P = JointType.PRISMATIC


def base_and_rod(**changes):
    link = dict(mass=1.0, com=(0.5, 0.0, 0.0), inertia=(1.0, 1.0, 1.0), frames=[ROOT]) | changes
    return [Link(frames=[ROOT]), Link(**link)]


def build(links=None, joints=None, base=0, q=(0.0,), planar=False):
    links = base_and_rod() if links is None else links
    joints = [Joint(R, 0, 0, 1, 0)] if joints is None else joints
    return lambda: linkage.closed(links, joints, base, q, planar=planar)


def on_four_bar(name, *args, **kwargs):
    return lambda: getattr(four_bar(0.7), name)(*args, **kwargs)


def _untyped():
    joint = Joint(R, 0, 0, 1, 0)
    joint.type = "revolute"
    return joint


A, B = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
ONE = rod(1.0, 1.0)
TILTED = Placement(quaternion=(0.8, 0.6, 0.0, 0.0))
SPRING, DAMPER = "with_linear_spring", "with_linear_damper"
BAD = {
    "Link 1 has mass 0 kg": build(base_and_rod(mass=0.0)),
    "Link 1 has an inertia whose smallest": build(base_and_rod(inertia=(1.0, 1.0, 0.0))),
    r"Link 1 has com of shape \(2,\)": build(base_and_rod(com=(0.0, 0.0))),
    "Link 1 has com=.* must be finite": build(base_and_rod(com=(0.0, math.nan, 0.0))),
    "Link 1, frame 0, has the quaternion zero": build(
        base_and_rod(frames=[Placement(quaternion=(0.0, 0.0, 0.0, 0.0))])
    ),
    "`base` is 2, but": build(base=2),
    "holds the base only": build(links=[Link()], joints=[], q=()),
    "Joint 0 has child link 2": build(joints=[Joint(R, 0, 0, 2, 0)]),
    "Joint 0 has parent frame 1": build(joints=[Joint(R, 0, 1, 1, 0)]),
    "parent and child link both 1": build(joints=[Joint(R, 1, 0, 1, 0)]),
    "of a planar linkage is .*SPHERICAL": build(
        joints=[Joint(JointType.SPHERICAL, 0, 0, 1, 0)], q=(1.0, 0.0, 0.0, 0.0), planar=True
    ),
    "of a spatial linkage is 'revolute'": build(joints=[_untyped()]),
    r"`q` has shape \(2,\)": build(q=(0.0, 0.0)),
    r"`q` is \[nan\]": build(q=(math.nan,)),
    "Link 1 is not connected": build(joints=[], q=()),
    "close the loop at joint 1: its frames are 0 m and 0.1 rad": build(
        joints=[Joint(R, 0, 0, 1, 0)] * 2, q=(0.1, 0.2)
    ),
    "violates its constraints by": build(base_and_rod(frames=[TILTED]), planar=True),
    "`links` is empty": lambda: linkage.serial([], [], []),
    "`joints` has 2 entries": lambda: linkage.serial([ONE], [R, R], [0.0]),
    "Joint 0 of a serial linkage is .*FIXED": lambda: linkage.serial([ONE], [JointType.FIXED], []),
    "Joint 1 has link frame 1": lambda: linkage.serial(
        [Link(1.0, A, (1.0, 1.0, 1.0), [ROOT]), ONE], [R, R], [0.0, 0.0]
    ),
    "Axial element 0 has stiffness=-1": on_four_bar(SPRING, 0, A, 1, B, -1.0, 0.0),
    "Axial element 0 has free_length=-2": on_four_bar(SPRING, 0, A, 1, B, 1.0, -2.0),
    "Axial element 0 has damping=-3": on_four_bar(DAMPER, 0, A, 1, B, -3.0),
    "Axial element 0 has damping of shape": on_four_bar(DAMPER, 0, A, 1, B, [1.0]),
    "body_a and body_b both 1": on_four_bar(SPRING, 1, A, 1, B, 1.0, 1.0),
    "Axial element 0 has body_b 3": on_four_bar(DAMPER, 0, A, 3, B, 1.0),
    "Axial element 0 has point_a of shape": on_four_bar(DAMPER, 0, (0.0, 0.0), 1, B, 1.0),
    "Torsional element 0 has joint 4": on_four_bar("with_torsional_spring", 4, 1.0),
    "Torsional element 0 has stiffness=-1": on_four_bar("with_torsional_spring", 0, -1.0),
    "Torsional element 0 has damping=-1": on_four_bar("with_torsional_damper", 0, -1.0),
    r"`gravity` has shape \(2,\)": on_four_bar("solve", 0.1, 2, (0.0, 1.0)),
    r"`body_force` has shape \(3,\)": on_four_bar("solve", 0.1, 2, body_force=(0.0, 0.0, 1.0)),
    r"`body_torque` has shape \(1, 3\)": on_four_bar("solve", 0.1, 2, body_torque=[A]),
    "has `prescribed_body` None": on_four_bar("solve", 0.1, 2, prescribed_motion=lambda t, p: t),
    "The prescribed motion gives an array of shape": on_four_bar(
        "solve", 0.1, 2, prescribed_body=0, prescribed_motion=lambda t, p: jnp.stack([t, t])
    ),
    r"`multipliers` has shape \(3,\)": lambda: four_bar(0.7).joint_reactions(
        four_bar(0.7).initial, jnp.zeros(3)
    ),
}


@pytest.mark.parametrize("sentence", BAD)
def test_what_does_not_fit_is_named(sentence):
    with pytest.raises(ValueError, match=sentence):
        BAD[sentence]()


def test_a_torsional_element_needs_a_hinge():
    joints = [Joint(P, 0, 0, 1, 0)]
    model = linkage.closed(base_and_rod(), joints, 0, [0.0])
    with pytest.raises(ValueError, match=r"Torsional element 0 is on joint 0 of type .*PRISMATIC"):
        model.with_torsional_damper(0, 1.0)

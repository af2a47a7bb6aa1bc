"""Constraint rows: closed forms are derivatives, residuals vanish where they should."""

import functools as ft
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import maximal as mx
from linkax.constraints.motion_rows import turn_of
from linkax.constraints.rows import tangent_gradient
from linkax.joints import JOINTS
from linkax.kinematics.bodies import of_bodies, poses
from linkax.math.stacks import rotations
from linkax.model.description import ExpressionDescription, HarmonicDescription


K = 3
RNG = np.random.default_rng(11)
PAIRS = ((0, 1), (1, 2), (2, 0))
SINGLES = ((0,), (1,), (2,))


def points():
    return jnp.asarray(RNG.normal(size=(K, 3)))


def turns():
    return rotations(jnp.asarray(RNG.normal(size=(K, 4))))


def frames():
    return dict(
        parent_point=points(), parent_rotation=turns(), child_point=points(), child_rotation=turns()
    )


THREE = mx.Expression.stacked(
    [
        ExpressionDescription(constant=0.3, ramp=2.0),
        ExpressionDescription(sine=[HarmonicDescription(0.5, 2.0, 0.1, 0.2)]),
        ExpressionDescription(
            cosine=[HarmonicDescription(0.4, 1.0), HarmonicDescription(1.0, 3.0)]
        ),
    ]
)
ANGLE, SLIDE = mx.Coordinate.ANGLE, mx.Coordinate.SLIDE
ROWS = {f"joint {name}": ft.partial(mx.JointRows, joints=(joint,) * K, bodies=PAIRS, pitch=jnp.full(K, 0.1))
        for name, joint in JOINTS.items() if joint.locked_rows()}  # fmt: skip
ROWS = {name: make(**frames()) for name, make in ROWS.items()}
ROWS |= {
    f"planar {kind.value}": mx.PlanarJointRows(**frames(), bodies=PAIRS, kind=kind)
    for kind in mx.PlanarKind
}
ROWS |= {
    f"coordinate {c.value}": mx.CoordinateRows(**frames(), motion=THREE, bodies=PAIRS, coordinate=c)
    for c in mx.Coordinate
}
ROWS |= {
    f"coupling {a.value} {b.value}": mx.CouplingRows(
        joints=(mx.JointFrames(**frames()), mx.JointFrames(**frames())),
        coefficients=jnp.asarray([[2.0, -1.0], [-1.0, -1.0], [3.0, 0.5]]),
        offset=jnp.asarray([0.1, 0.2, 0.3]),
        turn=jnp.asarray([2.0, 1.0, 0.0]),
        bodies=((0, 1, 1, 2), (1, 2, 2, 0), (2, 0, 0, 1)),
        coordinates=(a, b),
    )
    for a in mx.Coordinate
    for b in mx.Coordinate
}
ROWS["coupling of three"] = mx.CouplingRows(
    joints=tuple(mx.JointFrames(**frames()) for _ in range(3)),
    coefficients=jnp.asarray([[2.0, -1.0, 0.5], [-1.0, -1.0, 1.0], [3.0, 0.5, 2.0]]),
    offset=jnp.zeros(3),
    turn=jnp.ones(3),
    bodies=((0, 1, 0, 2, 1, -1), (1, 2, 1, 0, 2, 0), (2, 0, 0, 1, -1, 2)),
    coordinates=(ANGLE, SLIDE, ANGLE),
)
ROWS["angle"] = mx.AngleRows(motion=THREE, bodies=SINGLES)
ROWS["planar body"] = mx.PlanarBodyRows(point=points(), bodies=SINGLES)
ROWS["distance"] = mx.DistanceRows(points(), points(), jnp.ones(K), bodies=PAIRS)
AT = poses(points(), jnp.asarray([q / np.linalg.norm(q) for q in RNG.normal(size=(K, 4))]))


@pytest.mark.parametrize("name", ROWS)
def test_a_gradient_is_the_derivative_of_the_residual(name):
    rows, t = ROWS[name], jnp.asarray(0.4)

    @jax.jit
    def both(rows, at):
        at = of_bodies(at, rows.bodies)
        found = rows.residual(t, at), rows.gradient(t, at)
        return *found, tangent_gradient(ft.partial(rows.residual, t), at)

    residual, gradient, expected = both(rows, AT)
    assert residual.shape == (K, rows.rows)
    assert gradient.shape == (K, rows.rows, len(rows.bodies[0]), 6)
    np.testing.assert_allclose(gradient, expected, atol=1e-12, rtol=0)


def flat(angle):
    """The quaternion of a turn about z."""
    return [math.cos(angle / 2), 0.0, 0.0, math.sin(angle / 2)]


def at(*places):
    """Poses (1, a) of bodies at (x, y, z, angle about z)."""
    position = jnp.asarray([[p[:3] for p in places]])
    return poses(position, jnp.asarray([[flat(p[3]) for p in places]]))


EYE = jnp.eye(3)[None]
ORIGIN = jnp.zeros((1, 3))
AXIS_X = jnp.asarray([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])  # its z is the body's x
PLAIN = dict(parent_point=ORIGIN, parent_rotation=EYE, child_point=ORIGIN, child_rotation=EYE)
SLIDING = dict(
    parent_point=ORIGIN, parent_rotation=AXIS_X, child_point=ORIGIN, child_rotation=AXIS_X
)
T0 = jnp.asarray(0.0)


def close(x, expected, tolerance=1e-12):
    np.testing.assert_allclose(x, expected, atol=tolerance, rtol=0)


def test_planar_rows_are_those_of_document_002():
    body = mx.PlanarBodyRows(point=jnp.asarray([[0.3, 0.1, 0.0]]), bodies=((0,),))
    close(body.residual(T0, at((1.0, 2.0, 0.25, 0.7))), [[0.25, 0.0, 0.0]])
    tilted = poses(jnp.zeros((1, 1, 3)), jnp.asarray([[[math.cos(0.1), 0.0, math.sin(0.1), 0.0]]]))
    close(body.residual(T0, tilted), [[-0.3 * math.sin(0.2), -math.sin(0.2), 0.0]])

    pair = at((0.0, 0.0, 0.0, 0.5), (2.0, 1.0, 0.0, 0.7))
    hinge = mx.PlanarJointRows(**PLAIN, bodies=((0, 1),), kind=mx.PlanarKind.REVOLUTE)
    close(hinge.residual(T0, pair), [[2.0, 1.0]])
    weld = mx.PlanarJointRows(**PLAIN, bodies=((0, 1),), kind=mx.PlanarKind.FIXED)
    close(weld.residual(T0, pair), [[2.0, 1.0, 0.2]])
    slide = mx.PlanarJointRows(**SLIDING, bodies=((0, 1),), kind=mx.PlanarKind.PRISMATIC)
    off = -2.0 * math.sin(0.5) + math.cos(0.5)
    close(slide.residual(T0, pair), [[off, 0.2]])
    along = at((0.0, 0.0, 0.0, 0.5), (2.0 * math.cos(0.5), 2.0 * math.sin(0.5), 0.0, 0.5))
    close(slide.residual(T0, along), [[0.0, 0.0]])


def test_prescribed_angles_are_compared_without_whole_turns():
    ahead = mx.Expression.stacked([ExpressionDescription(constant=4.0 * math.pi + 0.1)])
    body = mx.AngleRows(motion=ahead, bodies=((0,),))
    close(body.residual(T0, at((0.0, 0.0, 0.0, 0.3))), [[0.2]])
    spin = mx.UserFunction(lambda t, rate: rate * t + 3.0, jnp.asarray(2.0))
    joint = mx.CoordinateRows(**PLAIN, motion=spin, bodies=((0, 1),), coordinate=ANGLE)
    pair = at((0.0, 0.0, 0.0, 0.5), (0.0, 0.0, 0.0, -2.5))
    close(joint.residual(jnp.asarray(0.5), pair), [[2.0 * math.pi - 7.0]])
    slide = mx.CoordinateRows(**SLIDING, motion=spin, bodies=((0, 1),), coordinate=SLIDE)
    close(slide.residual(T0, at((0.0, 0.0, 0.0, 0.0), (5.0, 1.0, 0.0, 0.0))), [[2.0]])


def gear(coefficients, offset=0.0, coordinates=(ANGLE, ANGLE), frames=PLAIN):
    """Joints between the ground and a body each."""
    count = len(coefficients)
    return mx.CouplingRows(
        joints=(mx.JointFrames(**frames),) * count,
        coefficients=jnp.asarray([coefficients]),
        offset=jnp.asarray([offset]),
        turn=jnp.asarray([turn_of(coefficients, coordinates)]),
        bodies=(tuple(body for i in range(count) for body in (-1, i)),),
        coordinates=coordinates,
    )


def turned(*angles):
    ground = (0.0, 0.0, 0.0, 0.0)
    return at(*(place for x in angles for place in (ground, (0.0, 0.0, 0.0, x))))


def test_a_coupling_vanishes_where_the_sum_does():
    pair = gear((-3.0, -1.0), 0.2)
    close(pair.residual(T0, turned(1.5, -4.3)), [[0.0]])
    close(pair.residual(T0, turned(1.5, -4.2)), [[-0.1]])
    three = gear((1.0, 2.0, -1.0), 0.2, (ANGLE,) * 3)
    close(three.residual(T0, turned(0.3, -0.4, 0.1)), [[0.3 - 0.8 - 0.1 + 0.2]])


@pytest.mark.parametrize("ratio", [50.0, -3.0, 50.37, 1.0 / 3.0, 0.02, 121.0 / 17.0])
def test_a_ratio_of_gears_is_kept_over_any_number_of_turns(ratio):
    pair = gear((ratio, -1.0), 0.001)
    for angle in (3.0, 3.2, 7.0, -40.0, 1000.0):
        close(pair.residual(T0, turned(angle, ratio * angle)), [[0.001]], 1e-9)


def test_a_ratio_that_is_no_fraction_holds_within_half_a_turn_of_the_slower():
    pair = gear((math.sqrt(2.0), -1.0), 0.001)
    for angle in (3.0, -3.1):
        close(pair.residual(T0, turned(angle, math.sqrt(2.0) * angle)), [[0.001]])
    slipped = pair.residual(T0, turned(3.2, math.sqrt(2.0) * 3.2))
    assert abs(float(slipped[0, 0]) - 0.001) > 0.1
    slower = gear((1.0, -math.sqrt(2.0)), 0.001)
    close(slower.residual(T0, turned(4.0, 4.0 / math.sqrt(2.0))), [[0.001]])


def test_a_screw_is_kept_over_any_number_of_turns():
    screw = gear((0.005, -1.0), 0.0, (ANGLE, SLIDE))
    for angle in (0.5, 4.0, -100.0):
        along = (0.0, 0.0, 0.005 * angle + 1e-4, 0.0)
        ground = (0.0, 0.0, 0.0, 0.0)
        close(screw.residual(T0, at(ground, (0.0, 0.0, 0.0, angle), ground, along)), [[-1e-4]])


def test_slides_have_no_turns():
    assert turn_of((0.3, -2.0), (SLIDE, SLIDE)) == 0.0
    rack = gear((0.3, -2.0), 1.0, (SLIDE, SLIDE))
    ground = (0.0, 0.0, 0.0, 0.0)
    places = at(ground, (0.0, 0.0, 10.0, 0.0), ground, (0.0, 0.0, -20.0, 0.0))
    close(rack.residual(T0, places), [[44.0]])


def test_the_divisor_of_the_angles_counts():
    angles = (ANGLE,) * 3
    assert turn_of((6.0, -4.0, 10.0), angles) == pytest.approx(4.0 * math.pi, rel=1e-15)
    assert turn_of((1.5, -1.0, 0.0), angles) == pytest.approx(math.pi, rel=1e-15)
    mixed = (ANGLE, SLIDE, ANGLE)
    assert turn_of((3.0, 1.0, 6.0), mixed) == pytest.approx(6.0 * math.pi, rel=1e-15)


def test_distance_rows_measure_between_the_points():
    rod = mx.DistanceRows(
        jnp.asarray([[1.0, 0.0, 0.0]]), ORIGIN, jnp.asarray([4.0]), bodies=((-1, 0),)
    )
    close(rod.residual(T0, at((0.0, 0.0, 0.0, 0.0), (1.0, 5.0, 0.0, 0.3))), [[1.0]])


def test_an_expression_is_the_sum_of_its_terms():
    t = jnp.asarray(0.3)
    expected = [
        0.3 + 2.0 * 0.3,
        0.5 * math.sin(2.0 * math.pi * 2.0 * 0.3 + 0.1) + 0.2,
        0.4 * math.cos(2.0 * math.pi * 0.3) + math.cos(2.0 * math.pi * 3.0 * 0.3),
    ]
    close(THREE.value(t), expected)
    one = mx.Expression.of(ExpressionDescription(constant=1.0, ramp=-1.0))
    assert one.value(t).shape == ()
    close(one.value(t), 0.7)


def test_coupled_bodies_move_together_under_every_solver():
    """Two wheels on the ground, 1 drives 2 by -3; a torque on 1 feels the inertia J (1 + 9)."""
    bodies = mx.Bodies(jnp.ones(2), jnp.ones((2, 3)))
    state = mx.State(jnp.zeros((2, 3)), jnp.asarray([flat(0.0)] * 2))
    two = jnp.repeat(EYE, 2, axis=0)
    zero = jnp.zeros((2, 3))
    hinges = mx.JointRows(
        zero, two, zero, two, jnp.zeros(2), ((-1, 0), (-1, 1)), (JOINTS["revolute"],) * 2
    )
    pair = gear((-3.0, -1.0))
    torque = mx.BodyTorques(jnp.asarray([[0.0, 0.0, 20.0]]), bodies=(0,))
    ends = []
    for solver in mx.LinearSolver:
        run = mx.simulate(
            bodies,
            state,
            0.01,
            11,
            torque,
            mx.in_order([hinges, pair]),
            settings=mx.Settings(solver=solver),
        )
        assert run.converged
        ends.append(run)
    # Angles keep the ratio exactly, average rates (sines of half angles) to second order.
    close(ends[0].point_angular_velocity[-1, :, 2], [0.2, -0.6], 1e-5)
    close(ends[0].multipliers[:, -1], np.full(11, 6.0), 1e-3)
    for other in ends[1:]:
        close(other.angular_velocity, ends[0].angular_velocity)
        close(other.multipliers, ends[0].multipliers, 1e-9)

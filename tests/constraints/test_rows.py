"""Constraint rows: closed forms are derivatives, residuals vanish where they should."""

import functools as ft
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import maximal as mx
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
        leader=mx.JointFrames(**frames()),
        follower=mx.JointFrames(**frames()),
        ratio=jnp.asarray([2.0, -1.0, 3.0]),
        offset=jnp.asarray([0.1, 0.2, 0.3]),
        bodies=((0, 1, 1, 2), (1, 2, 2, 0), (2, 0, 0, 1)),
        coordinates=(a, b),
    )
    for a in mx.Coordinate
    for b in mx.Coordinate
}
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


def test_a_coupling_vanishes_where_the_follower_keeps_its_ratio():
    gear = mx.CouplingRows(
        leader=mx.JointFrames(**PLAIN),
        follower=mx.JointFrames(**PLAIN),
        ratio=jnp.asarray([-3.0]),
        offset=jnp.asarray([0.2]),
        bodies=((-1, 0, -1, 1),),
        coordinates=(ANGLE, ANGLE),
    )
    ground = (0.0, 0.0, 0.0, 0.0)
    meshed = at(ground, (0.0, 0.0, 0.0, 1.5), ground, (0.0, 0.0, 0.0, -4.3))
    close(gear.residual(T0, meshed), [[0.0]])
    slipped = at(ground, (0.0, 0.0, 0.0, 1.5), ground, (0.0, 0.0, 0.0, -4.2))
    close(gear.residual(T0, slipped), [[-0.1]])


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
    gear = mx.CouplingRows(
        leader=mx.JointFrames(**PLAIN),
        follower=mx.JointFrames(**PLAIN),
        ratio=jnp.asarray([-3.0]),
        offset=jnp.asarray([0.0]),
        bodies=((-1, 0, -1, 1),),
        coordinates=(ANGLE, ANGLE),
    )
    torque = mx.BodyTorques(jnp.asarray([[0.0, 0.0, 20.0]]), bodies=(0,))
    ends = []
    for solver in mx.LinearSolver:
        run = mx.simulate(
            bodies,
            state,
            0.01,
            11,
            torque,
            mx.in_order([hinges, gear]),
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

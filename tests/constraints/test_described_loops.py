"""Described loops as rows: those of a kind lie side by side, yet multipliers come loop by loop."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import maximal as mx
from linkax.constraints.described import in_turn, loop_groups
from linkax.constraints.rows import Constraints, dense_gradient
from linkax.kinematics.bodies import of_bodies, poses, with_ground
from linkax.model import (
    BodyDescription,
    CouplingDescription,
    Description,
    DistanceDescription,
    JointDescription,
    MimicDescription,
    Placement,
    VelocityDescription,
    assemble,
)
from linkax.model.library import diagonal


# Evaluated once: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
to_maximal = compiled(mx.to_maximal)
UNIT = diagonal(1.0, 1.0, 1.0)
TIP = Placement((1.0, 0.0, 0.0))
LOOPS = (
    DistanceDescription("rod", "world", "c", (0.2, 0.3, 0.4), (1.0, 0.0, 0.0), 0.7),
    JointDescription("ball", "spherical", "c", "world", TIP),
    CouplingDescription("gear", ("ja", "jc"), (3.0, -1.0), 0.1),
    CouplingDescription("screw", ("jb_angle", "jb_slide", "jc"), (0.1, -1.0, 2.0), -1.0),
    JointDescription("slot", "planar", "a", "d", TIP, axis=(1.0, 0.0, 0.0)),
    DistanceDescription("bar", "a", "d", point_b=(0.0, 0.0, 1.0)),
    CouplingDescription("belt", ("jd", "jc"), (1.0, 2.0)),
    JointDescription("pin", "revolute", "world", "d", TIP),
)
ROWS = (1, 3, 1, 1, 3, 1, 1, 5)


@ft.cache
def machine():
    """A chain with the loops; assembled, no two of them are met."""
    kinds = {"a": "revolute", "b": "cylindrical", "c": "prismatic", "d": "helical"}
    joints = [
        JointDescription(f"j{name}", kind, carrier, name, TIP, axis=(0.0, 0.6, 0.8))
        for carrier, (name, kind) in zip(("world", *kinds), kinds.items(), strict=False)
    ]
    bodies = [BodyDescription(name, 1.0, (0.1, 0.2, 0.3), UNIT) for name in kinds]
    return assemble(Description(bodies=bodies, joints=joints, loops=list(LOOPS)))


def everything(constraints: Constraints, at):
    """(residuals, gradients) in the order of the multipliers."""
    t = jnp.zeros(())
    gradients = constraints.gradient(t, at)
    residuals = constraints.stacked(constraints.residual(t, at), at.position.dtype)
    return residuals, dense_gradient(constraints, gradients, at.position.shape[0] - 1)


@ft.cache
def found():
    """(together, each alone) at poses that meet nothing."""
    rng = np.random.default_rng(5)
    q = rng.normal(size=(4, 4))
    at = with_ground(
        poses(
            jnp.asarray(rng.normal(size=(4, 3))),
            jnp.asarray(q / np.linalg.norm(q, axis=1, keepdims=True)),
        )
    )
    model, loops = machine().model, machine().loops

    @compiled
    def both(at):
        alone = [everything(loop_groups(model, [loop]), at) for loop in loops]
        return everything(loop_groups(model, loops), at), alone

    return both(at)


def test_multipliers_come_loop_by_loop():
    (residual, gradient), alone = found()
    assert [len(r) for r, _ in alone] == list(ROWS)
    np.testing.assert_allclose(residual, np.concatenate([r for r, _ in alone]), atol=1e-14)
    np.testing.assert_allclose(gradient, np.concatenate([g for _, g in alone]), atol=1e-14)
    assert np.abs(residual).min() > 1e-4


def test_loops_of_a_kind_lie_side_by_side():
    constraints = loop_groups(machine().model, machine().loops)
    kinds = [type(group) for group in constraints.groups]
    assert kinds == [mx.DistanceRows, mx.JointRows, mx.CouplingRows, mx.CouplingRows]
    assert constraints.places == (
        ((0,), (9,)),
        ((1, 2, 3, -1, -1), (6, 7, 8, -1, -1), (11, 12, 13, 14, 15)),
        ((4,), (10,)),
        ((5,),),
    )
    assert constraints.count == sum(ROWS)


def test_rows_measure_what_was_described():
    """At coordinates of the tree every residual has a plain meaning."""
    model, loops = machine().model, machine().loops
    q = jnp.asarray([0.3, 0.5, -0.2, 0.4, 0.6])  # a, b's angle, b's slide, c, d
    state = to_maximal(model, q, jnp.zeros(5))
    at = with_ground(poses(state.position, state.orientation))
    constraints = loop_groups(model, loops)
    rows = constraints.stacked(constraints.residual(state.t, at), q.dtype)
    np.testing.assert_allclose(rows[4], 3.0 * 0.3 - 0.4 + 0.1, atol=1e-14)
    np.testing.assert_allclose(rows[5], 0.1 * 0.5 + 0.2 + 2.0 * 0.4 - 1.0, atol=1e-14)
    np.testing.assert_allclose(rows[10], 0.6 + 0.8, atol=1e-14)
    place = lambda body, point: (
        np.asarray(at.position[body])
        + np.asarray(at.rotation[body]) @ np.subtract(point, (0.1, 0.2, 0.3))
    )
    tip = place(2, (1.0, 0.0, 0.0))
    np.testing.assert_allclose(rows[0], np.linalg.norm(tip - (0.2, 0.3, 0.4)) - 0.7, atol=1e-14)
    bar = np.linalg.norm(place(3, (0.0, 0.0, 1.0)) - place(0, (0.0, 0.0, 0.0)))
    start = to_maximal(model, jnp.zeros(5), jnp.zeros(5))
    first = np.asarray(start.position)
    length = np.linalg.norm(first[3] - first[0] + (0.0, 0.0, 1.0))  # no body is turned there
    np.testing.assert_allclose(rows[9], bar - length, atol=1e-14)


def test_constraints_follow_one_another():
    model = machine().model
    motion = mx.AngleRows(motion=mx.UserFunction(lambda t, p: p, jnp.zeros(())), bodies=((0,),))
    parts = [
        mx.joint_rows(model),
        loop_groups(model, LOOPS[:2] + LOOPS[4:5]),
        mx.in_order([motion]),
    ]
    whole = in_turn(parts)
    assert [type(group) for group in whole.groups] == [mx.JointRows, mx.DistanceRows, mx.AngleRows]
    assert whole.places == (
        (
            (0, 1, 2, 3, 4),
            (5, 6, 7, 8, -1),
            (9, 10, 11, 12, 13),
            (14, 15, 16, 17, 18),
            (20, 21, 22, -1, -1),
            (23, 24, 25, -1, -1),
        ),
        ((19,),),
        ((26,),),
    )
    assert whole.count == 27
    at = of_bodies(
        with_ground(poses(jnp.ones((4, 3)), jnp.ones((4, 4)) * 0.5)), ((0, 1, 2, 3, -1),)
    )
    at = jax.tree.map(lambda x: x[0], at)
    stacked = [c.stacked(c.residual(jnp.zeros(()), at), at.position.dtype) for c in parts]
    together = whole.stacked(whole.residual(jnp.zeros(()), at), at.position.dtype)
    np.testing.assert_allclose(together, np.concatenate(stacked), atol=1e-14)


def test_locked_velocities_are_no_rows():
    wheel = VelocityDescription("roll", "world", "a", ("vx",))
    with pytest.raises(
        ValueError, match="Loop `roll` locks velocities, which no condition on posit"
    ):
        loop_groups(machine().model, [wheel])


def test_mimic_joints_are_couplings_after_the_joints():
    """Among angles and slides, in all four pairings; the ratio is traced or not."""
    names = ("lead", "slide", "turn", "push", "back")
    kinds = ("revolute", "prismatic", "revolute", "prismatic", "revolute")
    mimics = (None, MimicDescription("lead", 0.1, 0.2), MimicDescription("lead", -2.0, 0.1))
    mimics = (*mimics, None, MimicDescription("push", 3.0))
    joints = [
        JointDescription(name, kind, "world", f"b_{name}", TIP, mimic=mimic)
        for name, kind, mimic in zip(names, kinds, mimics, strict=True)
    ]
    joints[3].mimic, joints[4].mimic = None, MimicDescription("push", 3.0)
    bodies = [BodyDescription(f"b_{name}", 1.0, (0.1, 0.2, 0.3), UNIT) for name in names]
    model = assemble(Description(bodies=bodies, joints=joints)).model

    def gaps(model, q):
        constraints = mx.joint_rows(model)
        state = mx.to_maximal(model, q, jnp.zeros(2))
        at = with_ground(poses(state.position, state.orientation))
        return constraints.stacked(constraints.residual(state.t, at), q.dtype)

    count = 5 * 5 + 3
    q = jnp.asarray([20.0, 0.4])
    for closed in (compiled(gaps)(model, q), compiled(ft.partial(gaps, model))(q)):
        assert closed.shape == (count,)
        np.testing.assert_allclose(closed, np.zeros(count), atol=1e-13)
    rows = mx.joint_rows(model)
    assert [type(group) for group in rows.groups][1:] == [mx.CouplingRows] * 3
    turns = [float(group.turn[0]) for group in rows.groups[1:]]
    np.testing.assert_allclose(turns, [0.2 * np.pi, 2.0 * np.pi, 2.0 * np.pi], rtol=1e-15)

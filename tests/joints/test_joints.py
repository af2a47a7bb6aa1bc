"""Every joint type answers the same questions, and its answers agree with each other."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax.joints
from linkax.joints import COVERED_BY, JOINTS, OneFreedom, Travel
from linkax.math import quaternion


PITCH = 0.3
MOVING = [*(joint for joint in JOINTS.values() if joint.nv), OneFreedom]
IDS = [joint.name for joint in MOVING]


def travel_of(joint):
    """What a model hands to the joint's functions."""
    return Travel(0.7, -0.4) if joint is OneFreedom else joint.travel(PITCH)


def pose(joint, q):
    """(rotation (3, 3), translation (3,)) of `transform`, structural numbers filled in."""
    X = joint.transform(tuple(q), travel_of(joint))
    number = lambda x: jnp.asarray(x, jnp.float64)
    R = jnp.stack([number(x) for x in X.rotation]).reshape(3, 3)
    return R, jnp.stack([number(x) for x in X.translation])


def motion(columns, v):
    """(6,) the sum of columns weighted by v."""
    flat = [
        jnp.stack([jnp.asarray(x, jnp.float64) for x in (*s.angular, *s.linear)]) for s in columns
    ]
    return sum(x * s for x, s in zip(v, flat, strict=True))


def body_twist(R, p, dR, dp):
    """The motion of M in F, in M's axes, from the rates of a pose."""
    skew = R.T @ dR
    return jnp.concatenate([jnp.stack([skew[2, 1], skew[0, 2], skew[1, 0]]), R.T @ dp])


@pytest.fixture(scope="module", params=MOVING, ids=IDS)
def case(request):
    joint = request.param
    key = jax.random.key(7)
    q = joint.random(key, jnp.float64)
    v, a = jax.random.normal(key, (2, joint.nv))
    return joint, q, v, a


def test_the_subspace_is_the_rate_of_the_pose(case):
    joint, q, v, _ = case
    rate = jnp.stack(joint.rate(tuple(q), tuple(v)))
    (R, p), (dR, dp) = jax.jvp(lambda q: pose(joint, q), (q,), (rate,))
    np.testing.assert_allclose(
        motion(joint.subspace(tuple(q), travel_of(joint)), v), body_twist(R, p, dR, dp), atol=1e-14
    )


def test_the_bias_is_the_rate_of_the_subspace(case):
    joint, q, v, _ = case
    rate = jnp.stack(joint.rate(tuple(q), tuple(v)))
    moved = lambda q: motion(joint.subspace(tuple(q), travel_of(joint)), v)
    _, change = jax.jvp(moved, (q,), (rate,))
    b = joint.bias(tuple(q), tuple(v), travel_of(joint))
    bias = jnp.stack([jnp.asarray(x, jnp.float64) for x in (*b.angular, *b.linear)])
    np.testing.assert_allclose(bias, change, atol=1e-14)


def test_the_attitude_is_the_rotation(case):
    joint, q, _, _ = case
    attitude = joint.attitude(tuple(q), travel_of(joint))
    np.testing.assert_allclose(
        jnp.stack(quaternion.rotation(attitude)).reshape(3, 3), pose(joint, q)[0], atol=1e-14
    )
    assert float(quaternion.squared_norm(attitude)) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("joint", COVERED_BY, ids=lambda joint: joint.name)
def test_the_covering_type_is_the_joint_that_it_covers(joint):
    """For the numbers that say which one: pose, subspace, attitude, number of coordinates."""
    cover, travel, q = COVERED_BY[joint], joint.travel(PITCH), (jnp.asarray(0.8),)
    assert (cover.nq, cover.nv, cover.uses_axis) == (joint.nq, joint.nv, joint.uses_axis)

    def numbers(tree):
        return [float(x) for x in jax.tree.leaves(tree)]

    for question in ("transform", "attitude", "subspace"):
        found, wanted = (numbers(getattr(kind, question)(q, travel)) for kind in (cover, joint))
        np.testing.assert_allclose(found, wanted, atol=1e-15)


@pytest.mark.parametrize("length", [0.0, 1e-9, 0.5, np.pi - 1e-7], ids=str)
def test_difference_undoes_integrate(case, length):
    joint, q, v, _ = case
    dv = length * v / jnp.linalg.norm(v)
    moved = joint.integrate(tuple(q), tuple(dv))
    np.testing.assert_allclose(
        jnp.stack(joint.difference(tuple(q), moved)), dv, atol=2e-8 if length > 3 else 1e-14
    )


def test_integrate_starts_with_the_rate(case):
    joint, q, v, _ = case
    _, slope = jax.jvp(lambda s: jnp.stack(joint.integrate(tuple(q), tuple(s * v))), (0.0,), (1.0,))
    np.testing.assert_allclose(slope, jnp.stack(joint.rate(tuple(q), tuple(v))), atol=1e-14)


def test_integrating_twice_halves_is_integrating_once(case):
    """Along a constant body motion; the group's own composition."""
    joint, q, v, _ = case
    once = joint.integrate(tuple(q), tuple(v))
    half = tuple(0.5 * v)
    np.testing.assert_allclose(
        jnp.stack(joint.integrate(joint.integrate(tuple(q), half), half)),
        jnp.stack(once),
        atol=1e-14,
    )


def test_neutral_is_where_the_frames_coincide(case):
    joint, *_ = case
    R, p = pose(joint, jnp.asarray(joint.neutral()))
    np.testing.assert_array_equal(R, np.eye(3))
    np.testing.assert_array_equal(p, np.zeros(3))


def test_random_coordinates_are_valid_and_differ(case):
    joint, *_ = case
    samples = jnp.stack([joint.random(jax.random.key(k), jnp.float64) for k in range(8)])
    assert samples.shape == (8, joint.nq)
    assert float(jnp.ptp(samples, axis=0).min()) > 0.1
    if joint.nq != joint.nv:
        np.testing.assert_allclose(jnp.linalg.norm(samples[:, :4], axis=1), 1.0, atol=1e-14)
    else:
        assert float(jnp.abs(samples).max()) <= np.pi


def test_derivatives_are_finite_at_identity_zero_and_half_turns(case):
    """Of integrate and difference, first and second, with the lanes side by side."""
    joint, q, _, _ = case
    turns = jnp.concatenate([jnp.zeros((1, joint.nv)), jnp.pi * jnp.eye(joint.nv)])

    def there_and_back(dv):
        moved = joint.integrate(tuple(q), tuple(dv))
        return jnp.stack([*moved, *joint.difference(tuple(q), moved)])

    first = jax.jit(jax.vmap(jax.jacrev(there_and_back)))(turns)
    second = jax.jit(jax.vmap(jax.jacfwd(jax.jacrev(there_and_back))))(turns)
    assert bool(jnp.all(jnp.isfinite(first)))
    assert bool(jnp.all(jnp.isfinite(second)))
    np.testing.assert_allclose(first[0, joint.nq :], np.eye(joint.nv), atol=1e-14)


def test_all_files_of_joints_define_the_same_methods_in_the_same_order():
    folder = Path(linkax.joints.__file__).parent
    orders = {}
    for name in JOINTS:
        for node in ast.parse((folder / f"{name}.py").read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name == JOINTS[name].__name__:
                orders[name] = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
    assert len(orders) == len(JOINTS) == 9
    whole = orders["floating"]
    assert whole[0] == "transform"
    for name, order in orders.items():
        assert [m for m in whole if m in order] == order, name

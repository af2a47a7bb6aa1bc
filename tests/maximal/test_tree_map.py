"""States of a tree as poses of its bodies and back, and its joints as rows."""

import functools as ft
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import compiled

import linkax as lx
from linkax import maximal as mx
from linkax.constraints import rows as row_groups
from linkax.kinematics.bodies import poses, with_ground


EXACT = {"rtol": 0, "atol": 1e-12}
LANES = 3
KINDS = [
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "floating",
]
# Which coordinates count turns without moving anything; those of a screw do move it.
ANGLES = {"revolute": [0], "cylindrical": [0], "universal": [0, 1], "planar": [0]}


class Mapped(NamedTuple):
    """A branching tree with a joint of each type, there and back; lanes first."""

    model: lx.Model
    q: np.ndarray
    v: np.ndarray
    turned: np.ndarray  # q, several turns on
    state: mx.State
    q_back: np.ndarray  # two of each: with `near` close to q, and several turns on
    v_back: np.ndarray
    closure: np.ndarray
    gradients: list
    by_autodiff: list
    energies: tuple


@ft.cache
def mapped() -> Mapped:
    tree = lx.library.random_tree(jax.random.key(0), len(KINDS), branching=0.4)
    for joint in tree.joints:
        joint.armature = 0.0
    model = lx.build(tree).model
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(1), LANES))
    v = np.random.default_rng(2).normal(size=(LANES, model.nv))
    turned = np.array(q)
    for kind, angles in ANGLES.items():
        for k, angle in enumerate(angles):
            turned[:, _coordinates(model, kind)[angle]] += 2.0 * np.pi * (3 - 5 * k)
    rows, body = mx.joint_rows(model), mx.bodies_of(model)

    def there(q, v):
        state = mx.to_maximal(model, q, v)
        energy = mx.kinetic_energy(body, state.velocity, state.angular_velocity)
        return state, (energy, lx.kinetic_energy(model, q, v))

    def back(state, q, v, turned):
        near = jnp.stack([model.integrate(q, 0.1 * v), model.integrate(turned, -0.1 * v)])
        found, speeds = jax.vmap(ft.partial(mx.to_tree, model, state))(near)
        return found, speeds[0]

    def held(state):
        at = with_ground(poses(state.position, state.orientation))
        autodiff = [
            row_groups.tangent_gradient(
                ft.partial(group.residual, state.t), row_groups.of_bodies(at, group.bodies)
            )
            for group in rows.groups
        ]
        return mx.Mechanism(body, rows).closure(state), rows.gradient(state.t, at), autodiff

    # One by one: the three in one function take the compiler longer than each on its own.
    state, energies = compiled(jax.vmap(there))(q, jnp.asarray(v))
    found = compiled(jax.vmap(back))(state, q, jnp.asarray(v), turned)
    closure = compiled(jax.vmap(held))(state)
    return Mapped(
        model, np.asarray(q), v, turned, *jax.device_get((state, *found, *closure, energies))
    )


def _body(model, kind):
    return [joint.name for joint in model.topology.joints].index(kind)


def _coordinates(model, kind):
    sizes = [joint.nq for joint in model.topology.joints]
    body = _body(model, kind)
    return np.arange(sum(sizes[:body]), sum(sizes[: body + 1]))


def _speeds(model, kind):
    sizes = [joint.nv for joint in model.topology.joints]
    body = _body(model, kind)
    return np.arange(sum(sizes[:body]), sum(sizes[: body + 1]))


def _group(kind):
    """(bodies of a joint of a type, the gradient of its rows, that by autodiff)."""
    m = mapped()
    (group,) = mx.joint_rows(m.model).groups
    at = [joint.name for joint in group.joints].index(kind)
    own = (slice(None), slice(at, at + 1), slice(group.filled[at]))
    return group.bodies[at : at + 1], m.gradients[0][own], m.by_autodiff[0][own]


LOCKING = pytest.mark.parametrize("kind", [k for k in KINDS if k != "floating"])


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_come_back_from_poses(kind):
    m = mapped()
    own = _coordinates(m.model, kind)
    assert own.size
    np.testing.assert_allclose(m.q_back[:, 0][:, own], m.q[:, own], **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_come_back_after_several_turns(kind):
    m = mapped()
    own = _coordinates(m.model, kind)
    assert (np.abs(m.turned - m.q)[:, own] > 10.0).any() == (kind in ANGLES)
    np.testing.assert_allclose(m.q_back[:, 1][:, own], m.turned[:, own], **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_speeds_come_back_from_velocities(kind):
    m = mapped()
    own = _speeds(m.model, kind)
    np.testing.assert_allclose(m.v_back[:, own], m.v[:, own], **EXACT)


def test_rows_vanish_where_the_joints_hold():
    m = mapped()
    assert m.closure.shape == (LANES, 6 * m.model.nb - m.model.nv)
    np.testing.assert_allclose(m.closure, 0.0, **EXACT)


def test_kinetic_energy_is_the_same_in_both_coordinates():
    maximal, minimal = mapped().energies
    np.testing.assert_allclose(maximal, minimal, rtol=1e-12)


@LOCKING
def test_the_closed_form_of_a_gradient_is_the_derivative_of_its_rows(kind):
    _, exact, autodiff = _group(kind)
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(exact, autodiff, **EXACT)


@LOCKING
def test_motions_that_the_joints_allow_do_no_work_on_their_rows(kind):
    m = mapped()
    bodies, gradient, _ = _group(kind)
    motion = np.concatenate([m.state.angular_velocity, m.state.velocity], axis=-1)
    index = np.asarray(bodies)
    moving = np.where((index >= 0)[None, :, :, None], motion[:, index], 0.0)
    np.testing.assert_allclose(np.einsum("lkras,lkas->lkr", gradient, moving), 0.0, **EXACT)


@LOCKING
def test_rows_of_a_joint_are_independent(kind):
    _, gradient, _ = _group(kind)
    rows = gradient.reshape(-1, gradient.shape[2], 12)
    assert (np.linalg.svd(rows, compute_uv=False)[:, -1] > 1e-2).all()


@ft.cache
def screw():
    """A screw turned by several turns: (coordinates, speeds, what comes back, the closure)."""
    tree = lx.library.random_tree(jax.random.key(4), 1, ("helical",))
    tree.joints[0].armature = 0.0
    model = lx.build(tree).model
    q, v = jnp.asarray([-23.0]), jnp.asarray([0.4])

    def there_and_back(q, v):
        state = mx.to_maximal(model, q, v)
        mechanism = mx.Mechanism(mx.bodies_of(model), mx.joint_rows(model))
        return mx.to_tree(model, state, q + 0.3), mechanism.closure(state)

    return q, v, *jax.device_get(compiled(there_and_back)(q, v))


def test_a_screw_comes_back_after_several_turns_and_its_row_vanishes():
    q, v, (q_back, v_back), closure = screw()
    np.testing.assert_allclose(q_back, q, **EXACT)
    np.testing.assert_allclose(v_back, v, **EXACT)
    np.testing.assert_allclose(closure, 0.0, **EXACT)


def test_a_state_without_speeds_is_at_rest():
    model = lx.build(lx.library.double_pendulum()).model
    state = mx.to_maximal(model, jnp.asarray([0.3, 0.2]), t=1.5)
    np.testing.assert_array_equal(state.velocity, 0.0)
    np.testing.assert_array_equal(state.angular_velocity, 0.0)
    assert state.t == 1.5
    assert not state.averaged

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
from linkax.maximal import rows as row_groups
from linkax.maximal.bodies import poses, with_ground


EXACT = {"rtol": 0, "atol": 1e-12}
LANES = 3
KINDS = [
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "floating",
]


class Mapped(NamedTuple):
    """A chain of two joints of one type, then back and forth; lanes first."""

    model: lx.Model
    q: np.ndarray
    v: np.ndarray
    state: mx.State
    q_back: np.ndarray  # with `near` close
    v_back: np.ndarray
    q_turned: np.ndarray  # back from several turns away
    turned: np.ndarray  # where that was
    closure: np.ndarray
    gradients: list
    by_autodiff: list


def _whole_turns(model, kind):
    """What leaves all poses alone but not q: turns of angles; helical joints move along with theirs."""
    if kind not in ("revolute", "continuous", "cylindrical", "universal", "planar"):
        return np.zeros(model.nq)
    angle = {"cylindrical": [1, 0], "universal": [1, -1], "planar": [1, 0, 0]}.get(kind, [1])
    return 2.0 * np.pi * np.concatenate([3.0 * np.array(angle), -2.0 * np.array(angle)])


@ft.cache
def mapped(kind) -> Mapped:
    model = lx.build(lx.library.random_tree(jax.random.key(4), 2, (kind,))).model
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(5), LANES))
    v = jnp.asarray(np.random.default_rng(6).normal(size=(LANES, model.nv)))
    rows = mx.joint_rows(model)
    turns = _whole_turns(model, kind)

    def there_and_back(q, v):
        state = mx.to_maximal(model, q, v)
        close = model.integrate(q, 0.1 * v)
        back, speeds = mx.to_tree(model, state, close)
        turned, _ = mx.to_tree(model, state, q + turns)
        at = with_ground(poses(state.position, state.orientation))
        closure = mx.Mechanism(mx.bodies_of(model), rows).closure(state)
        exact = rows.gradient(state.t, at)
        autodiff = [
            row_groups.tangent_gradient(
                ft.partial(group.residual, state.t), row_groups.of_bodies(at, group.bodies)
            )
            for group in rows.groups
        ]
        return state, back, speeds, turned, q + turns, closure, exact, autodiff

    found = compiled(jax.vmap(there_and_back))(q, v)
    return Mapped(model, *jax.device_get((q, v, *found)))


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_come_back_from_poses(kind):
    m = mapped(kind)
    np.testing.assert_allclose(m.q_back, m.q, **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_come_back_after_several_turns(kind):
    m = mapped(kind)
    np.testing.assert_allclose(m.q_turned, m.turned, **EXACT)


def test_the_screw_of_a_helical_joint_counts_its_turns_by_itself():
    model = mapped("helical").model
    q = jnp.asarray([9.0, -23.0])
    v = jnp.asarray([0.4, -0.3])

    def closed(q):
        state = mx.to_maximal(model, q, v)
        return mx.to_tree(model, state, q + 0.3), mx.Mechanism(
            mx.bodies_of(model), mx.joint_rows(model)
        ).closure(state)

    (back, speeds), closure = compiled(closed)(q)
    np.testing.assert_allclose(back, q, **EXACT)
    np.testing.assert_allclose(speeds, v, **EXACT)
    np.testing.assert_allclose(closure, 0.0, **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_speeds_come_back_from_velocities(kind):
    m = mapped(kind)
    np.testing.assert_allclose(m.v_back, m.v, **EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_vanish_where_the_joints_hold(kind):
    m = mapped(kind)
    locked = sum(joint.locked_rows() for joint in m.model.topology.joints)
    assert m.closure.shape == (LANES, locked) == (LANES, 6 * m.model.nb - m.model.nv)
    np.testing.assert_allclose(m.closure, 0.0, **EXACT)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "floating"])
def test_the_closed_form_of_a_gradient_is_the_derivative_of_its_rows(kind):
    m = mapped(kind)
    for exact, autodiff in zip(m.gradients, m.by_autodiff, strict=True):
        np.testing.assert_allclose(exact, autodiff, **EXACT)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "floating"])
def test_motions_that_the_joints_allow_do_no_work_on_their_rows(kind):
    m = mapped(kind)
    motion = np.concatenate([m.state.angular_velocity, m.state.velocity], axis=-1)
    groups = mx.joint_rows(m.model).groups
    for group, g in zip(groups, m.gradients, strict=True):
        index = np.asarray(group.bodies)
        moving = np.where((index >= 0)[None, :, :, None], motion[:, index], 0.0)
        np.testing.assert_allclose(np.einsum("lkras,lkas->lkr", g, moving), 0.0, **EXACT)


@ft.cache
def mixed():
    """A branching tree of all joint types at once: (its coordinates, what comes back, the closure)."""
    model = lx.build(lx.library.random_tree(jax.random.key(0), 8, branching=0.4)).model
    q = model.random(jax.random.key(1))
    v = jnp.asarray(np.random.default_rng(2).normal(size=model.nv))

    def there_and_back(q, v):
        state = mx.to_maximal(model, q, v)
        mechanism = mx.Mechanism(mx.bodies_of(model), mx.joint_rows(model))
        energy = mx.kinetic_energy(mechanism.bodies, state.velocity, state.angular_velocity)
        both = energy, lx.kinetic_energy(model, q, v)
        return mx.to_tree(model, state, q), mechanism.closure(state), both

    return (q, v), *jax.device_get(compiled(there_and_back)(q, v))


def test_a_tree_of_all_joint_types_comes_back():
    (q, v), (q_back, v_back), closure, _ = mixed()
    np.testing.assert_allclose(q_back, q, **EXACT)
    np.testing.assert_allclose(v_back, v, **EXACT)
    np.testing.assert_allclose(closure, 0.0, **EXACT)


def test_kinetic_energy_is_the_same_in_both_coordinates():
    *_, (maximal, minimal) = mixed()
    np.testing.assert_allclose(maximal, minimal, rtol=1e-12)

"""Coordinates move along the group: integrate, difference and rate of all joint types agree."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import library


LANES = 8


@ft.cache
def model():
    return lx.build(library.random_tree(jax.random.key(8), 9)).model


@pytest.fixture(scope="module")
def states():
    """(q, dv, q1): random coordinates, steps of at most 0.8 in each speed, other random coordinates."""
    keys = jax.random.split(jax.random.key(2), (2, LANES))
    q, other = (np.asarray(jax.vmap(model().random)(k)) for k in keys)
    dv = np.random.default_rng(4).uniform(-0.8, 0.8, (LANES, model().nv))
    return q, dv, other


def same_attitude(found, expected, atol):
    """Equal coordinates, a quaternion and its negative being one attitude."""
    m = model()
    start = 0
    for body in m.topology.free_bodies:
        joint = m.topology.joints[body]
        a, b = (x[:, start : start + joint.nq] for x in (found, expected))
        start += joint.nq
        if joint.nq > joint.nv:
            sign = np.sign(np.sum(a[:, :4] * b[:, :4], axis=-1, keepdims=True))
            a = np.concatenate([sign * a[:, :4], a[:, 4:]], axis=-1)
        np.testing.assert_allclose(a, b, atol=atol)


def test_difference_undoes_integrate(states):
    q, dv, _ = states
    m = model()
    back = jax.jit(jax.vmap(lambda q, dv: m.difference(q, m.integrate(q, dv))))(q, dv)
    np.testing.assert_allclose(back, dv, atol=1e-13)


def test_integrate_undoes_difference(states):
    q, _, other = states
    m = model()
    reached = jax.jit(jax.vmap(lambda q, r: m.integrate(q, m.difference(q, r))))(q, other)
    # Random attitudes come near half a turn, where the rotation vector loses digits.
    same_attitude(np.asarray(reached), other, 1e-11)


def test_nothing_integrated_leaves_everything(states):
    q, dv, _ = states
    m = model()
    still = jax.jit(jax.vmap(m.integrate))(q, np.zeros_like(dv))
    np.testing.assert_allclose(still, q, atol=1e-15)
    none = jax.jit(jax.vmap(m.difference))(q, q)
    np.testing.assert_allclose(none, np.zeros_like(dv), atol=1e-15)


def test_the_rate_is_the_derivative_of_integrate(states):
    q, v, _ = states
    m = model()

    def slope(q, v):
        return jax.jvp(lambda t: m.integrate(q, t * v), (jnp.zeros(()),), (jnp.ones(()),))[1]

    found = jax.jit(jax.vmap(slope))(q, v)
    np.testing.assert_allclose(found, jax.vmap(m.rate)(q, v), atol=1e-14)


def test_the_tangent_map_at_no_step_is_the_identity(states):
    q, dv, _ = states
    m = model()

    def tangent(q):
        return jax.jacfwd(lambda dv: m.difference(q, m.integrate(q, dv)))(jnp.zeros(m.nv))

    found = jax.jit(jax.vmap(tangent))(q)
    np.testing.assert_allclose(found, np.broadcast_to(np.eye(m.nv), found.shape), atol=1e-13)


def test_a_step_in_two_halves_is_the_step(states):
    q, dv, _ = states
    m = model()

    def halves(q, dv):
        return m.integrate(m.integrate(q, 0.5 * dv), 0.5 * dv)

    found = jax.jit(jax.vmap(halves))(q, dv)
    np.testing.assert_allclose(found, jax.vmap(m.integrate)(q, dv), atol=1e-14)


def test_an_integrated_step_moves_bodies_by_its_speeds(states):
    """The distance that a short step moves the bodies is their velocity times its length, to second order."""
    q, v, _ = states
    m = model()

    def moved(q, v, h):
        return lx.kinematics(m, m.integrate(q, h * v)).position

    both = jax.jit(jax.vmap(lambda q, v: (moved(q, v, 1e-6) - moved(q, v, -1e-6)) / 2e-6))(q, v)
    velocity = jax.jit(jax.vmap(lambda q, v: lx.kinematics(m, q, v).velocity))(q, v)
    np.testing.assert_allclose(both, velocity, atol=1e-8)

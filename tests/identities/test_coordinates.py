"""Coordinates move along the group: integrate, difference and rate of all joint types agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import library


LANES = 8


@pytest.fixture(scope="module")
def model():
    return lx.build(library.random_tree(jax.random.key(8), 9)).model


@pytest.fixture(scope="module")
def states(model):
    """(q, dv, other): random coordinates, steps of at most 0.8 in each speed, other random coordinates."""
    keys = jax.random.split(jax.random.key(2), (2, LANES))
    q, other = np.asarray(jax.jit(jax.vmap(jax.vmap(model.random)))(keys))
    return q, np.random.default_rng(4).uniform(-0.8, 0.8, (LANES, model.nv)), other


@pytest.fixture(scope="module")
def found(model, states):
    """All that is compared, from one compiled function."""

    def everything(q, dv, other):
        still, time = jnp.zeros_like(dv), jnp.zeros(())
        step = model.integrate(q, dv)
        return {
            "step": step,
            "back": model.difference(q, step),
            "reached": model.integrate(q, model.difference(q, other)),
            "still": model.integrate(q, still),
            "none": model.difference(q, q),
            "slope": jax.jvp(lambda t: model.integrate(q, t * dv), (time,), (jnp.ones(()),))[1],
            "rate": model.rate(q, dv),
            "tangent": jax.jacfwd(lambda d: model.difference(q, model.integrate(q, d)))(still),
            "halves": model.integrate(model.integrate(q, 0.5 * dv), 0.5 * dv),
        }

    return jax.device_get(jax.jit(jax.vmap(everything))(*states))


def unsigned(model, q):
    """Coordinates whose quaternions have their largest component positive: one of each attitude's two."""
    q, start = np.array(q), 0
    for body in model.topology.free_bodies:
        joint = model.topology.joints[body]
        if joint.nq > joint.nv:
            part = q[:, start : start + 4]
            largest = np.take_along_axis(part, np.abs(part).argmax(axis=1)[:, None], axis=1)
            part *= np.sign(largest)
        start += joint.nq
    return q


def test_difference_undoes_integrate(states, found):
    np.testing.assert_allclose(found["back"], states[1], atol=1e-13)


def test_integrate_undoes_difference(model, states, found):
    # Random attitudes come near half a turn, where the rotation vector loses digits.
    reached, other = (unsigned(model, x) for x in (found["reached"], states[2]))
    np.testing.assert_allclose(reached, other, atol=1e-11)


def test_nothing_integrated_leaves_everything(states, found):
    np.testing.assert_allclose(found["still"], states[0], atol=1e-15)
    np.testing.assert_allclose(found["none"], np.zeros_like(states[1]), atol=1e-15)


def test_the_rate_is_the_derivative_of_integrate(found):
    np.testing.assert_allclose(found["slope"], found["rate"], atol=1e-14)


def test_the_tangent_map_at_no_step_is_the_identity(model, found):
    tangent = found["tangent"]
    np.testing.assert_allclose(
        tangent, np.broadcast_to(np.eye(model.nv), tangent.shape), atol=1e-13
    )


def test_a_step_in_two_halves_is_the_step(found):
    np.testing.assert_allclose(found["halves"], found["step"], atol=1e-14)

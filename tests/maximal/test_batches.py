"""A batch is its samples one by one, whatever becomes of the others; float32 follows float64."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import compiled

from linkax import maximal as mx


DT, POINTS = 0.01, 31
GOOD = {"mass": 1.0, "length": 1.0, "spin": 1.0, "held": 1.0}
LANES = {
    "good": GOOD,
    "heavy": GOOD | {"mass": 3.0, "spin": -2.0},
    "weightless": GOOD | {"mass": -1.0},
    "too fast": GOOD | {"spin": 250.0},
    "not a number": GOOD | {"spin": np.nan},
    # A constraint that becomes an equation without unknowns half way.
    "lost": GOOD | {"held": 0.0},
    "long": GOOD | {"length": 1.5},
}
FINE = ["good", "heavy", "long"]
STATUS = {
    "weightless": mx.Status.invalid,
    "too fast": mx.Status.invalid,
    "not a number": mx.Status.invalid,
    "lost": mx.Status.singular,
}


def run(lane, gravity, real=jnp.float64):
    """A body hung from a point by a rod of its own, spinning."""

    def rod(t, x, q, params):
        length, held = params
        kept = jnp.sum(x[0] * x[0])[None] - length**2
        return jnp.where((t > 0.155) & (held < 0.5), jnp.ones_like(kept), kept)

    zero = 0.0 * lane["length"]
    x = lane["length"] * jnp.asarray([0.8, 0.0, -0.6], real)
    w = jnp.stack([lane["spin"], 0.5 + zero, -0.3 + zero])
    q = jnp.asarray([[1.0, 0.0, 0.0, 0.0]], real)
    inertia = jnp.asarray([[0.1, 0.2, 0.25]], real)
    body = mx.Bodies(lane["mass"][None], inertia)
    state = mx.State(x[None], q, None, w[None])
    return mx.simulate(
        body, state, DT, POINTS, mx.Gravity(gravity), rod, params=(lane["length"], lane["held"])
    )


def batch(real=jnp.float64):
    return {k: jnp.asarray([lane[k] for lane in LANES.values()], real) for k in GOOD}


GRAVITY = jnp.asarray([0.0, 0.5, -9.81])


@ft.cache
def together():
    return jax.device_get(compiled(jax.vmap(run, (0, None)))(batch(), GRAVITY))


@ft.cache
def alone():
    one = compiled(run)
    lanes = [lane_of(batch(), name) for name in LANES]
    return [jax.device_get(one(lane, GRAVITY)) for lane in lanes]


def lane_of(tree, name):
    return jax.tree.map(lambda x: x[list(LANES).index(name)], tree)


@pytest.mark.parametrize("name", FINE)
def test_a_lane_of_a_batch_is_its_solo_run(name):
    own = alone()[list(LANES).index(name)]
    found = lane_of(together(), name)
    assert own.converged and found.converged
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(own), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_only_the_lanes_that_failed_say_so():
    found = together()
    for name in LANES:
        wanted = STATUS.get(name, mx.Status.completed)
        assert lane_of(found.status, name) == wanted, name
        assert lane_of(found.converged, name) == (name in FINE), name
    np.testing.assert_array_equal(found.jacobian_singular, [n == "lost" for n in LANES])


def test_a_run_that_could_not_begin_keeps_its_start_and_nothing_else():
    for name in ("weightless", "too fast"):
        found = lane_of(together(), name)
        assert found.completed_steps == 0
        assert found.iterations == 0
        np.testing.assert_allclose(found.position[0], [[0.8, 0.0, -0.6]], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(found.position[1:], 0.0)
        np.testing.assert_array_equal(found.orientation[1:, 0], np.eye(4)[[0] * (POINTS - 1)])
        np.testing.assert_array_equal(found.multipliers, 0.0)


def test_a_lane_that_is_lost_half_way_is_right_up_to_there():
    good, lost = (lane_of(together(), name) for name in ("good", "lost"))
    assert lost.completed_steps == 15
    np.testing.assert_allclose(lost.position[:16], good.position[:16], rtol=0, atol=1e-12)
    np.testing.assert_allclose(lost.multipliers[:15], good.multipliers[:15], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(lost.position[16:], 0.0)
    np.testing.assert_array_equal(lost.multipliers[15:], 0.0)
    np.testing.assert_array_equal(lost.orientation[16:, 0], np.eye(4)[[0] * (POINTS - 16)])


@pytest.mark.slow
def test_lanes_that_failed_spoil_no_gradient_of_the_batch():
    """The derivative by the gravity that all share is that of the good lanes, and finite."""

    def ends(gravity, lanes):
        found = jax.vmap(run, (0, None))(lanes, gravity)
        fine = found.converged[:, None]
        return jnp.sum(jnp.where(fine, found.position[:, -1, 0], jnp.zeros((1, 3))))

    slope = compiled(jax.grad(ends))
    everything = slope(GRAVITY, batch())
    # The same program: what does not count is replaced by what does, and then taken off.
    sound = jax.tree.map(lambda x: jnp.where(np.isin(list(LANES), FINE), x, x[0]), batch())
    repeated = len(LANES) - len(FINE)
    only = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), batch())
    wanted = slope(GRAVITY, sound) - repeated / len(LANES) * slope(GRAVITY, only)
    assert np.isfinite(everything).all()
    np.testing.assert_allclose(everything, wanted, rtol=0, atol=1e-12)


def test_float32_follows_float64():
    single = jax.device_get(
        compiled(jax.vmap(ft.partial(run, real=jnp.float32), (0, None)))(
            batch(jnp.float32), GRAVITY.astype(jnp.float32)
        )
    )
    for name in FINE:
        found, wanted = lane_of(single, name), lane_of(together(), name)
        assert found.converged
        assert found.position.dtype == np.float32
        np.testing.assert_allclose(found.position, wanted.position, rtol=0, atol=1e-4)
        np.testing.assert_allclose(found.orientation, wanted.orientation, rtol=0, atol=1e-4)

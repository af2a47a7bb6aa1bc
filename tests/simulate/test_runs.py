"""Runs: what is saved, what drives them, how they fail, and what their gradients are."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx


DT = 0.01


def take_lane(lane, x):
    return x[lane]


@pytest.fixture(scope="module")
def system():
    return lx.build(lx.library.double_pendulum())


@pytest.fixture(scope="module")
def torques():
    return jax.random.normal(jax.random.key(0), (7, 2))


@pytest.fixture(scope="module")
def every_step(system, torques):
    return jax.jit(lambda s: lx.simulate(s, dt=DT, steps=7, controls=torques))(system)


def test_every_third_step_is_saved_and_the_last(system, torques, every_step):
    run = jax.jit(lambda s: lx.simulate(s, dt=DT, steps=7, save_every=3, controls=torques))(system)
    np.testing.assert_array_equal(run.t, every_step.t[jnp.asarray([0, 3, 6, 7])])
    np.testing.assert_allclose(run.q, every_step.q[jnp.asarray([0, 3, 6, 7])], rtol=0, atol=1e-14)
    assert int(run.completed_steps) == 7
    np.testing.assert_array_equal(run.final.q, run.q[-1])


def test_a_run_is_its_steps_one_by_one(system, torques, every_step):
    step = jax.jit(lambda state, tau: lx.step(system, state, tau, DT))
    state = system.initial_state()
    for k in range(7):
        state = step(state, torques[k])
        np.testing.assert_allclose(state.q, every_step.q[k + 1], rtol=0, atol=1e-14)


def test_controls_may_be_a_function_of_time_and_state(system, torques, every_step):
    def held(t, state):
        return torques[jnp.floor(t / DT + 0.5).astype(int)] + 0.0 * state.v

    run = jax.jit(lambda s: lx.simulate(s, dt=DT, steps=7, controls=held))(system)
    np.testing.assert_allclose(run.q, every_step.q, rtol=0, atol=1e-13)


@pytest.fixture(scope="module")
def gradients(system):
    """By the steps between saved points: a gradient through 200 steps, and the bytes it takes."""
    start = system.initial_state()

    def compiled(save_every):
        def cost(q, tau):
            state = eqx.tree_at(lambda s: s.q, start, q)
            controls = jnp.broadcast_to(tau, (200, 2))
            run = lx.simulate(
                system, state, dt=1e-3, steps=200, save_every=save_every, controls=controls
            )
            return jnp.sum(run.final.v**2)

        call = jax.jit(jax.grad(cost, (0, 1))).lower(start.q, jnp.ones(2)).compile()
        return call(start.q, jnp.ones(2)), call.memory_analysis().temp_size_in_bytes

    return {save_every: compiled(save_every) for save_every in (1, 40, 200)}


def test_memory_of_a_gradient_does_not_grow_with_the_steps_between_saved_points(gradients):
    assert gradients[200][1] <= 2 * gradients[1][1]  # 5.5 times if a chunk keeps all its steps


def test_a_gradient_through_segments_is_that_of_the_steps_without_any(system, gradients):
    start = system.initial_state()

    def cost(q, tau):
        def one(state, _):
            return lx.step(system, state, tau, 1e-3), None

        first = eqx.tree_at(lambda s: s.q, start, q)
        return jnp.sum(jax.lax.scan(one, first, length=200)[0].v ** 2)

    wanted = jax.jit(jax.grad(cost, (0, 1)))(start.q, jnp.ones(2))
    for found, _ in gradients.values():
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=0)


def test_time_is_counted_not_summed(system):
    run = jax.jit(lambda s: lx.simulate(s, dt=0.003, steps=1000, save_every=1000))(system)
    assert float(run.t[-1]) == pytest.approx(1000 * 0.003, abs=1e-15)  # a sum is 2e-14 off


def test_analyses_see_the_saved_points_and_callbacks_change_the_state(system):
    def damp(system, state):
        return eqx.tree_at(lambda s: s.v, state, 0.5 * state.v)

    run = jax.jit(
        lambda s: lx.simulate(
            s, dt=DT, steps=4, save_every=2, analyses=(lx.energy,), callbacks=(damp,)
        )
    )(system)
    (energies,) = run.analyses
    assert energies.shape == (3, 2)
    point = lx.State(run.t[1], run.q[1], run.v[1], run.z[1])
    np.testing.assert_allclose(energies[1], lx.energy(system, point), rtol=1e-13)
    free = jax.jit(lambda s: lx.simulate(s, dt=DT, steps=4))(system)
    assert float(jnp.abs(run.v[-1]).max()) < 0.3 * float(jnp.abs(free.v[-1]).max())


def test_a_failing_lane_stops_alone_and_says_so(system):
    start = system.initial_state()
    speeds = jnp.asarray([[0.0, 0.0], [1e160, 0.0], [1.0, -1.0]])
    lanes = jax.vmap(lambda v: eqx.tree_at(lambda s: s.v, start, v))(speeds)
    one = lambda s: lx.simulate(system, s, dt=DT, steps=5)
    many = jax.jit(jax.vmap(one))(lanes)
    assert [int(c) for c in many.completed_steps] == [5, int(many.completed_steps[1]), 5]
    assert int(many.completed_steps[1]) < 5
    good = many.status == lx.Status.completed
    np.testing.assert_array_equal(good, [True, False, True])
    assert bool(jnp.all(jnp.isfinite(many.q)))
    alone = jax.jit(one)
    for lane in (0, 2):
        solo = alone(jax.tree.map(ft.partial(take_lane, lane), lanes))
        np.testing.assert_allclose(many.q[lane], solo.q, rtol=0, atol=1e-12)

    def height(s):
        return jnp.sum(one(s).final.q ** 2)

    gradient = jax.jit(jax.vmap(jax.grad(height)))(lanes)
    assert bool(jnp.all(jnp.isfinite(gradient.v[jnp.asarray([0, 2])])))


def test_throw_raises_the_sentence_of_the_status(system):
    start = eqx.tree_at(lambda s: s.v, system.initial_state(), jnp.asarray([1e160, 0.0]))
    run = eqx.filter_jit(lambda s: lx.simulate(system, s, dt=DT, steps=3, throw=True).q)
    with pytest.raises(Exception, match="not finite"):
        jax.block_until_ready(run(start))


def test_the_gradient_of_a_run_is_its_central_difference_whatever_is_saved(system, torques):
    def cost(system, tau, v, save_every=1):
        start = eqx.tree_at(lambda s: s.v, system.initial_state(), v)
        run = lx.simulate(system, start, dt=DT, steps=7, controls=tau, save_every=save_every)
        return jnp.sum(run.final.q**2) + jnp.sum(run.final.v * jnp.asarray([0.3, 0.1]))

    v = jnp.asarray([0.5, -0.4])
    gradients = [
        jax.jit(jax.grad(ft.partial(cost, save_every=k), argnums=(0, 1, 2), allow_int=True))(
            system, torques, v
        )
        for k in (1, 3)
    ]
    (by_system, by_tau, by_v), (by_system3, by_tau3, by_v3) = gradients
    np.testing.assert_allclose(by_tau, by_tau3, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_v, by_v3, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(by_system.model.mass, by_system3.model.mass, rtol=1e-11, atol=1e-13)
    value = jax.jit(cost)
    h = 1e-6
    for k in range(2):
        e = h * jnp.eye(2)[k]
        numeric = (value(system, torques, v + e) - value(system, torques, v - e)) / (2 * h)
        assert float(by_v[k]) == pytest.approx(float(numeric), rel=1e-6, abs=1e-8)
        heavier, lighter = (
            eqx.tree_at(lambda s: s.model.mass, system, system.model.mass + s * e) for s in (1, -1)
        )
        numeric = (value(heavier, torques, v) - value(lighter, torques, v)) / (2 * h)
        assert float(by_system.model.mass[k]) == pytest.approx(float(numeric), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"steps": 0}, "`steps` must be at least 1, but is 0"),
        ({"steps": 3, "save_every": 0}, "`save_every` must be at least 1, but is 0"),
        ({"steps": 3, "controls": np.zeros((3, 5))}, r"must have shape \(3, 2\)"),
        ({"steps": 3, "controls": np.zeros((2, 2))}, r"has shape \(2, 2\)"),
    ],
)
def test_a_run_that_cannot_be_is_refused_in_one_sentence(system, arguments, sentence):
    controls = arguments.pop("controls", None)
    controls = None if controls is None else jnp.asarray(controls)
    with pytest.raises(ValueError, match=sentence):
        lx.simulate(system, dt=DT, controls=controls, **arguments)

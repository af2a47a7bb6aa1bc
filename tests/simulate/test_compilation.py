"""One compilation a model and shape: physical numbers never compile anew, states keep their types."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import linkax as lx


@pytest.fixture(scope="module", params=[jnp.float64, jnp.float32], ids=["f64", "f32"])
def system(request):
    return lx.build(lx.library.double_pendulum(), dtype=request.param)


def test_a_second_call_a_mass_a_gravity_and_a_dt_do_not_compile(system):
    traces = []

    @jax.jit
    def step(system, state, dt):
        traces.append(1)
        return lx.step(system, state, None, dt, lx.RungeKutta4())

    state = system.initial_state()
    dt = jnp.asarray(0.01, state.q.dtype)
    state = step(system, state, dt)
    state = step(system, state, dt)
    heavier = eqx.tree_at(lambda s: s.model.mass, system, 2.0 * system.model.mass)
    state = step(heavier, state, dt)
    moon = eqx.tree_at(lambda s: s.model.gravity, system, system.model.gravity / 6.0)
    state = step(moon, state, 2.0 * dt)
    fresh = lx.state_of(state.q, state.v, 0.5)
    step(system, fresh, dt)
    assert len(traces) == 1
    assert step._cache_size() == 1


def test_a_rebuilt_model_shares_the_compilation_and_another_topology_does_not(system):
    dtype = system.model.dtype
    solve = jax.jit(ft.partial(lx.forward_dynamics))  # its own cache
    zeros = jnp.zeros((2,), dtype)
    again = lx.build(lx.library.double_pendulum(), dtype=dtype)
    for model in (system.model, again.model):
        solve(model, zeros, zeros, zeros)
    assert solve._cache_size() == 1
    renamed = lx.library.double_pendulum()
    renamed.joints[0].name = "another"
    solve(lx.build(renamed, dtype=dtype).model, zeros, zeros, zeros)
    assert solve._cache_size() == 2


@pytest.mark.parametrize(
    "integrator",
    [lx.SemiImplicitEuler(), lx.LieMidpoint(), lx.RungeKutta4()],
    ids=lambda i: type(i).__name__,
)
def test_types_are_the_same_before_and_after_a_step(system, integrator):
    state = system.initial_state()
    after = jax.eval_shape(lambda s: lx.step(system, s, None, 0.01, integrator), state)
    for old, new in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype)
        assert not old.weak_type
        assert not new.weak_type


def test_every_leaf_is_a_strong_array_of_one_precision(system):
    for leaf in jax.tree.leaves(system):
        assert isinstance(leaf, jax.Array)
        assert leaf.dtype == system.model.dtype
        assert not leaf.weak_type


def test_a_batch_of_models_is_one_compilation_and_equals_the_loop():
    """Field report O48: pendulums of three lengths and masses; by scaling all fall alike."""
    base = lx.build(lx.library.pendulum())
    lengths, masses = jnp.asarray([0.25, 1.0, 4.0]), jnp.asarray([0.5, 1.0, 2.0])

    def falling(length, mass):
        where = lambda s: (s.model.mass, s.model.com)
        scaled = (mass * jnp.ones_like(base.model.mass), base.model.com * length)
        system = eqx.tree_at(where, base, scaled)
        dt = 0.5 * jnp.sqrt(length) / 200
        return lx.simulate(system, dt=dt, steps=200, integrator=lx.RungeKutta4()).final.q[0]

    together = jax.jit(jax.vmap(falling))(lengths, masses)
    alone = jax.jit(falling)
    for lane in range(3):
        assert float(together[lane]) == pytest.approx(
            float(alone(lengths[lane], masses[lane])), abs=1e-12
        )
    assert alone._cache_size() == 1
    assert jnp.ptp(together) < 1e-9

"""Energy, order and symmetry of the variational step and of compositions of it, through `lx.simulate`."""

import functools as ft
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from machines import compiled

import linkax as lx
from linkax import maximal as mx
from linkax.maximal.discrete import Exponential, HalfSine
from linkax.maximal.momentum_step import momentum_advance


CONFIGS = Path(__file__).parents[2] / "configs"
METHODS = {
    "variational": lx.Variational(),
    "three stages": lx.Composition(stages=3),
    "five stages": lx.Composition(),
}
STEPS = 50


@ft.cache
def pendulum():
    return lx.load(CONFIGS / "double_pendulum.toml", formulation="maximal")


@ft.cache
def run(method):
    """50 steps whose length is an argument: one compilation a method."""
    return compiled(
        lambda state, dt: lx.simulate(
            pendulum(),
            state,
            dt=dt,
            steps=STEPS,
            integrator=METHODS[method],
            analyses=(lx.energy,),
        )
    )


def cross(method, dt, runs):
    """(the end, kinetic and potential energy at all points) of runs that go on from each other."""
    state, energies = METHODS[method].prepare(pendulum(), pendulum().initial_state()), []
    for _ in range(runs):
        found = run(method)(state, jnp.asarray(dt))
        assert found.status == lx.Status.completed
        energies.append(found.analyses[0])
        state = found.final
    return state, np.concatenate(energies)


def distance(a, b):
    return max(float(jnp.max(jnp.abs(a.q - b.q))), float(jnp.max(jnp.abs(a.v - b.v))))


@pytest.mark.parametrize(
    ("method", "bound"), [("variational", 2e-3), ("three stages", 3e-5), ("five stages", 1e-6)]
)
def test_the_energy_of_a_double_pendulum_is_kept(method, bound):
    _, energies = cross(method, 1e-2, 20)
    error = np.abs(energies.sum(axis=1) - energies[0].sum())
    assert error.max() < bound * np.ptp(energies[:, 0])


@ft.cache
def exact():
    return cross("five stages", 1.25e-3, 8)[0]


@pytest.mark.parametrize(
    ("method", "order"), [("variational", 2), ("three stages", 4), ("five stages", 4)]
)
def test_a_run_converges_at_its_order(method, order):
    errors = [distance(cross(method, 1e-2 / 2**k, 2**k)[0], exact()) for k in (0, 1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15), errors


@pytest.mark.parametrize("method", ["three stages", "five stages"])
def test_composed_steps_backwards_lead_back(method):
    start, _ = cross(method, 1e-2, 1)
    there = run(method)(start, jnp.asarray(1e-2)).final
    back = run(method)(there, jnp.asarray(-1e-2)).final
    assert distance(there, start) > 0.1
    assert distance(back, start) < 1e-11


def test_a_step_from_momenta_to_momenta_is_its_own_inverse():
    system = pendulum()
    state = mx.to_maximal(system.model, jnp.asarray([0.6, -0.9]), jnp.asarray([1.0, -2.0]))
    settings = mx.Settings(chart=Exponential)

    @compiled
    def advance(state, h):
        return momentum_advance(system.mechanism, state, h, settings)

    there, multipliers, good = advance(state, jnp.asarray(0.02))
    back, _, also = advance(there, jnp.asarray(-0.02))
    assert good and also
    assert np.abs(multipliers).max() > 1.0
    assert np.abs(there.position - state.position).max() > 1e-3
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(back, name), getattr(state, name), rtol=0, atol=1e-13)


def test_steps_from_momenta_evaluate_loads_at_their_ends():
    state = mx.to_maximal(pendulum().model, jnp.zeros(2))
    settings = mx.Settings(load_evaluation=mx.LoadEvaluation.MIDPOINT)
    with pytest.raises(ValueError, match="`load_evaluation` is MIDPOINT; use LEFT"):
        momentum_advance(pendulum().mechanism, state, jnp.asarray(0.01), settings)


@pytest.mark.parametrize("chart", [HalfSine, Exponential])
def test_angular_momentum_in_space_is_kept_to_rounding(chart):
    """A body spun about its middle axis turns over again and again for 100 s."""
    system = lx.load(CONFIGS / "tumbling_body.toml", formulation="maximal")
    method = lx.Variational(mx.Settings(chart=chart))
    spin = lambda system, s: lx.momentum(system.model, s.q, s.v)[:3]
    one = lambda: lx.simulate(
        system, dt=1e-2, steps=10000, save_every=50, integrator=method, analyses=(spin,)
    )
    found = compiled(one)()
    assert found.status == lx.Status.completed
    assert found.v[:, 1].min() < -0.9  # it has turned over
    (angular,) = found.analyses
    np.testing.assert_allclose(angular, [[0.01, 2.0, 0.03]] * 201, rtol=0, atol=1e-12)

"""The implicit midpoint rule and compositions of it: their order, their symmetry in time, their gradients."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx


# Evaluated a few times: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
STEPS = 16
METHODS = {
    "midpoint": lx.ImplicitMidpoint(),
    "three stages": lx.Composition(stages=3),
    "five stages": lx.Composition(lx.ImplicitMidpoint()),
    "RK4": lx.RungeKutta4(),
}


@ft.cache
def top():
    """A top on a ball joint, whose coordinates are a quaternion."""
    system = lx.build(lx.library.heavy_top())
    return system, eqx.tree_at(lambda s: s.v, system.initial_state(), jnp.asarray([1.0, 6.0, -2.0]))


@ft.cache
def run(method):
    """The end of 16 steps, whose length is an argument: one compilation a method."""
    system, _ = top()
    one = lambda state, dt: lx.simulate(
        system, state, dt=dt, steps=STEPS, save_every=STEPS, integrator=METHODS[method]
    )
    return compiled(one)


def cross(method, dt, runs):
    _, state = top()
    for _ in range(runs):
        end = run(method)(state, jnp.asarray(dt))
        assert end.status == lx.Status.completed
        state = end.final
    return state


def distance(a, b):
    dq = top()[0].model.difference(a.q, b.q)
    return float(jnp.maximum(jnp.max(jnp.abs(dq)), jnp.max(jnp.abs(a.v - b.v))))


@ft.cache
def errors(method):
    exact = cross("RK4", 1 / 2048, 64)
    return [distance(cross(method, 1 / 32 / 2**k, 2**k), exact) for k in range(3)]


@pytest.mark.parametrize(
    ("method", "order"), [("midpoint", 2), ("three stages", 4), ("five stages", 4)]
)
def test_a_method_converges_at_its_order_on_a_group(method, order):
    found = np.asarray(errors(method))
    assert found[-1] > 1e-12  # above rounding, or the slope means nothing
    assert np.log2(found[-2] / found[-1]) == pytest.approx(order, abs=0.15), found


def test_five_stages_are_more_exact_than_three():
    assert errors("five stages")[0] < 0.1 * errors("three stages")[0]


@pytest.mark.parametrize("method", ["midpoint", "three stages", "five stages"])
def test_steps_backwards_lead_back(method):
    _, start = top()
    end = run(method)(start, jnp.asarray(0.02)).final
    assert distance(end, start) > 0.1
    back = run(method)(end, jnp.asarray(-0.02)).final
    assert distance(back, start) < 1e-12


def test_an_explicit_method_does_not_lead_back():
    _, start = top()
    back = run("RK4")(run("RK4")(start, jnp.asarray(0.02)).final, jnp.asarray(-0.02)).final
    assert distance(back, start) > 1e-9


def test_the_energy_of_a_pendulum_is_bounded():
    system = lx.build(lx.library.pendulum())
    one = lambda dt: lx.simulate(
        system, dt=dt, steps=4000, integrator=lx.ImplicitMidpoint(), analyses=(lx.energy,)
    )
    one = compiled(one)
    largest = []
    for dt in (0.04, 0.02):
        found = one(jnp.asarray(dt))
        assert found.status == lx.Status.completed
        total = np.asarray(found.analyses[0]).sum(axis=1)
        error = np.abs(total - total[0]) / 9.81
        quarters = error[:4000].reshape(4, 1000).max(axis=1)
        assert quarters.max() < 1.02 * quarters.min()
        largest.append(error.max())
    assert largest[0] < 2e-3
    assert largest[0] / largest[1] == pytest.approx(4.0, rel=0.05)


# --- gradients ---


def swung(numbers, max_iterations=20):
    """Where a pendulum is after 20 steps, from its angle and speed, its mass's place and gravity."""
    angle, speed, length, gravity = numbers
    system = lx.build(lx.library.pendulum())
    along = jnp.asarray([0.0, 0.0, -1.0])
    system = eqx.tree_at(
        lambda s: (s.model.com, s.model.gravity),
        system,
        (length * along[None], gravity * along),
    )
    state = lx.state_of(angle[None], speed[None])
    method = lx.ImplicitMidpoint(max_iterations)
    end = lx.simulate(system, state, dt=0.05, steps=20, save_every=20, integrator=method).final
    return end.q[0] + 0.3 * end.v[0]


NUMBERS = np.asarray([np.pi / 2, 0.4, 1.2, 9.81])


@ft.cache
def slope(max_iterations):
    """(value, gradient); differences use the value too, so that there is one program."""
    return compiled(jax.value_and_grad(ft.partial(swung, max_iterations=max_iterations)))


def test_reverse_mode_through_the_solver_is_central_differences():
    """Field report O03 (b)."""
    step = 1e-5
    moved = NUMBERS + step * np.stack([np.eye(4), -np.eye(4)])
    ahead, back = np.asarray([[slope(20)(x)[0] for x in side] for side in moved])
    differences = (ahead - back) / (2.0 * step)
    assert np.abs(differences).min() > 1e-2
    np.testing.assert_allclose(slope(20)(NUMBERS)[1], differences, rtol=1e-6)


@pytest.mark.slow
def test_the_gradient_does_not_depend_on_the_budget():
    np.testing.assert_allclose(slope(40)(NUMBERS)[1], slope(20)(NUMBERS)[1], rtol=0, atol=1e-10)


def test_the_gradient_of_small_swings_is_that_of_the_rule():
    """Field report O03 (a): an oscillator of frequency w turns by 2 atan(w h / 2) a step."""
    numbers = np.asarray([0.0, 0.0, 1.0, 4.0])
    per_step = 2.0 * np.arctan(0.05)
    by_angle, by_speed, *_ = slope(20)(numbers)[1]
    # In (angle, speed / w) a step is a rotation; the outcome adds 0.3 times the speed.
    c, s, w = np.cos(20 * per_step), np.sin(20 * per_step), 2.0
    np.testing.assert_allclose(by_angle, c - 0.3 * w * s, rtol=1e-12)
    np.testing.assert_allclose(by_speed, s / w + 0.3 * c, rtol=1e-12)


# --- what composition refuses ---


@pytest.mark.parametrize(
    "base", [lx.SemiImplicitEuler(), lx.RungeKutta4(), lx.Adaptive(), lx.LieMidpoint()]
)
def test_only_what_is_symmetric_is_composed(base):
    with pytest.raises(ValueError, match=f"{type(base).__name__} is not symmetric in time"):
        lx.Composition(base)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({"stages": 4}, "`stages` is 4, but must be 3 or 5"),
        ({"order": 3}, "`order` is 3, but compositions of order 4"),
    ],
)
def test_compositions_that_there_are_not_are_refused(what, sentence):
    with pytest.raises(ValueError, match=sentence):
        lx.Composition(**what)

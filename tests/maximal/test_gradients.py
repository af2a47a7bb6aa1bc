"""Derivatives of runs by everything that they depend on."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import bodies, compiled, start

import linkax as lx
from linkax import maximal as mx


STEPS, DT = 50, 0.01
LEAVES = [
    "mass",
    "inertia",
    "parent_point",
    "child_point",
    "gravity",
    "velocity",
    "angular_velocity",
]
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0]) * 1e-3
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12e-3


@ft.cache
def pendulum():
    """A double pendulum's rows, start and numbers by name."""
    model = lx.build(lx.library.double_pendulum()).model
    state = mx.to_maximal(model, jnp.asarray([0.6, -0.9]), jnp.asarray([0.5, -1.0]))
    rows, body = mx.joint_rows(model), mx.bodies_of(model)
    (group,) = rows.groups
    numbers = (
        body.mass,
        body.inertia,
        group.parent_point,
        group.child_point,
        model.gravity,
        state.velocity,
        state.angular_velocity,
    )
    return rows, state, dict(zip(LEAVES, numbers, strict=True))


def outcome(numbers, budget=50):
    """A number that depends on all of where a run ends and on its last reactions."""
    rows, state, _ = pendulum()
    (group,) = rows.groups
    points = lambda g: (g.parent_point, g.child_point)
    group = eqx.tree_at(points, group, (numbers["parent_point"], numbers["child_point"]))
    rows = mx.Constraints((group,), rows.places)
    state = mx.State(
        state.position, state.orientation, numbers["velocity"], numbers["angular_velocity"]
    )
    run = mx.simulate(
        mx.Bodies(numbers["mass"], numbers["inertia"]),
        state,
        DT,
        STEPS + 1,
        mx.Gravity(numbers["gravity"]),
        rows,
        settings=mx.Settings(max_iterations=budget),
    )
    weigh = lambda x: jnp.sum(x * jnp.linspace(0.5, 1.5, x.size).reshape(x.shape))
    ends = run.position[-1], run.orientation[-1], run.point_velocity[-1]
    return sum(map(weigh, ends)) + 0.05 * weigh(run.multipliers[-1])


@ft.cache
def slopes():
    """Along a random direction of each leaf: by reverse mode, forward mode, differences."""
    _, _, numbers = pendulum()
    rng, ways = np.random.default_rng(5), []
    for name in LEAVES:
        x = numbers[name]
        d = rng.normal(size=x.shape) * np.sqrt(np.mean(np.square(x)))
        ways.append({k: jnp.asarray(d) if k == name else 0.0 * y for k, y in numbers.items()})
    ways = jax.tree.map(lambda *d: jnp.stack(d), *ways)
    offsets = lambda d: OFFSETS.reshape(-1, *[1] * d.ndim)
    moved = jax.tree.map(lambda x, d: x[None, None] + offsets(d) * d[None], numbers, ways)
    values = compiled(jax.vmap(jax.vmap(outcome)))(moved)
    reverse = compiled(jax.grad(outcome))(numbers)
    along = lambda d: jax.jvp(outcome, (numbers,), (d,))[1]
    pair = lambda d, g: jnp.sum(d * g, axis=tuple(range(1, d.ndim)))
    paired = sum(jax.tree.leaves(jax.tree.map(lambda d, g: pair(d, g[None]), ways, reverse)))
    forward = compiled(jax.vmap(along))(ways)
    found = {"reverse": paired, "forward": forward, "difference": np.tensordot(WEIGHTS, values, 1)}
    return numbers, reverse, {k: np.asarray(x) for k, x in found.items()}


@pytest.mark.parametrize("leaf", LEAVES)
def test_the_derivative_of_a_run_is_that_of_differences_in_both_modes(leaf):
    found = {k: x[LEAVES.index(leaf)] for k, x in slopes()[2].items()}
    scale = max(abs(found["difference"]), 1e-2)
    assert abs(found["reverse"] - found["difference"]) < 1e-6 * scale
    assert abs(found["forward"] - found["reverse"]) < 1e-9 * scale
    assert abs(found["difference"]) > 1e-4


@pytest.mark.slow
def test_the_gradient_of_a_run_does_not_depend_on_the_budget():
    numbers, reverse, _ = slopes()
    more = compiled(jax.grad(ft.partial(outcome, budget=100)))(numbers)
    for name in LEAVES:
        np.testing.assert_allclose(more[name], reverse[name], rtol=0, atol=1e-10)


# --- a free body at rest ---


@ft.cache
def resting():
    """The Jacobians of the last position, orientation and spin by the start; 100 steps of 5 ms."""
    body = bodies(1.0, inertia=(0.016, 0.016, 0.016))

    def last(x, q, v, w):
        state = mx.State(x[None], (q / jnp.sqrt(jnp.sum(q * q)))[None], v[None], w[None])
        run = mx.simulate(body, state, 5e-3, 101)
        return run.position[-1, 0], run.orientation[-1, 0], run.point_angular_velocity[-1, 0]

    q = jnp.asarray([1.0, 0.0, 0.0, 0.0])
    at = (jnp.zeros(3), q, jnp.zeros(3), jnp.zeros(3))
    return jax.device_get(compiled(jax.jacrev(last, (0, 1, 2, 3)))(*at))


def test_the_gradient_of_a_body_at_rest_is_finite_and_right():
    position, orientation, spin = resting()
    exact = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(position[0], np.eye(3), **exact)
    np.testing.assert_allclose(position[2], 0.5 * np.eye(3), **exact)
    np.testing.assert_allclose(position[1], 0.0, **exact)
    np.testing.assert_allclose(position[3], 0.0, **exact)
    np.testing.assert_allclose(orientation[1], np.diag([0.0, 1.0, 1.0, 1.0]), **exact)
    np.testing.assert_allclose(orientation[3][1:], 0.25 * np.eye(3), **exact)
    np.testing.assert_allclose(spin[3], np.eye(3), **exact)
    for found in (*position, *orientation, *spin):
        assert np.isfinite(found).all()


# --- functions of the user's ---


def _bob(length, gravity, damping, given, closed):
    """Where a bob on a rod is after 20 steps; the numbers are closed over or passed."""
    passed = {"length": length, "gravity": gravity, "damping": damping}

    def rod(t, x, q, params):
        p = passed if closed else params
        return jnp.sum(x[0] * x[0])[None] - p["length"] ** 2

    def rod_jacobian(t, x, q, params):
        # Scaled, so that the multiplier shows what was used; zero for another length than the bob's.
        p = passed if closed else params
        scale = p["length"] ** 2 / jnp.sum(x[0] * x[0])
        return jnp.concatenate([2.0 * scale * x[0], jnp.zeros(3)])[None]

    def weight(t, x, q, v, w, params):
        p = passed if closed else params
        down = jnp.stack([0.0 * p["gravity"], 0.0 * p["gravity"], -p["gravity"]])
        return down[None] - p["damping"] * v, 0.0 * w

    state = start(x=(0.8, 0.0, -0.6))
    mode = mx.LoadEvaluation.LEFT if given else mx.LoadEvaluation.IMPLICIT
    settings = mx.Settings(load_evaluation=mode)
    params = None if closed else passed
    jacobian = rod_jacobian if given else None
    run = mx.simulate(
        bodies(1.0), state, 0.02, 21, weight, rod, jacobian, params, settings=settings
    )
    return run.position[-1, 0, 0] + 0.1 * run.multipliers[-1, 0]


@pytest.mark.parametrize("given", [False, True], ids=["autodiff", "given jacobian"])
def test_numbers_that_functions_close_over_are_differentiated_like_those_passed(given):
    slope = lambda closed: compiled(
        jax.value_and_grad(lambda *x: _bob(*x, given, closed), (0, 1, 2))
    )(1.0, 9.81, 0.3)
    value, closed_over = slope(True)
    wanted, passed = slope(False)
    assert np.isfinite(value) and np.abs(passed).min() > 1e-3
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(closed_over, passed, rtol=1e-12)

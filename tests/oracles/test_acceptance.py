"""Published and independently computed answers are met: chains, pendulums, tops, rotation, momentum."""

import functools as ft
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import problems
import pytest

import linkax as lx
from linkax import library


# --- accelerations and matrices of open chains ---


@ft.cache
def forest_answers():
    """(slices by chain, accelerations, mass matrix, M^-1, Jacobian of the second hinge of "two links")."""
    system = lx.build(problems.forest(problems.CHAINS))
    model = system.model
    stops = np.cumsum([len(chain.links) for chain in problems.CHAINS])
    places = {
        c.name: slice(stop - len(c.links), stop)
        for c, stop in zip(problems.CHAINS, stops, strict=True)
    }

    @jax.jit
    def answers(q):
        none = jnp.zeros(model.nv)
        solve = jax.vmap(lambda b: lx.solve_mass_matrix(model, q, b))
        return (
            lx.forward_dynamics(model, q, none, none),
            lx.mass_matrix(model, q),
            solve(jnp.eye(model.nv)),
            lx.jacobian(model, q, "two links: 1"),
        )

    return places, *jax.device_get(answers(system.initial_q))


@pytest.mark.parametrize("chain", problems.CHAINS, ids=lambda c: c.name)
def test_a_chain_accelerates_as_published(chain):
    places, accelerations, *_ = forest_answers()
    found = accelerations[places[chain.name]][: len(chain.accelerations)]
    np.testing.assert_allclose(found, chain.accelerations, rtol=1e-12, atol=1e-12)


def test_the_matrices_of_two_links_are_those_found_by_hand():
    places, _, M, inverse, J = forest_answers()
    known = problems.TwoLinks()
    at = places[known.name]
    np.testing.assert_allclose(M[at, at], known.mass_matrix, atol=1e-14)
    np.testing.assert_allclose(inverse[at, at], known.inverse, atol=1e-14)
    along_y = J[4]
    compliance = along_y @ inverse @ along_y
    assert 1.0 / compliance == pytest.approx(known.effective_mass, rel=1e-13)
    first = np.eye(2)[0]
    dynamic = inverse[at, at] @ first / (first @ inverse[at, at] @ first)
    np.testing.assert_allclose(dynamic, known.dynamic_inverse, atol=1e-13)


def test_trees_that_share_only_the_ground_share_no_inertia():
    places, _, M, inverse, _ = forest_answers()
    owner = np.repeat(np.arange(len(places)), [len(c.links) for c in problems.CHAINS])
    apart = owner[:, None] != owner[None, :]
    assert not M[apart].any()
    assert not inverse[apart].any()


# --- the pendulum ---

# RK4 over a quarter period in 400 steps of 1.5 ms: errors of order (omega h)^4 = (3.1 * 1.5e-3)^4 = 5e-10
# times a fifth-derivative constant of about 1/120.
PENDULUM_STEPS = 400
PENDULUM_ERROR = 2e-11


@ft.cache
def pendulum_swing():
    """Compiled (time, length, gravity, amplitude) -> (angle then, its gradient by the first three)."""
    system = lx.build(library.pendulum())

    def angle_at(parameters, amplitude):
        time, length, gravity = parameters
        zero = jnp.zeros(())
        changed = eqx.tree_at(
            lambda s: (s.model.com, s.model.gravity),
            system,
            (jnp.stack([zero, zero, -length])[None], jnp.stack([zero, zero, -gravity])),
        )
        start = lx.state_of(amplitude[None], jnp.zeros(1))
        run = lx.simulate(
            changed,
            start,
            dt=time / PENDULUM_STEPS,
            steps=PENDULUM_STEPS,
            integrator=lx.RungeKutta4(),
            save_every=PENDULUM_STEPS,
        )
        return run.final.q[0]

    return jax.jit(jax.vmap(lambda p, a: (angle_at(p, a), jax.jacfwd(angle_at)(p, a))))


def quarter_periods(pendulums):
    """(times of the first passage of the lowest point, their gradients by length and gravity).

    Newton on angle(time) = 0, then the implicit function theorem at the root.
    """
    swing = pendulum_swing()
    amplitudes = np.array([p.angle for p in pendulums])
    parameters = np.array(
        [[0.5 * math.pi * math.sqrt(p.length / p.gravity), p.length, p.gravity] for p in pendulums]
    )
    for _ in range(8):
        angle, gradient = jax.device_get(swing(parameters, amplitudes))
        parameters[:, 0] -= angle / gradient[:, 0]
    angle, gradient = jax.device_get(swing(parameters, amplitudes))
    assert np.abs(angle).max() < 1e-13
    return parameters[:, 0], -gradient[:, 1:] / gradient[:, :1]


PENDULUMS = tuple(problems.Pendulum(angle=math.radians(x)) for x in problems.PERIOD_RATIOS)


def test_the_period_of_a_pendulum_is_the_elliptic_integral():
    times, _ = quarter_periods(PENDULUMS)
    small = 2.0 * math.pi / math.sqrt(9.81)
    np.testing.assert_allclose(
        4.0 * times / small, list(problems.PERIOD_RATIOS.values()), rtol=PENDULUM_ERROR
    )
    np.testing.assert_allclose(4.0 * times, [p.period for p in PENDULUMS], rtol=PENDULUM_ERROR)


def test_the_period_changes_with_length_and_gravity_by_the_root_of_their_ratio():
    _, gradients = quarter_periods(PENDULUMS)
    expected = [p.period_gradient for p in PENDULUMS]
    # The gradient of the error is that of an error of relative size PENDULUM_ERROR, times four powers.
    np.testing.assert_allclose(4.0 * gradients, expected, rtol=5 * PENDULUM_ERROR)


def test_a_pendulum_from_a_right_angle_is_where_it_should_be():
    times = np.array([0.5, 1.0, 1.0])
    parameters = np.stack([times, np.ones(3), np.full(3, 9.81)], axis=1)
    angles, _ = jax.device_get(pendulum_swing()(parameters, np.full(3, math.pi / 2)))
    # The last run of 400 steps of 2.5 ms: (3.1 * 2.5e-3)^4 / 120 = 3e-11.
    np.testing.assert_allclose(angles[:2], list(problems.PENDULUM_ANGLES.values()), atol=1e-10)
    place = (-math.sin(angles[1]), -math.cos(angles[1]))
    np.testing.assert_allclose(place, problems.PENDULUM_PLACE, atol=1e-10)


def test_a_double_pendulum_is_where_it_should_be():
    system = lx.build(library.double_pendulum())
    run = jax.jit(
        lambda: lx.simulate(
            system, dt=1e-3, steps=4000, save_every=500, integrator=lx.RungeKutta4()
        )
    )()
    absolute = np.degrees(np.cumsum(np.asarray(run.q), axis=1))
    assert int(run.completed_steps) == 4000
    for time, expected in problems.DOUBLE_PENDULUM.items():
        at = int(np.argmin(np.abs(np.asarray(run.t) - time)))
        # Swings of at most 6 rad/s: (6e-3)^4 / 120 = 1e-11 rad, grown a hundredfold in 4 s; the printed
        # digits end at 1e-8 degrees.
        np.testing.assert_allclose(absolute[at], expected, atol=1e-7)
    rates = np.cumsum(np.asarray(run.v[-1]))
    np.testing.assert_allclose(rates, problems.DOUBLE_PENDULUM_RATES, atol=2e-8)


# --- rotation ---

ROTATIONS = (problems.UNSTABLE_AXIS, problems.TUMBLING)


@ft.cache
def free_runs():
    """100 s of both free rotations in steps of 1 ms, a point every second."""
    system = lx.build(library.free_body((1.0, 2.0, 3.0)))
    model = system.model

    def run(w):
        start = lx.state_of(model.neutral(), jnp.concatenate([w, jnp.zeros(3)]))
        return lx.simulate(
            *(system, start),
            dt=1e-3,
            steps=100_000,
            integrator=lx.RungeKutta4(),
            save_every=1000,
            analyses=(lambda s, x: lx.momentum(s.model, x.q, x.v), lx.energy),
        )

    return jax.device_get(jax.jit(jax.vmap(run))(np.array([r.angular_velocity for r in ROTATIONS])))


@pytest.mark.parametrize("lane", range(len(ROTATIONS)), ids=("unstable axis", "tumbling"))
def test_a_free_body_turns_as_it_should(lane):
    runs, problem = free_runs(), ROTATIONS[lane]
    for time, (velocity, attitude) in problem.expected.items():
        at = round(time)
        assert runs.t[lane, at] == pytest.approx(time, abs=1e-9)
        # RK4 at 1e-3 is off by 1e-13 in ten seconds: what is left is the printed digits.
        np.testing.assert_allclose(runs.v[lane, at, :3], velocity, atol=problem.digits)
        np.testing.assert_allclose(runs.q[lane, at, :4], attitude, atol=problem.digits)


@pytest.mark.parametrize("lane", range(len(ROTATIONS)), ids=("unstable axis", "tumbling"))
def test_a_free_body_keeps_unit_norm_momentum_and_energy_for_1e5_steps(lane):
    runs, problem = free_runs(), ROTATIONS[lane]
    norms = np.linalg.norm(runs.q[lane, :, :4], axis=-1)
    assert np.abs(norms - 1.0).max() < 1e-12
    momentum, energy = (analysis[lane] for analysis in runs.analyses)
    expected = np.array([*problem.momentum, 0.0, 0.0, 0.0])
    # 1e5 steps of at most (1e-3)^5/120 = 1e-17 each stay below the round-off of the sums.
    np.testing.assert_allclose(momentum, np.broadcast_to(expected, momentum.shape), atol=1e-11)
    np.testing.assert_allclose(energy[:, 0], problem.energy, rtol=1e-11)


@ft.cache
def top_runs():
    """The heavy top for 0.2 s in steps of 0.2 and 0.1 ms (the first runs on to 0.4 s)."""
    system = lx.build(library.heavy_top())

    def own_momentum(s, x):
        k = lx.kinematics(s.model, x.q, x.v)
        about_pivot = lx.momentum(s.model, x.q, x.v)[:3]
        return jnp.sum(k.rotation[0, :, 1] * about_pivot)

    def run(dt):
        return lx.simulate(
            system,
            dt=dt,
            steps=2000,
            integrator=lx.RungeKutta4(),
            save_every=1000,
            analyses=(
                lambda s, x: jnp.sum(lx.energy(s, x)),
                lambda s, x: lx.momentum(s.model, x.q, x.v)[2],
                own_momentum,
            ),
        )

    return jax.device_get(jax.jit(jax.vmap(run))(np.array([2e-4, 1e-4])))


def test_a_heavy_top_starts_with_its_energy_and_momenta():
    known, start = problems.HeavyTop(), [x[1, 0] for x in top_runs().analyses]
    expected = (known.energy, known.vertical_momentum, known.own_momentum)
    np.testing.assert_allclose(start, expected, rtol=1e-12)


def test_a_heavy_top_keeps_energy_and_momenta_to_the_order_of_the_method():
    runs = top_runs()
    assert runs.t[0, 1] == pytest.approx(runs.t[1, 2], abs=1e-12)
    assert np.linalg.norm(runs.q[1, 2] - runs.q[1, 0]) > 0.1
    for values, size in zip(runs.analyses, (5435.7, 70.3, 70.3), strict=True):
        coarse = abs(values[0, 1] - values[0, 0]) / size
        fine = abs(values[1, 2] - values[1, 0]) / size
        # (150 * 1e-4)^5 / 120 = 6e-12 a step, 2000 steps.
        assert fine < 1.3e-8
        # Order 4 or better: halving the step divides the drift by 16 at least, round-off aside.
        assert fine < coarse / 14.0 + 1e-13


# --- momentum of a floating machine ---


def test_a_torque_inside_a_floating_machine_makes_no_momentum():
    system = lx.build(problems.two_links_afloat())

    def hinge_torque(t, state):
        return jnp.zeros(system.nu).at[6].set(0.3 * jnp.sin(5.0 * t))

    run = jax.device_get(
        jax.jit(
            lambda: lx.simulate(
                system,
                dt=1e-3,
                steps=2000,
                controls=hinge_torque,
                integrator=lx.RungeKutta4(),
                save_every=100,
                analyses=(lambda s, x: lx.momentum(s.model, x.q, x.v),),
            )
        )()
    )
    assert np.abs(run.q[:, 7]).max() > 0.1  # the hinge moves
    assert np.abs(run.q[:, 1:4]).max() > 0.01  # and turns what carries it
    # (omega h)^4 / 120 with omega = 5 rad/s: 5e-12.
    assert np.abs(run.analyses[0]).max() < 1e-11

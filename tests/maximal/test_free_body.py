"""Free bodies: order, momenta to rounding over long runs, the tumbling that a wrong sign would lose."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import bodies, compiled, rotated, start
from scipy.integrate import solve_ivp

from linkax import joints, maximal as mx


J = np.array([1.0, 2.0, 3.0])
LONG = 100_001
UNSTABLE, DRIFTING = (0.01, 1.0, 0.01), (0.3, 1.0, 0.2)


def _exact(w, t, inertia=J):
    """(q, angular velocity) at times t, by Euler's equations to 1e-13."""

    def rate(t, y):
        q, w = y[:4], y[4:]
        turning = [
            -q[1:] @ w,
            q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
            q[0] * w[1] + q[3] * w[0] - q[1] * w[2],
            q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ]
        return [*(0.5 * np.array(turning)), *(-np.cross(w, inertia * w) / inertia)]

    y0 = [1.0, 0.0, 0.0, 0.0, *w]
    found = solve_ivp(rate, (0.0, max(t)), y0, "DOP853", t, rtol=1e-13, atol=1e-14)
    return found.y[:4].T, found.y[4:].T


@ft.cache
def by_step():
    """The unstable start at h = 0.02, 0.01, 0.005: 4001 points a lane."""
    h = jnp.asarray([0.02, 0.01, 0.005])
    body, state = bodies(1.0, inertia=tuple(J)), start(w=UNSTABLE)
    return jax.device_get(jax.jit(jax.vmap(lambda h: mx.simulate(body, state, h, 4001)))(h))


@ft.cache
def long_runs():
    """Both starts over 1e5 steps: h = 0.01 and 0.001."""
    body = bodies(1.0, inertia=tuple(J))

    def run(w, h):
        at = start()
        state = mx.State(at.position, at.orientation, at.velocity, w[None])
        return mx.simulate(body, state, h, LONG)

    w, h = jnp.asarray([UNSTABLE, DRIFTING]), jnp.asarray([0.01, 0.001])
    run = jax.device_get(jax.jit(jax.vmap(run))(w, h))
    assert run.converged.all()
    return run


LANES = pytest.mark.parametrize(("lane", "w"), [(0, UNSTABLE), (1, DRIFTING)])


def test_the_error_of_a_tumbling_body_falls_with_the_square_of_the_step():
    run = by_step()
    q, _ = _exact(UNSTABLE, [20.0])
    found = [run.orientation[k, n, 0] for k, n in enumerate((1000, 2000, 4000))]
    errors = [np.linalg.norm(x - q[0]) for x in found]
    np.testing.assert_allclose(errors, [6.67e-4, 1.667e-4, 4.17e-5], rtol=2e-3)
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.01)


@pytest.mark.parametrize(
    ("t", "w", "q"),
    [
        (
            5.0,
            [-0.06482962, 0.99794645, 0.03830961],
            [-0.80085621, 0.00882053, 0.59766756, 0.03667441],
        ),
        (
            10.0,
            [-0.87457344, 0.48499619, 0.50500122],
            [0.24270299, 0.11814413, -0.82272015, -0.50026871],
        ),
    ],
)
def test_the_unstable_axis_turns_over(t, w, q):
    """What a wrong sign of the gyroscopic term would keep constant for ever."""
    exact_q, exact_w = _exact(UNSTABLE, [t])
    np.testing.assert_allclose(exact_q[0], q, rtol=0, atol=6e-9)
    np.testing.assert_allclose(exact_w[0], w, rtol=0, atol=6e-9)
    run, point = by_step(), round(t / 0.005)
    np.testing.assert_allclose(run.orientation[2, point, 0], q, rtol=0, atol=1e-4)
    np.testing.assert_allclose(run.point_angular_velocity[2, point, 0], w, rtol=0, atol=1e-4)


@LANES
def test_angular_momentum_in_the_world_is_kept_to_rounding(lane, w):
    run = long_runs()
    momentum = rotated(run.orientation[lane, :, 0], J * run.point_angular_velocity[lane, :, 0])
    off = np.linalg.norm(momentum - J * w, axis=-1) / np.linalg.norm(J * w)
    assert off.max() < 1e-12


@LANES
def test_a_quaternion_stays_of_unit_length(lane, w):
    length = np.linalg.norm(long_runs().orientation[lane, :, 0], axis=-1)
    assert np.abs(length - 1.0).max() < 1e-12


def test_kinetic_energy_is_kept():
    spin = long_runs().point_angular_velocity[1, :, 0]
    energy = 0.5 * np.sum(J * spin**2, axis=-1)
    assert np.abs(energy - 1.105).max() < 1e-11


def test_a_long_run_passes_through_the_reference_points():
    run = long_runs()
    q1 = [0.8640600643709, 0.0983836674219, 0.4866504279391, 0.0830193961119]
    q10 = [0.0363242702, -0.0204213166, -0.0415985777, -0.9982650327]
    w1 = [0.137423342, 1.034946774, 0.1276520987]
    w10 = [-0.4143288053, -0.9582962178, 0.2592735743]
    for point, q, w in ((1000, q1, w1), (10_000, q10, w10)):
        np.testing.assert_allclose(run.orientation[1, point, 0], q, rtol=0, atol=2e-6)
        np.testing.assert_allclose(run.point_angular_velocity[1, point, 0], w, rtol=0, atol=2e-6)


def test_a_symmetric_body_precesses_at_the_rate_of_the_closed_form():
    inertia, w, h, points = (2.0, 2.0, 3.0), (0.3, 0.0, 2.0), 1e-3, 3001
    body = bodies(1.0, inertia=inertia)
    run = jax.device_get(compiled(lambda s: mx.simulate(body, s, h, points))(start(w=w)))
    found = run.point_angular_velocity[:, 0]
    angle = (3.0 - 2.0) * 2.0 / 2.0 * h * np.arange(points)
    # The spin about the axis of symmetry is a momentum, kept to rounding.
    np.testing.assert_allclose(found[:, 2], 2.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0], 0.3 * np.cos(angle), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[:, 1], 0.3 * np.sin(angle), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("averaged", "z"), [(False, -4.905), (True, -4.95405)])
def test_free_fall_from_a_momentum_start_is_exact(averaged, z):
    """A raw start takes the given velocity for the average of the interval before."""
    gravity = mx.Gravity(jnp.asarray([0.0, 0.0, -9.81]))
    fall = compiled(lambda s: mx.simulate(bodies(1.0), s, 0.01, 101, gravity))
    run = jax.device_get(fall(start(averaged=averaged)))
    np.testing.assert_allclose(run.t[-1], 1.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(run.position[-1, 0], [0.0, 0.0, z], rtol=0, atol=1e-13)


@ft.cache
def hinged():
    """Two links joined by a hinge that is driven, afloat, from rest: 1000 steps."""
    turn = np.eye(3)[None]
    hinge = mx.JointRows(
        parent_point=jnp.asarray([[0.5, 0.0, 0.0]]),
        parent_rotation=jnp.asarray(turn),
        child_point=jnp.asarray([[-0.4, 0.0, 0.0]]),
        child_rotation=jnp.asarray(turn),
        pitch=jnp.zeros(1),
        bodies=((0, 1),),
        joints=(joints.Revolute,),
    )

    def motor(t, x, q, v, w, params):
        torque = 0.3 * jnp.sin(5.0 * t)
        z = jnp.asarray([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
        return jnp.zeros_like(x), torque * z

    body = bodies(1.0, 2.0, inertia=(0.1, 0.2, 0.3))
    x = np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0]])
    state = mx.State(x, np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))
    run = compiled(lambda s: mx.simulate(body, s, 0.01, 1001, motor, mx.in_order([hinge])))
    return body, jax.device_get(run(state))


def test_momenta_of_a_floating_machine_that_moves_itself_stay_zero():
    body, run = hinged()
    assert run.converged
    assert np.abs(run.point_angular_velocity).max() > 0.1
    mass, inertia = np.asarray(body.mass), np.asarray(body.inertia[0]).diagonal()
    linear = mass[:, None] * run.point_velocity
    spin = rotated(run.orientation, inertia * run.point_angular_velocity)
    angular = np.cross(run.position, linear) + spin
    np.testing.assert_allclose(linear.sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(angular.sum(axis=1), 0.0, atol=1e-10)

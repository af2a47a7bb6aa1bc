"""The contract of one step and of a history, case by case."""

import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import bodies, compiled, start

from linkax import joints, maximal as mx


EXACT = {"rtol": 0, "atol": 1e-12}
DT = 0.01
WEIGHT = (0.0, 0.0, -19.62)


def step(body, state, dt=DT, **how):
    return jax.device_get(compiled(lambda s: mx.step(body, s, dt, **how))(state))


def history(body, state, points, dt=DT, **how):
    return jax.device_get(compiled(lambda s: mx.simulate(body, s, dt, points, **how))(state))


def force(*f):
    """A constant force on each body."""
    return lambda t, x, q, v, w, params: (jnp.asarray([f] * x.shape[0]), jnp.zeros_like(x))


def fixed_point(t, x, q, params):
    return x[0]


def fixed_body(t, x, q, params):
    return jnp.concatenate([x[0], 2.0 * q[0, 1:]])


# --- free bodies ---


def test_a_free_body_goes_on_and_turns_without_an_iteration():
    state = start(v=(1.0, -2.0, 0.5), w=(0.0, 0.0, 1.0), averaged=True)
    after, multipliers, info = step(bodies(2.0), state)
    np.testing.assert_allclose(after.position, [[0.01, -0.02, 0.005]], **EXACT)
    turned = [[np.sqrt(1.0 - 0.005**2), 0.0, 0.0, 0.005]]
    np.testing.assert_allclose(after.orientation, turned, **EXACT)
    np.testing.assert_allclose(after.velocity, [[1.0, -2.0, 0.5]], **EXACT)
    assert multipliers.shape == (0,)
    assert info.iterations == 0
    assert info.converged and not info.jacobian_singular
    assert after.averaged


def test_a_constant_force_changes_a_raw_velocity_by_its_whole_impulse():
    after, _, info = step(bodies(2.0), start(averaged=True), loads=force(*WEIGHT))
    np.testing.assert_allclose(after.velocity, [[0.0, 0.0, -0.0981]], **EXACT)
    np.testing.assert_allclose(after.position, [[0.0, 0.0, -0.000981]], **EXACT)
    assert info.converged


@pytest.mark.parametrize(
    ("mode", "factor"), [("LEFT", 0.8), ("IMPLICIT", 1.0 / 1.2), ("MIDPOINT", 0.9 / 1.1)]
)
def test_a_damper_takes_what_its_load_evaluation_says(mode, factor):
    damper = lambda t, x, q, v, w, c: (-c * v, -c * w)
    settings = mx.Settings(load_evaluation=mx.LoadEvaluation[mode])
    state = start(v=(1.0, 0.0, 0.0), averaged=True)
    after, _, info = step(bodies(2.0), state, 0.1, loads=damper, params=4.0, settings=settings)
    np.testing.assert_allclose(after.velocity[0], [factor, 0.0, 0.0], **EXACT)
    assert info.converged


# --- constraints ---


def test_a_body_caught_at_a_point_stops_and_the_multipliers_are_its_momentum():
    state = start(v=(1.0, -2.0, 0.5), averaged=True)
    after, multipliers, _ = step(bodies(2.0), state, constraint=fixed_point)
    np.testing.assert_allclose(after.position, 0.0, **EXACT)
    np.testing.assert_allclose(after.velocity, 0.0, **EXACT)
    np.testing.assert_allclose(multipliers, [-200.0, 400.0, -100.0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("averaged", [True, False], ids=["raw start", "momentum start"])
def test_a_fixed_body_is_carried_in_every_row_of_multipliers(averaged):
    run = history(
        bodies(2.0),
        start(averaged=averaged),
        6,
        loads=force(*WEIGHT),
        constraint=fixed_body,
    )
    assert run.multipliers.shape == (6, 6)
    carried = np.tile([0.0, 0.0, 19.62, 0.0, 0.0, 0.0], (6, 1))
    np.testing.assert_allclose(run.multipliers, carried, **EXACT)
    np.testing.assert_allclose(run.position, 0.0, **EXACT)
    assert run.completed_steps == 5
    assert run.converged and not run.jacobian_singular


class Offset(mx.AbstractRows):
    """The second body stays a metre from the first along x."""

    bodies: tuple[tuple[int, ...], ...] = eqx.field(static=True, default=((0, 1),))
    rows: int = eqx.field(static=True, default=1)

    def residual(self, t, at):
        return at.position[:, 1, :1] - at.position[:, 0, :1] - 1.0


def _ball(arm):
    """A spherical joint half way between two bodies."""
    one = np.eye(3)[None]
    return mx.JointRows(
        parent_point=jnp.asarray([[arm, 0.0, 0.0]]),
        parent_rotation=jnp.asarray(one),
        child_point=jnp.asarray([[-arm, 0.0, 0.0]]),
        child_rotation=jnp.asarray(one),
        pitch=jnp.zeros(1),
        bodies=((0, 1),),
        joint=joints.Spherical,
    )


def _apart():
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    v = np.array([[1.0, 0.3, 0.0], [-1.0, 0.0, 0.2]])
    w = np.array([[0.4, -0.2, 0.1], [0.0, 0.5, 0.3]])
    return mx.State(x, np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)), v, w, averaged=True)


@pytest.mark.parametrize("rows", [Offset(), _ball(0.5)], ids=["offset", "ball"])
def test_every_linear_solver_gives_the_same_step(rows):
    body = bodies(2.0, 3.0, inertia=(1.0, 2.0, 2.5))
    constraints = mx.in_order([rows])
    found = {
        solver: step(body, _apart(), constraint=constraints, settings=mx.Settings(solver=solver))
        for solver in mx.LinearSolver
    }
    after, multipliers, info = found[mx.LinearSolver.DENSE]
    assert info.converged
    assert np.abs(multipliers).max() > 10.0
    for other, others_multipliers, others_info in found.values():
        assert others_info.converged
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_allclose(
                getattr(other, name), getattr(after, name), rtol=0, atol=1e-10
            )
        np.testing.assert_allclose(others_multipliers, multipliers, rtol=0, atol=1e-7)


def test_bodies_with_opposite_velocities_meet_at_their_common_one():
    state = _apart()
    after, multipliers, _ = step(bodies(2.0, 3.0), state, constraint=mx.in_order([Offset()]))
    np.testing.assert_allclose(after.velocity[:, 0], -0.2, **EXACT)
    np.testing.assert_allclose(multipliers, [3.0 * 0.8 / DT], rtol=1e-12)


def test_differences_of_a_constraint_give_the_step_of_its_derivative():
    body, state = bodies(2.0, inertia=(1.0, 2.0, 2.5)), start(v=(0.2, 0.0, 0.1), w=(0.3, 1.0, 0.2))

    def hung(t, x, q, params):
        """The point (0.5, 0, 0) of the body stays where it is."""
        w, u = q[0, 0], q[0, 1:]
        r = jnp.asarray([0.5, 0.0, 0.0])
        return x[0] + 2.0 * jnp.cross(u, jnp.cross(u, r) + w * r)

    settings = mx.Settings(finite_differences=True)
    exact, exact_multipliers, _ = step(body, state, constraint=hung)
    after, multipliers, info = step(body, state, constraint=hung, settings=settings)
    assert info.converged
    np.testing.assert_allclose(after.position, exact.position, rtol=0, atol=1e-8)
    np.testing.assert_allclose(after.orientation, exact.orientation, rtol=0, atol=1e-8)
    np.testing.assert_allclose(multipliers, exact_multipliers, rtol=1e-6)


def test_a_users_jacobian_counts_half_the_rotation_vector():
    """The columns of a body: displacements, then the vector part of its turn's quaternion."""

    def jacobian(t, x, q, params):
        return jnp.concatenate(
            [jnp.eye(6)[:3], jnp.concatenate([jnp.zeros((3, 3)), 2.0 * jnp.eye(3)], 1)]
        )

    state = start(v=(1.0, -2.0, 0.5), w=(0.3, 0.1, -0.2), averaged=True)
    by_autodiff = step(bodies(2.0), state, constraint=fixed_body)
    given = step(bodies(2.0), state, constraint=fixed_body, jacobian=jacobian)
    for a, b in zip(jax.tree.leaves(given[:2]), jax.tree.leaves(by_autodiff[:2]), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


# --- momentum starts ---


def test_a_prescribed_motion_needs_its_exact_force_and_torque_from_the_first_row_on():
    """x = t^2 and an angle of t^2: the multipliers are m 2 and J 2, and so is the start's."""

    def prescribed(t, x, q, params):
        turned = 2.0 * jnp.arctan2(q[0, 3], q[0, 0])
        return jnp.stack([x[0, 0] - t**2, x[0, 1], x[0, 2], q[0, 1], q[0, 2], turned - t**2])

    points = 5
    run = history(bodies(2.0), start(), points, constraint=prescribed)
    assert run.converged
    np.testing.assert_allclose(run.multipliers[:, 0], 4.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.velocity[1, 0, 0], DT, **EXACT)
    # A turn by a in a step has the discrete momentum sin(a) / dt.
    turns = np.diff(np.arange(points + 1) ** 2) * DT**2
    momenta = np.concatenate([[0.0], np.sin(turns) / DT])
    spans = np.where(np.arange(points) == 0, 0.5 * DT, DT)
    np.testing.assert_allclose(run.multipliers[:, 5], np.diff(momenta) / spans, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.multipliers[:, 5], 2.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.multipliers[:, 1:5], 0.0, rtol=0, atol=1e-10)


def test_constant_gravity_is_integrated_exactly():
    gravity = mx.Gravity(jnp.asarray([0.0, 0.0, -9.81]))
    run = history(bodies(2.0), start(), 3, loads=gravity)
    np.testing.assert_allclose(run.velocity[1, 0, 2], -0.5 * 9.81 * DT, **EXACT)
    np.testing.assert_allclose(run.position[2, 0, 2], -0.5 * 9.81 * (2 * DT) ** 2, **EXACT)
    np.testing.assert_allclose(run.point_velocity[:, 0, 2], -9.81 * DT * np.arange(3), **EXACT)


def test_the_first_interval_has_the_momentum_of_the_given_spin():
    J, w0 = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.4, 0.5])
    after, _, info = step(bodies(2.0, inertia=tuple(J)), start(w=tuple(w0)))
    w = after.angular_velocity[0]
    momentum = 0.5 * DT * (np.sqrt(4.0 / DT**2 - w @ w) * J * w + np.cross(w, J * w))
    np.testing.assert_allclose(momentum, J * w0, **EXACT)
    assert np.abs(w - w0).max() > 1e-4
    assert info.converged


def test_a_velocity_that_the_constraints_forbid_is_projected_by_the_first_step():
    """A hanging rod whose middle is given a speed but no spin: the mass-orthogonal projection."""

    def pinned(t, x, q, params):
        w, u = q[0, 0], q[0, 1:]
        top = jnp.asarray([0.0, 0.0, 0.5])
        return x[0] + top + 2.0 * jnp.cross(u, jnp.cross(u, top) + w * top)

    rod = bodies(1.0, inertia=(1.0 / 12.0, 1.0 / 12.0, 1e-3))
    state = start(x=(0.0, 0.0, -0.5), v=(1.0, 0.0, 0.0))
    after, multipliers, info = step(rod, state, 1e-5, constraint=pinned)
    assert info.converged
    np.testing.assert_allclose(after.velocity[0], [0.75, 0.0, 0.0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(after.angular_velocity[0], [0.0, -1.5, 0.0], rtol=0, atol=1e-5)
    # The impulse shows as a force over the first half interval.
    np.testing.assert_allclose(multipliers[0] * 0.5e-5, -0.25, rtol=1e-4)


# --- failures ---


def test_a_step_that_does_not_converge_leaves_the_state_alone():
    settings = mx.Settings(tolerance=1e-30, max_iterations=1)
    state = start(v=(1.0, -2.0, 0.5), w=(0.3, -0.4, 0.5), averaged=True)
    after, multipliers, info = step(
        bodies(2.0, inertia=(1.0, 2.0, 3.0)), state, constraint=fixed_point, settings=settings
    )
    assert not info.converged
    assert info.iterations == 1
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(multipliers, 0.0)


def _lost(t, x, q, params):
    """Holds the body's x until t = 0.015, and what cannot be met from then on."""
    return jnp.where(t > 0.015, jnp.ones(1), x[0, :1])


def _lost_jacobian(t, x, q, params):
    return jnp.where(t > 0.015, jnp.zeros((1, 6)), jnp.eye(6)[:1])


@ft.cache
def lost(given):
    jacobian = _lost_jacobian if given else None
    state = start(v=(0.0, 1.0, 0.0), averaged=True)
    return history(
        bodies(2.0), state, 3, loads=force(3.0, 0.0, 0.0), constraint=_lost, jacobian=jacobian
    )


@pytest.mark.parametrize("given", [False, True], ids=["by autodiff", "given"])
def test_a_constraint_that_cannot_be_met_ends_the_run_as_singular(given):
    run = lost(given)
    assert run.jacobian_singular
    assert not run.converged
    assert run.status == mx.Status.singular
    assert run.completed_steps == 1


def test_a_history_keeps_the_points_before_a_failure_and_nothing_after():
    run = lost(False)
    np.testing.assert_allclose(run.t, [0.0, DT, 0.0], **EXACT)
    np.testing.assert_allclose(run.position[:, 0, 1], [0.0, DT, 0.0], **EXACT)
    np.testing.assert_allclose(run.velocity[:, 0, 1], [1.0, 1.0, 0.0], **EXACT)
    np.testing.assert_allclose(run.multipliers, [[-3.0], [0.0], [0.0]], **EXACT)
    np.testing.assert_array_equal(run.orientation[2], [[1.0, 0.0, 0.0, 0.0]])
    # The last valid state is there to go on from.
    np.testing.assert_allclose(run.final.position[0, 1], DT, **EXACT)


def test_a_failed_lookahead_costs_its_row_only():
    def late(t, x, q, params):
        return jnp.where(t > 0.025, jnp.ones(1), x[0, :1])

    run = history(bodies(2.0), start(), 3, loads=force(3.0, 0.0, 0.0), constraint=late)
    assert run.completed_steps == 2
    assert not run.converged
    np.testing.assert_allclose(run.multipliers, [[-3.0], [-3.0], [0.0]], **EXACT)
    np.testing.assert_allclose(run.t, [0.0, DT, 2 * DT], **EXACT)


@pytest.mark.parametrize("differences", [False, True], ids=["by autodiff", "by differences"])
def test_a_pose_fixed_far_away_stays(differences):
    far = np.array([1e9, -1e9, 1e9])

    def held(t, x, q, params):
        return jnp.concatenate([x[0] - far, 2.0 * q[0, 1:]])

    settings = mx.Settings(
        translation_scale=1e3, rotation_scale=0.25, finite_differences=differences
    )
    run = history(
        bodies(2.0),
        start(x=tuple(far)),
        20,
        loads=force(*WEIGHT),
        constraint=held,
        settings=settings,
    )
    assert run.converged
    np.testing.assert_allclose(run.position[:, 0], np.tile(far, (20, 1)), rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.orientation[:, 0, 1:], 0.0, rtol=0, atol=1e-6)


# --- bookkeeping ---


def test_one_point_is_the_start_and_its_multipliers():
    run = history(bodies(2.0), start(), 1, loads=force(*WEIGHT), constraint=fixed_point)
    assert run.completed_steps == 0
    assert run.converged
    np.testing.assert_allclose(run.multipliers, [[0.0, 0.0, 19.62]], **EXACT)
    np.testing.assert_array_equal(run.position, np.zeros((1, 1, 3)))


def test_a_run_is_its_steps_and_may_be_continued():
    body = bodies(2.0, inertia=(1.0, 2.0, 3.0))
    how = {"loads": force(1.0, 0.0, -2.0)}
    state = start(v=(1.0, 0.0, 0.0), w=(0.3, -0.4, 0.5))
    whole = history(body, state, 7, **how)
    one = compiled(lambda s: mx.step(body, s, DT, **how))
    for k in range(1, 7):
        state = one(state)[0]
        np.testing.assert_allclose(state.position, whole.position[k], **EXACT)
        np.testing.assert_allclose(state.orientation, whole.orientation[k], **EXACT)
    first = history(body, start(v=(1.0, 0.0, 0.0), w=(0.3, -0.4, 0.5)), 4, **how)
    second = history(body, first.final, 4, **how)
    np.testing.assert_allclose(second.position, whole.position[3:], **EXACT)
    np.testing.assert_allclose(second.t, whole.t[3:], **EXACT)

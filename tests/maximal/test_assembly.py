"""Configurations that close and velocities that keep them closed, with the answers of published reports."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms import (
    GRAVITY,
    about_z,
    along_x,
    angle_about_z,
    differences,
    disturbed,
    four_bar,
    four_bar_state,
    joint_rows,
    mechanism,
    rocker_angle,
    rods,
)

import linkax as lx
from linkax.constraints.rows import dense_gradient
from linkax.joints import Revolute, Spherical, Universal
from linkax.kinematics.bodies import poses, with_ground
from linkax.math.stacks import rotations
from linkax.maximal import (
    AssemblyStatus,
    Bodies,
    Mechanism,
    State,
    assemble,
    consistent,
    kinetic_energy,
    project_velocities,
    velocity_residual,
)
from linkax.maximal.mechanism import mechanism_of
from linkax.maximal.settings import DEFAULTS


project, close = jax.jit(project_velocities), jax.jit(assemble, static_argnames=("held",))


def by_function(state, constraint, mass=1.0):
    n = state.position.shape[0]
    bodies = Bodies(jnp.full(n, mass), jnp.ones((n, 3)))
    return mechanism_of(bodies, None, constraint, None, None, state, DEFAULTS)


def hanging_rod():
    """O15 (a): mass 1, length 1, pinned at its top."""
    pin = joint_rows(Revolute, ((-1, 0),), [[0.0, 0.0, 0.0]], [[-0.5, 0.0, 0.0]])
    state = State([[0.0, -0.5, 0.0]], about_z([-jnp.pi / 2]), [[1.0, 0.0, 0.0]])
    return mechanism(rods([1.0], [1.0]), pin), state


def parallelogram(coupler_mass=2.0, crank_length=1.0):
    """O13: cranks at 30 degrees from hanging."""
    lengths = (crank_length, 2.0, crank_length)
    return four_bar(2.0, lengths, (1.0, coupler_mass, 1.0))


def parallelogram_state(angle, crank_length=1.0):
    at = jnp.stack([angle - jnp.pi / 2, jnp.zeros(()), angle - jnp.pi / 2])
    end = crank_length * jnp.stack([jnp.cos(at[0]), jnp.sin(at[0]), jnp.zeros(())])
    x = jnp.asarray([1.0, 0.0, 0.0])
    return State(jnp.stack([0.5 * end, end + x, 0.5 * end + 2.0 * x]), about_z(at))


# --- velocities ---


def test_velocities_of_a_pinned_rod_are_projected_by_mass():
    machine, state = hanging_rod()
    assert not consistent(machine, state, 1e-9)
    out = project(machine, state)
    np.testing.assert_allclose(out.velocity, [[0.75, 0.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(out.angular_velocity, [[0.0, 0.0, 1.5]], atol=1e-14)
    assert consistent(machine, out, 1e-12)
    np.testing.assert_array_equal(out.position, state.position)


def test_velocity_of_a_point_pendulum_loses_its_radial_part():
    state = State([[0.0, -1.0, 0.0]], [[1.0, 0.0, 0.0, 0.0]], [[1.0, 0.3, 0.0]])
    machine = by_function(state, lambda t, x, q, p: jnp.sum(x * x, axis=1) - 1.0)
    np.testing.assert_allclose(velocity_residual(machine, state), [-0.6], atol=1e-15)
    np.testing.assert_allclose(project(machine, state).velocity, [[1.0, 0.0, 0.0]], atol=1e-15)


def test_driven_rows_impose_their_rate():
    state = State([[0.25, 0.0, 0.0]], [[1.0, 0.0, 0.0, 0.0]], [[0.0, 3.0, 0.0]], t=0.5)
    machine = by_function(state, lambda t, x, q, p: x[:, 0] - t * t)
    np.testing.assert_allclose(project(machine, state).velocity, [[1.0, 3.0, 0.0]], atol=1e-15)


def test_the_change_is_the_smallest_in_kinetic_energy():
    machine = four_bar()
    state = disturbed(four_bar_state(0.7, True), 0.0, seed=1)
    out = project(machine, state)
    bodies = machine.bodies
    at = with_ground(poses(state.position, state.orientation))
    gradients = machine.constraints.gradient(state.t, at)
    G = np.asarray(dense_gradient(machine.constraints, gradients, 3)).reshape(20, 18)
    assert np.linalg.matrix_rank(G, tol=1e-9) == 17
    change = np.concatenate(
        [out.angular_velocity - state.angular_velocity, out.velocity - state.velocity], axis=1
    )
    momenta = np.concatenate(
        [
            np.einsum("nij,nj->ni", bodies.inertia, change[:, :3]),
            bodies.mass[:, None] * change[:, 3:],
        ],
        axis=1,
    )
    # G M^{-1} G^T's range: no motion that the rows allow does work on the change's momentum.
    _, _, right = np.linalg.svd(G)
    free = right[17:]
    np.testing.assert_allclose(free @ momenta.reshape(-1), 0.0, atol=1e-12)
    assert np.max(np.abs(velocity_residual(machine, out))) < 1e-13
    energy = lambda s: kinetic_energy(bodies, s.velocity, s.angular_velocity)
    assert energy(out) < energy(state)


def test_averaged_velocities_become_instantaneous_and_are_not_judged():
    machine, state = hanging_rod()
    averaged = State(
        state.position, state.orientation, state.velocity, state.angular_velocity, 0.0, True
    )
    assert consistent(machine, averaged, 1e-9)
    assert not project(machine, averaged).averaged


def test_nothing_to_do_without_constraints():
    state = State([[1.0, 2.0, 3.0]], [[2.0, 0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]])
    machine = Mechanism(Bodies([1.0], [[1.0, 1.0, 1.0]]))
    found = close(machine, state)
    assert found.status == AssemblyStatus.closed and found.iterations == 0
    np.testing.assert_array_equal(found.state.orientation, [[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(found.state.velocity, state.velocity)


def test_a_state_that_is_no_number_is_not_consistent():
    machine, state = hanging_rod()
    assert not consistent(machine, State([[jnp.nan] * 3], state.orientation), 1e-9)


# --- configurations ---


@pytest.mark.parametrize("above", [True, False], ids=["open", "crossed"])
@pytest.mark.parametrize("off", [1e-3, 0.05])
def test_the_branch_is_that_of_the_approximate_configuration(above, off):
    machine, exact = four_bar(), four_bar_state(jnp.pi / 2, above)
    found = close(machine, disturbed(exact, off, seed=3))
    assert found.status == AssemblyStatus.closed
    assert np.max(np.abs(found.closure)) < 1e-12
    assert found.iterations < 7
    crank, rocker = angle_about_z(found.state, 0), angle_about_z(found.state, 2)
    expected, _ = rocker_angle(crank, above)
    assert abs(np.sin(0.5 * (rocker - expected))) < 1e-12
    assert consistent(machine, found.state, 1e-12)


@pytest.mark.parametrize("above", [True, False], ids=["open", "crossed"])
def test_a_held_crank_does_not_move_and_determines_the_rest(above):
    machine, exact = four_bar(), four_bar_state(jnp.pi / 2, above)
    rough = disturbed(exact, 0.1, seed=4)
    start = State(
        rough.position.at[0].set(exact.position[0]),
        rough.orientation.at[0].set(exact.orientation[0]),
    )
    found = close(machine, start, held=(0,))
    assert found.status == AssemblyStatus.closed
    np.testing.assert_array_equal(found.state.position[0], exact.position[0])
    np.testing.assert_array_equal(found.state.orientation[0], exact.orientation[0])
    np.testing.assert_allclose(found.state.position, exact.position, atol=1e-12)


def spatial_loop():
    """Ground, hinge, ball, universal joint, hinge, ground: one freedom in space."""
    rng = np.random.default_rng(5)
    n, unit = 3, lambda q: q / np.linalg.norm(q, axis=-1, keepdims=True)
    x = jnp.asarray([[0.0, 0.5, 0.2], [0.6, 1.1, 0.0], [1.4, 0.6, -0.3]])
    q = jnp.asarray(unit(rng.standard_normal((n, 4))))
    R = jnp.concatenate([rotations(q), jnp.eye(3)[None]])
    x_all = jnp.concatenate([x, jnp.zeros((1, 3))])
    places = jnp.asarray([[0.0, 0.0, 0.1], [0.1, 1.1, 0.3], [1.1, 1.2, -0.3], [1.5, 0.1, 0.0]])
    axes = rotations(jnp.asarray(unit(rng.standard_normal((4, 4)))))
    kinds = (Revolute, Spherical, Universal, Revolute)
    pairs = ((-1, 0), (0, 1), (1, 2), (2, -1))
    groups = []
    for kind, (a, b), place, W in zip(kinds, pairs, places, axes, strict=True):
        seen = lambda i, place=place: (R[i].T @ (place - x_all[i]))[None]
        turned = lambda i, W=W: (R[i].T @ W)[None]
        groups.append(joint_rows(kind, ((a, b),), seen(a), seen(b), turned(a), turned(b)))
    inertia = jnp.asarray([[0.1, 0.2, 0.25], [0.2, 0.1, 0.2], [0.05, 0.1, 0.12]])
    return mechanism(Bodies([1.0, 2.0, 0.5], inertia), *groups), State(x, q)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_spatial_loop_of_several_joints_closes(seed):
    machine, exact = spatial_loop()
    assert np.max(np.abs(machine.closure(exact))) < 1e-14
    start = disturbed(exact, 0.1, seed)
    found = close(machine, start)
    assert found.status == AssemblyStatus.closed
    assert np.max(np.abs(found.closure)) < 1e-12
    assert found.iterations < 7
    assert consistent(machine, found.state, 1e-12)
    assert np.max(np.abs(found.state.position - start.position)) < 0.5


def test_a_heavy_weight_keeps_a_body_and_none_is_refused():
    ball = joint_rows(Spherical, ((0, 1),), along_x([0.5]), along_x([-0.5]))
    machine = mechanism(rods([1.0, 1.0], [1.0, 1.0]), ball)
    rest = State(along_x([0.0, 1.0]), about_z([0.0, 0.0]))
    start = disturbed(rest, 0.05, 7)
    ends = [close(machine, start, jnp.asarray(w)) for w in ([1.0, 1.0], [1e3, 1.0], [1.0, 0.0])]
    moved = [np.linalg.norm(end.state.position[0] - start.position[0]) for end in ends]
    assert moved[1] < 3e-3 * moved[0] and moved[0] > 1e-3
    assert [bool(end.status == AssemblyStatus.closed) for end in ends] == [True, True, False]
    assert ends[2].status == AssemblyStatus.invalid and ends[2].iterations == 0


def test_dependent_hinges_close_and_keep_their_rank():
    machine, exact = parallelogram(), parallelogram_state(jnp.pi / 6)
    found = close(machine, disturbed(exact, 0.03, 2))
    assert found.status == AssemblyStatus.closed
    assert np.max(np.abs(found.closure)) < 1e-12
    at = with_ground(poses(found.state.position, found.state.orientation))
    G = dense_gradient(machine.constraints, machine.constraints.gradient(found.state.t, at), 3)
    values = np.linalg.svd(np.asarray(G).reshape(20, 18), compute_uv=False)
    assert np.sum(values > 1e-6) == 17
    # The coupler stays level and the cranks parallel.
    w = found.state.angular_velocity
    np.testing.assert_allclose(w[:, :2], 0.0, atol=1e-9)
    np.testing.assert_allclose([w[1, 2], w[2, 2] - w[0, 2]], 0.0, atol=1e-9)


# --- failures ---


def with_coupler(length):
    return four_bar(4.0, (1.0, length, 3.0))


def test_an_impossible_lane_says_so_and_touches_no_other():
    start = four_bar_state(jnp.pi / 2, True)
    solve = lambda length: assemble(with_coupler(length), start, held=(0,))
    couplers = jnp.asarray([3.5, 0.5, 3.2])

    def total(couplers):
        found = jax.vmap(solve)(couplers)
        return jnp.sum(found.state.position), found

    single = jax.jit(solve)
    lost, together = jax.jit(jax.grad(total, has_aux=True))(couplers)
    assert list(together.converged) == [True, False, True]
    names = [AssemblyStatus.closed, AssemblyStatus.stuck, AssemblyStatus.closed]
    for lane, status in enumerate(names):
        alone = single(couplers[lane])
        assert alone.status == status
        assert bool((together.status == status)[lane])
        for a, b in zip(jax.tree.leaves(alone.state), jax.tree.leaves(together.state), strict=True):
            np.testing.assert_allclose(a, b[lane], atol=1e-12)
    # The gap that is left: the coupler cannot bridge sqrt(17) - 3 with half a metre.
    assert np.linalg.norm(together.closure[1]) > 0.1
    assert np.all(np.isfinite(lost)) and lost[0] != 0.0


def test_too_few_iterations_and_broken_starts_are_told_apart():
    machine, exact = four_bar(), four_bar_state(jnp.pi / 2, True)
    start = disturbed(exact, 0.05)
    solve = jax.jit(assemble, static_argnames=("max_iterations",))
    few = solve(machine, start, max_iterations=1)
    assert few.status == AssemblyStatus.unfinished and few.iterations == 1
    np.testing.assert_array_equal(few.state.velocity, start.velocity)
    broken = State(start.position.at[0, 0].set(jnp.nan), start.orientation)
    assert close(machine, broken).status == AssemblyStatus.invalid


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": jnp.ones(2)}, "`weights` has shape"),
        ({"held": (3,)}, "`held` names body 3"),
        ({"max_iterations": 0}, "`max_iterations` is 0"),
        ({"rank_tolerance": 0.0}, "`rank_tolerance` is 0.0"),
    ],
)
def test_what_cannot_be_meant_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        assemble(four_bar(), four_bar_state(0.7, True), **change)


# --- derivatives ---


def test_a_held_crank_moves_the_others_as_published():
    def angles(theta):
        start = four_bar_state(jnp.pi / 2, False)
        crank = jnp.stack([0.5 * jnp.cos(theta), 0.5 * jnp.sin(theta), jnp.zeros(())])
        start = State(start.position.at[0].set(crank), start.orientation.at[0].set(about_z(theta)))
        end = assemble(four_bar(), start, held=(0,)).state
        return jnp.stack([angle_about_z(end, 1), angle_about_z(end, 2)])

    theta = jnp.asarray(jnp.pi / 2)
    exact = lambda theta: jnp.stack(rocker_angle(theta, False)[::-1])
    slopes = jax.jit(jax.jacfwd(angles))(theta)
    # The published number is a numerical one: the closed form gives 0.2161405349482293.
    assert abs(slopes[0] - 0.21614053493250662) < 1e-10
    np.testing.assert_allclose(slopes, jax.jacfwd(exact)(theta), atol=1e-12)
    second = jax.jit(jax.jacfwd(jax.jacrev(angles)))(theta)
    np.testing.assert_allclose(second, jax.hessian(exact)(theta), atol=1e-10)


@pytest.mark.slow
def test_configurations_with_dependent_rows_are_differentiated():
    start = disturbed(four_bar_state(0.7, True), 0.0, 8)
    pick = np.random.default_rng(0).standard_normal((2, 3, 3))

    def outcome(p):  # coupler's length, ground, coupler's mass, two coordinates of the start
        machine = four_bar(p[1], (1.0, p[0], 3.0), (1.0, p[2], 1.2))
        moved = State(
            start.position.at[1, :2].add(p[3:]),
            start.orientation,
            start.velocity,
            start.angular_velocity,
        )
        out = assemble(machine, moved).state
        return jnp.sum(pick[0] * out.position) + jnp.sum(pick[1] * out.velocity)

    p = jnp.asarray([3.5, 4.0, 1.5, 0.0, 0.0])
    exact = jax.jit(jax.grad(outcome))(p)
    found = differences(jax.jit(outcome), p)
    np.testing.assert_allclose(exact, found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dependent", [True, False], ids=["dependent", "independent"])
def test_projected_velocities_are_differentiated(dependent):
    pick = np.random.default_rng(1).standard_normal((2, 3, 3))
    loop, placed = spatial_loop()
    moving = disturbed(parallelogram_state(jnp.pi / 6) if dependent else placed, 0.0, 9)

    def outcome(p):  # a mass, a length or a time's stand-in, an angle, three velocities
        if dependent:
            machine = parallelogram(p[0], p[1])
            at = parallelogram_state(jnp.pi / 6 + p[2], p[1])
        else:
            bodies = Bodies(loop.bodies.mass * p[0] ** jnp.arange(3.0), loop.bodies.inertia * p[1])
            machine, at = Mechanism(bodies, loop.constraints), placed
        velocity = moving.velocity.at[1].add(p[3:])
        out = project_velocities(
            machine, State(at.position, at.orientation, velocity, moving.angular_velocity)
        )
        return jnp.sum(pick[0] * out.velocity) + jnp.sum(pick[1] * out.angular_velocity)

    p = jnp.asarray([2.0, 1.0, 0.0, 0.1, 0.2, 0.3])
    exact = jax.jit(jax.grad(outcome))(p)
    found = differences(jax.jit(outcome), p)
    np.testing.assert_allclose(exact, found, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_second_derivatives_with_dependent_rows():
    pin = joint_rows(Revolute, ((-1, 0),) * 2, jnp.zeros((2, 3)), along_x([-0.5, -0.5]))

    def energy(p):  # moments about the pin: v = m l u / (m l^2 + J)
        bodies = Bodies(p[:1], p[1:2, None] * jnp.ones((1, 3)))
        velocity = p[2] * jnp.asarray([[0.0, 1.0, 0.0]])
        state = State([[0.5, 0.0, 0.0]], about_z([0.0]), velocity)
        out = project_velocities(mechanism(bodies, pin), state)
        return kinetic_energy(bodies, out.velocity, out.angular_velocity)

    exact = lambda p: 0.5 * (p[0] * 0.5 * p[2]) ** 2 / (p[0] * 0.25 + p[1])
    p = jnp.asarray([1.5, 0.2, 2.0])
    np.testing.assert_allclose(jax.jit(energy)(p), exact(p), rtol=1e-13)
    np.testing.assert_allclose(jax.jit(jax.grad(energy))(p), jax.grad(exact)(p), rtol=1e-12)
    second = jax.jit(jax.jacfwd(jax.grad(energy)))(p)
    np.testing.assert_allclose(second, jax.hessian(exact)(p), rtol=1e-11)


# --- a frame without freedoms ---


def test_a_frame_without_freedoms_stands_and_its_forces_are_exact():
    up = jnp.pi / 3
    ends = jnp.asarray([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    apex = jnp.asarray([0.5, jnp.sin(up), 0.0])
    hinges = joint_rows(
        Revolute,
        ((-1, 0), (-1, 1), (0, 1)),
        jnp.concatenate([ends, along_x([0.5])]),
        along_x([-0.5, -0.5, 0.5]),
    )
    machine = mechanism(rods([2.0, 2.0], [1.0, 1.0]), hinges)
    rest = State(0.5 * (ends + apex[None]), about_z([up, jnp.pi - up]))
    found = close(machine, disturbed(rest, 0.02, 1))
    assert found.status == AssemblyStatus.closed
    np.testing.assert_allclose(found.state.position, rest.position, atol=1e-12)
    np.testing.assert_allclose(found.state.velocity, 0.0, atol=1e-9)

    settings = lx.maximal.Settings(solver=lx.maximal.LinearSolver.RANK_TOLERANT)
    after, multipliers, info = jax.jit(
        lambda rest: lx.maximal.step(
            machine.bodies, rest, 1e-3, machine.loads, machine.constraints, settings=settings
        )
    )(rest)
    assert info.converged
    np.testing.assert_allclose(after.velocity, 0.0, atol=1e-11)
    at = with_ground(poses(rest.position, rest.orientation))
    pair = jax.tree.map(lambda x: x[np.asarray(hinges.bodies)], at)
    (split,) = machine.constraints.split(multipliers)
    force = hinges.reaction(rest.t, pair, split)[:, 3:]
    thrust, weight = 5.663806140750, 2.0 * GRAVITY
    # On the children: at the apex the left rod pushes the right one.
    expected = [[thrust, weight, 0.0], [-thrust, weight, 0.0], [thrust, 0.0, 0.0]]
    np.testing.assert_allclose(force, expected, atol=1e-9)

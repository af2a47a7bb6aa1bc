"""Maximal coordinates against tree coordinates, and against the numbers of published field reports."""

import functools as ft
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from machines import compiled, rotated

import linkax as lx
from linkax import maximal as mx
from linkax.kinematics.bodies import of_bodies, poses, with_ground
from linkax.maximal.reactions import accelerations
from linkax.model import BodyDescription, Description, JointDescription
from linkax.model.description import Placement


CONFIGS = Path(__file__).parents[2] / "configs"
TYPES = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "helical", "planar")
SPAN, STEPS = 0.16, 16


# --- a chain with joints of all types ---


@ft.cache
def chain(formulation):
    """Seven bodies, thrown about, damped and driven; and the description's start."""
    description = lx.library.random_tree(jax.random.key(3), len(TYPES), TYPES, branching=0.0)
    for joint in description.joints:
        joint.armature, joint.damping = None, 0.3
    system = lx.build(description, formulation=formulation)
    speeds = jnp.asarray(np.random.default_rng(4).uniform(-1.0, 1.0, system.model.nv))
    return eqx.tree_at(lambda s: s.initial_v, system, speeds)


def undamped(system):
    where = lambda s: (s.elements[0] if s.mechanism is None else s.mechanism.loads.parts[1]).damping
    return eqx.tree_at(where, system, replace_fn=jnp.zeros_like)


def push(t, state):
    phases = jnp.arange(state.v.shape[0], dtype=t.dtype)
    return 0.5 * jnp.sin(9.0 * t + phases)


@ft.cache
def crossing(formulation):
    method = lx.RungeKutta4() if formulation == "tree" else lx.Variational()
    return compiled(
        lambda system, state, dt: lx.simulate(
            system,
            state,
            dt=dt,
            steps=STEPS,
            save_every=STEPS,
            controls=push,
            integrator=method,
        )
    )


def crossed(system, runs):
    """The state after the span, in so many runs of 16 steps."""
    state = system.initial_state()
    if system.mechanism is not None:
        state = lx.Variational().prepare(system, state)
    for _ in range(runs):
        found = crossing(system.formulation)(system, state, jnp.asarray(SPAN / STEPS / runs))
        assert found.status == lx.Status.completed
        state = found.final
    return state


def errors(change):
    exact = crossed(change(chain("tree")), 8)
    found = []
    for runs in (2, 4, 8):
        state = crossed(change(chain("maximal")), runs)
        off = chain("tree").model.difference(exact.q, state.q)
        found.append((np.abs(off).max(), np.abs(state.v - exact.v).max()))
    return np.asarray(found)


@pytest.mark.slow
def test_a_chain_of_all_joints_converges_to_its_motion_in_tree_coordinates():
    found = errors(undamped)
    assert found[0].max() < 0.05
    assert found[-1].min() > 1e-8  # above rounding, or the slope means nothing
    np.testing.assert_allclose(np.log2(found[-2] / found[-1]), 2.0, atol=0.15)


@pytest.mark.slow
def test_a_damped_chain_converges_with_the_speeds_that_its_loads_see():
    """Loads evaluated on the left see the mean speeds of the interval before: half a step late, order one."""
    found = errors(lambda system: system)
    assert found[0].max() < 0.05
    np.testing.assert_allclose(np.log2(found[-2] / found[-1]), 1.0, atol=0.3)


# --- a floating machine ---


def test_a_motor_inside_a_floating_machine_makes_no_momentum():
    """Field report O11: two links and a hinge, no gravity, from rest."""
    box = lx.library.diagonal(0.1, 0.2, 0.3)
    description = Description(
        bodies=[
            BodyDescription("base", 1.0, (0.1, 0.0, 0.2), box),
            BodyDescription("arm", 2.0, (0.4, 0.1, 0.0), box),
        ],
        joints=[
            JointDescription("free", "floating", "world", "base"),
            JointDescription(
                "hinge", "revolute", "base", "arm", Placement((0.5, 0.0, 0.0)), axis=(0.0, 0.6, 0.8)
            ),
        ],
        gravity=(0.0, 0.0, 0.0),
    )
    system = lx.build(description, formulation="maximal")

    def motor(t, state):
        return jnp.zeros((7,)).at[6].set(0.3 * jnp.sin(5.0 * t))

    momentum = lambda system, s: lx.momentum(system.model, s.q, s.v)
    run = compiled(
        lambda: lx.simulate(
            system, dt=0.01, steps=500, save_every=5, controls=motor, analyses=(momentum,)
        )
    )()
    assert run.status == lx.Status.completed
    assert np.abs(run.v[:, 6]).max() > 0.3
    np.testing.assert_allclose(run.analyses[0], 0.0, rtol=0, atol=1e-10)


# --- a pendulum for a long time ---

LONG = 100_000
PUBLISHED = {0.5: 0.40177084980815, 1.0: -1.40502731152479, 10.0: 0.27868067357030}


@ft.cache
def swinging():
    """A rod that swings like a point mass at 1 m: I + m d^2 = m d; points every ten steps."""
    box = lx.library.diagonal(0.25, 0.25, 0.01)
    description = lx.library.pendulum()
    (rod,) = description.bodies
    description.bodies = [BodyDescription("rod", rod.mass, (0.0, 0.0, -0.5), box)]
    description.markers = []
    system = lx.build(description, formulation="maximal")
    run = compiled(
        lambda dt: lx.simulate(system, dt=dt, steps=LONG, save_every=10, analyses=(lx.energy,))
    )
    found = {h: run(jnp.asarray(h)) for h in (0.01, 0.005)}
    assert all(run.status == lx.Status.completed for run in found.values())
    return found


def test_the_energy_of_a_pendulum_neither_drifts_nor_grows():
    """Field report O10: 1e5 steps."""
    amplitudes = []
    for run in swinging().values():
        total = run.analyses[0].sum(axis=1)
        error = np.asarray(total - total[0])[: LONG // 10]
        quarters = np.abs(error).reshape(4, -1).max(axis=1)
        assert quarters.max() < 1.02 * quarters.min()
        means = error.reshape(4, -1).mean(axis=1)
        assert np.ptp(means) < 0.02 * quarters.max()
        amplitudes.append(quarters.max())
    assert amplitudes[0] < 2e-3
    assert amplitudes[0] / amplitudes[1] == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize("t", PUBLISHED)
def test_the_angle_of_a_pendulum_converges_to_the_published_one(t):
    coarse, fine = (float(run.q[round(t / h / 10), 0]) for h, run in swinging().items())
    assert (coarse - PUBLISHED[t]) / (fine - PUBLISHED[t]) == pytest.approx(4.0, rel=0.02)
    assert (4.0 * fine - coarse) / 3.0 == pytest.approx(PUBLISHED[t], abs=2e-7 * (1.0 + 10.0 * t))


# --- a parallelogram on four hinges in space: 20 rows of rank 17 ---

TURN = (0.6, -0.2, 0.5, 0.4)


@ft.cache
def parallelogram(turned=False):
    """Field report O13; upright in x-y, or with everything turned in space."""
    quaternion = np.asarray(TURN if turned else (1.0, 0.0, 0.0, 0.0))
    quaternion = quaternion / np.linalg.norm(quaternion)
    world = lambda *x: tuple(rotated(quaternion, np.asarray(x)).tolist())
    at = lambda *x: Placement(world(*x), tuple(quaternion.tolist()))

    def rod(name, mass, length):
        I = mass * length**2 / 12.0
        box = lx.library.diagonal(1e-2 * I, I, I)
        return BodyDescription(name, mass, (0.5 * length, 0.0, 0.0), box)

    angle = np.radians(30.0) - 0.5 * np.pi
    hinge = lambda *names, **more: JointDescription(names[0], "revolute", *names[1:], **more)
    end = lambda x: Placement((x, 0.0, 0.0))
    return Description(
        name="parallelogram",
        bodies=[rod("left", 1.0, 1.0), rod("coupler", 2.0, 2.0), rod("right", 1.0, 1.0)],
        joints=[
            hinge("A", "world", "left", parent_frame=at(0.0, 0.0, 0.0), position=angle),
            hinge("B", "left", "coupler", parent_frame=end(1.0), position=-angle),
            hinge("D", "world", "right", parent_frame=at(2.0, 0.0, 0.0), position=angle),
        ],
        loops=[hinge("C", "coupler", "right", parent_frame=end(2.0), child_frame=end(1.0))],
        gravity=world(0.0, -9.81, 0.0),
    )


@compiled
def instant(mechanism, state):
    """(accelerations, (moment, force) on each child, world axes)."""
    a, multipliers = accelerations(mechanism, state, mx.Settings())
    at = with_ground(poses(state.position, state.orientation))
    (group,) = mechanism.constraints.groups
    (own,) = mechanism.constraints.split(multipliers)
    return a, group.reaction(state.t, of_bodies(at, group.bodies), own)


def at_rest(system):
    return mx.to_maximal(system.model, system.initial_q, system.initial_v)


@pytest.mark.parametrize("turned", [False, True], ids=["upright", "turned"])
def test_a_parallelogram_with_redundant_hinges_falls_as_published(turned):
    system = lx.build(parallelogram(turned), formulation="maximal")
    assert system.mechanism.redundant
    assert system.mechanism.constraints.count == 20
    a, reactions = map(np.asarray, instant(system.mechanism, at_rest(system)))
    np.testing.assert_allclose(a[:, :3], np.outer([1, 0, 1], [0, 0, -5.518125]), atol=1e-11)
    back = np.asarray(TURN if turned else (1.0, 0.0, 0.0, 0.0)) * [1.0, -1.0, -1.0, -1.0]
    forces = rotated(back / np.linalg.norm(back), reactions[:, 3:])
    published = [-7.168254647, 15.481406250, 0.0]
    np.testing.assert_allclose(forces[0], published, atol=1e-8)  # A, then B, then D
    np.testing.assert_allclose(forces[2], published, atol=1e-8)


def test_the_gradient_of_redundant_hinges_is_finite_and_as_published():
    system = lx.build(parallelogram(), formulation="maximal")
    state = at_rest(system)

    def turning(bodies):
        mechanism = eqx.tree_at(lambda m: m.bodies, system.mechanism, bodies)
        return accelerations(mechanism, state, mx.Settings())[0][0, 2]

    slope = compiled(jax.grad(turning))(system.mechanism.bodies)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(slope))
    np.testing.assert_allclose(slope.mass[1], 0.229921875, rtol=1e-9)


@pytest.mark.slow
def test_a_loop_stays_closed_for_a_minute():
    """Field report O14."""
    system = lx.build(parallelogram(), formulation="maximal")
    closure = lambda system, s: system.mechanism.closure(s.pseudo.state)
    run = compiled(
        lambda: lx.simulate(
            system, dt=5e-3, steps=12000, save_every=20, analyses=(closure, lx.energy)
        )
    )()
    assert run.status == lx.Status.completed
    closures, energies = map(np.asarray, run.analyses)
    assert np.abs(closures).max() < 1e-8
    gaps = np.abs(closures[:600]).max(axis=1).reshape(4, -1).max(axis=1)
    assert gaps[-1] < 4.0 * max(gaps[0], 1e-14)  # not growing
    error = np.abs(energies.sum(axis=1) - energies[0].sum())[:600].reshape(4, -1).max(axis=1)
    assert error.max() < 1.05 * error.min()
    assert error.max() < 1e-3 * np.ptp(energies[:, 0])


# --- Andrews' squeezer ---


def test_andrews_squeezer_starts_with_the_published_accelerations_and_forces():
    """Field report O42: the coordinates are the crank's angle and that of the second bar on it."""
    system = lx.load(CONFIGS / "andrews.toml", formulation="maximal")
    assert not system.mechanism.redundant
    a, reactions = map(np.asarray, instant(system.mechanism, at_rest(system)))
    spin = dict(zip(system.model.body_names, a[:, 2], strict=True))
    np.testing.assert_allclose(spin["K1"], 14222.4439199541, rtol=1e-9)
    np.testing.assert_allclose(spin["K2"] - spin["K1"], -10666.8329399656, rtol=1e-9)
    # The three loops come last: forces of the second bar on the others, where they meet.
    wanted = [[98.5668704, -6.12268834, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(reactions[-3:, 3:], wanted, atol=1e-6)

"""Drives, couplings, distances and mimic joints in maximal coordinates agree with trees and hand formulas."""

import functools as ft
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import maximal as mx
from linkax.cli.arguments import Machine
from linkax.cli.simulate import _reaction_names
from linkax.maximal.joint_loads import JointLoads
from linkax.maximal.reactions import accelerations
from linkax.model import (
    BodyDescription,
    CouplingDescription,
    Description,
    DifferentialDescription,
    DistanceDescription,
    ExpressionDescription,
    GearDescription,
    JointDescription,
    MimicDescription,
    MotionDescription,
    Placement,
    RotorDescription,
    TorqueDescription,
    expand_drives,
)
from linkax.model.library import diagonal
from linkax.system.mechanism import rows_of_parts


# Evaluated a few times: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
HALF = Placement((0.5, 0.0, 0.0))


def built(description):
    return lx.build(description, formulation="maximal")


DEFAULTS = mx.Settings()


def at_start(system, settings=DEFAULTS):
    """([angular; linear] accelerations, multipliers) where the system starts."""

    def found(system):
        state = mx.to_maximal(system.model, system.initial_q, system.initial_v)
        return accelerations(system.mechanism, state, settings)

    return compiled(found)(system)


# --- gears ---


def geared():
    """T3 of the acceptance cases: link 2 turns on link 1, and a rotor on link 1 fifty times as fast."""
    return Description(
        name="geared",
        bodies=[
            BodyDescription("one", 1.0, inertia=diagonal(2.0, 2.0, 2.0)),
            BodyDescription("two", 1.0, inertia=diagonal(1.0, 1.0, 1.0)),
        ],
        joints=[
            JointDescription("a", "revolute", "world", "one"),
            JointDescription("b", "revolute", "one", "two"),
        ],
        drives=[GearDescription("drive", "b", 50.0, 0.01, rotor_mass=1.0)],
        elements=[
            TorqueDescription("on two", "two", (0.0, 0.0, 1.0)),
            TorqueDescription("on one", "one", (0.0, 0.0, -1.0)),
        ],
        gravity=(0.0, 0.0, 0.0),
    )


@ft.cache
def geared_system():
    return built(geared())


@pytest.mark.parametrize("solver", mx.LinearSolver)
def test_a_geared_rotor_accelerates_as_its_mass_matrix_says(solver):
    found, multipliers = at_start(geared_system(), mx.Settings(solver=solver))
    a, b = -0.019734245494014, 0.039600052624655
    np.testing.assert_allclose(found[:, 2], [a, a + b, a + 50.0 * b], rtol=0, atol=1e-12)
    # The rotor's torque 0.01 (a + 50 b) is what the coupling, whose gradient there is -1, gives it.
    np.testing.assert_allclose(multipliers[-1], -0.01 * (a + 50.0 * b), atol=1e-12)


@pytest.mark.parametrize("formulation", ["tree", "embedded"])
def test_a_geared_rotor_accelerates_the_same_by_multipliers_and_embedded(formulation):
    system = lx.build(geared(), formulation, independent=("a", "b"))

    def found(system):
        q, v = system.initial_q, system.initial_v
        rates = lx.accelerations(system, system.initial_state())
        return system.model.tree_accelerations(q, v, rates), lx.mass_matrix(system.model, q)

    rates, M = compiled(found)(system)
    a, b = -0.019734245494014, 0.039600052624655
    np.testing.assert_allclose(rates, [a, b, 50.0 * b], rtol=0, atol=1e-12)
    if formulation == "embedded":
        assert system.model.speed_names == ("a", "b")
        np.testing.assert_allclose(M, [[3.01, 1.5], [1.5, 26.0]], rtol=1e-14)


def test_a_rotor_without_mass_is_refused():
    description = geared()
    description.drives = [GearDescription("drive", "b", 50.0, 0.01)]
    with pytest.raises(ValueError, match="Body `drive_rotor` of `geared` has mass 0 and smallest"):
        built(description)
    assert lx.model.assemble(description).model.nv == 3


def floating():
    """A base in space with two links, driven by two rotors through a differential; it spins."""
    box = diagonal(0.02, 0.03, 0.04)
    rotors = (
        RotorDescription(1e-3, 0.3),
        RotorDescription(2e-3, 0.2, 0.05, "base", HALF, (0.0, 1.0, 0.0)),
    )
    return Description(
        bodies=[BodyDescription(name, 1.0, (0.1, 0.0, 0.05), box) for name in ("base", "u", "f")],
        joints=[
            JointDescription(
                "root", "floating", "world", "base", speed=(0.3, -0.2, 0.5, 0.1, 0.2, 0.0)
            ),
            JointDescription("hip", "revolute", "base", "u", HALF, axis=(0.0, 1.0, 0.0), speed=2.0),
            JointDescription("knee", "revolute", "u", "f", HALF, axis=(0.0, 0.6, 0.8), speed=-3.0),
        ],
        drives=[
            DifferentialDescription("drive", ("hip", "knee"), rotors, ((5.0, 5.0), (4.0, -2.5)))
        ],
        gravity=(0.0, 0.0, 0.0),
    )


def test_a_differential_keeps_its_ratios_momentum_and_energy():
    system = built(floating())
    assert system.notes == ()
    momentum = lambda system, state: lx.momentum(system.model, state.q, state.v)
    run = compiled(
        lambda: lx.simulate(
            system, dt=2e-3, steps=200, save_every=20, analyses=(momentum, lx.energy)
        )
    )()
    assert run.status == lx.Status.completed
    momenta, energies = run.analyses
    names = system.model.coordinate_names
    hip, knee, first, second = (
        run.q[:, names.index(name)] for name in ("hip", "knee", "drive_rotor_0", "drive_rotor_1")
    )
    assert np.ptp(hip) > 0.3
    np.testing.assert_allclose(first, 5.0 * hip + 5.0 * knee, atol=1e-11)
    np.testing.assert_allclose(second, 4.0 * hip - 2.5 * knee, atol=1e-11)
    np.testing.assert_allclose(momenta, np.broadcast_to(momenta[0], momenta.shape), atol=1e-12)
    total = np.asarray(energies).sum(axis=1)
    np.testing.assert_allclose(total, total[0], rtol=1e-4)
    assert np.ptp(second) > 0.3


# --- distances ---


def swinging(length, angle=0.6, speed=1.3):
    """A body that only a rod holds, by its centre of mass, swinging in the x-z plane."""
    length = 2.0 if length is None else length
    place = (length * np.sin(angle), 0.0, 1.0 - length * np.cos(angle))
    velocity = (speed * np.cos(angle), 0.0, speed * np.sin(angle))
    return Description(
        bodies=[BodyDescription("bob", 3.0, (0.0, 0.0, 0.2), diagonal(0.1, 0.1, 0.1))],
        joints=[
            JointDescription(
                *("free", "floating", "world", "bob"),
                position=(1.0, 0.0, 0.0, 0.0, place[0], 0.0, place[2] - 0.2),
                speed=(0.0, 0.0, 0.0, *velocity),
            )
        ],
    )


@pytest.mark.parametrize("told", [True, False])
def test_a_body_on_a_rod_is_a_pendulum(told):
    """Its thrust is -m (g cos(angle) + speed^2 / length)."""
    description = swinging(2.0)
    rod = DistanceDescription("rod", "world", "bob", (0.0, 0.0, 1.0), (0.0, 0.0, 0.2))
    rod.length = 2.0 if told else None
    description.loops = [rod]
    system = built(description)
    assert system.notes == ()
    found, (thrust,) = at_start(system)
    g, s, c = 9.81, np.sin(0.6), np.cos(0.6)
    pull = g * c + 1.3**2 / 2.0
    np.testing.assert_allclose(thrust, -3.0 * pull, rtol=1e-12)
    np.testing.assert_allclose(found[0], [0.0, 0.0, 0.0, -pull * s, 0.0, pull * c - g], atol=1e-12)


def test_a_rod_that_gapes_is_closed_and_noted():
    description = swinging(2.0)
    description.loops = [
        DistanceDescription("rod", "world", "bob", (0.0, 0.0, 1.0), (0.0, 0.0, 0.2), 2.1)
    ]
    system = built(description)
    assert system.notes[0].startswith("The loops gape by 0.1 at the initial coordinates; the run")


# --- the order of multipliers ---


def mixed():
    """Joints, loops of three kinds among each other and a motion; nothing is met but the joints."""
    box = diagonal(0.1, 0.1, 0.1)
    return Description(
        bodies=[BodyDescription(name, 1.0, (0.1, 0.0, 0.0), box) for name in ("a", "b", "c")],
        joints=[
            JointDescription("ja", "revolute", "world", "a", HALF),
            JointDescription("jb", "prismatic", "a", "b", HALF),
            JointDescription("jc", "spherical", "b", "c", HALF),
        ],
        loops=[
            CouplingDescription("gear", ("ja", "jb"), (2.0, 1.0), 0.0),
            JointDescription("ball", "spherical", "c", "world", HALF, HALF),
            DistanceDescription("rod", "world", "c", (0.0, 0.0, 0.5), length=0.4),
            JointDescription("slot", "planar", "world", "c", HALF),
        ],
        motions=[MotionDescription("drive", ExpressionDescription(0.5), joint="ja")],
    )


def test_multipliers_are_of_joints_then_of_loops_as_described_then_of_motions():
    parts = lx.model.assemble(mixed())
    constraints = rows_of_parts(parts)
    q = jnp.asarray([0.3, 0.2, 1.0, 0.0, 0.0, 0.0])

    def gaps(model, q):
        state = mx.to_maximal(model, q, jnp.zeros(5))
        return mx.Mechanism(mx.bodies_of(model), constraints).closure(state), state.position[2]

    found, com = compiled(gaps)(parts.model, q)
    assert found.shape == (5 + 5 + 3 + 1 + 3 + 1 + 3 + 1,)
    np.testing.assert_allclose(found[:13], np.zeros(13), atol=1e-15)
    c = np.asarray(com) - 0.1 * np.asarray([np.cos(0.3), np.sin(0.3), 0.0])
    tip = c + 0.5 * np.asarray([np.cos(0.3), np.sin(0.3), 0.0])
    turned = np.asarray([[np.cos(0.3), np.sin(0.3), 0.0], [-np.sin(0.3), np.cos(0.3), 0.0]])
    np.testing.assert_allclose(found[13], 2.0 * 0.3 + 0.2, atol=1e-14)
    np.testing.assert_allclose(
        found[14:16], turned @ (np.asarray([0.5, 0.0, 0.0]) - tip), atol=1e-14
    )
    np.testing.assert_allclose(found[16], -tip[2], atol=1e-14)
    np.testing.assert_allclose(found[17], np.linalg.norm(c - (0.0, 0.0, 0.5)) - 0.4, atol=1e-14)
    np.testing.assert_allclose(found[18], c[2], atol=1e-14)
    np.testing.assert_allclose(found[-1], 0.3 - 0.5, atol=1e-14)


# --- mimic joints ---


@ft.cache
def gripper():
    """A hand on a hinge with two sliding fingers and a turning thumb that follow each other; all damped."""
    box = diagonal(0.03, 0.02, 0.01)
    bodies = [
        BodyDescription(name, mass, (0.1, 0.05, 0.0), box)
        for name, mass in {"h": 2.0, "l": 0.5, "r": 0.4, "t": 0.3}.items()
    ]
    joints = [
        JointDescription("wrist", "revolute", "world", "h", axis=(0.0, 1.0, 0.0), damping=0.1),
        JointDescription("left", "prismatic", "h", "l", HALF, axis=(0.0, 1.0, 0.0), damping=0.5),
        JointDescription("right", "prismatic", "h", "r", HALF, axis=(0.0, 0.0, 1.0), damping=0.3),
        JointDescription("thumb", "revolute", "l", "t", HALF, axis=(1.0, 0.0, 0.0), damping=0.2),
    ]
    joints[0].position, joints[1].position = 0.4, 0.05
    joints[0].speed, joints[1].speed = 1.0, -0.7
    joints[2].mimic, joints[3].mimic = (
        MimicDescription("left", -1.5, 0.1),
        MimicDescription("left", 4.0),
    )
    description = Description(bodies=bodies, joints=joints)
    return lx.build(description), built(description)


def test_a_mimic_gripper_moves_as_the_tree_does():
    tree, maximal = gripper()
    tau = jnp.asarray([0.3, -2.0])
    assert maximal.notes == ()

    def both(tree, maximal, tau):
        state = tree.initial_state()
        model = tree.model
        rate = lx.accelerations(tree, state, controls=tau)
        moving = lx.kinematics(model, state.q, state.v, rate)
        here = mx.to_maximal(model, state.q, state.v)
        driven = JointLoads(model, tau, jnp.zeros(4))
        mechanism = maximal.mechanism
        loads = mx.Loads((mechanism.loads, driven))
        mechanism = mx.Mechanism(mechanism.bodies, mechanism.constraints, loads)
        found, _ = accelerations(mechanism, here, mx.Settings())
        spin = jnp.matmul(moving.rotation, found[:, :3, None], precision="highest")[..., 0]
        return found, spin, moving

    found, spin, moving = compiled(both)(tree, maximal, tau)
    np.testing.assert_allclose(found[:, 3:], moving.com_acceleration, rtol=0, atol=1e-10)
    np.testing.assert_allclose(spin, moving.angular_acceleration, rtol=0, atol=1e-10)
    assert np.abs(moving.com_acceleration).max() > 1.0


def test_a_mimic_gripper_runs_as_the_tree_does():
    tree, maximal = gripper()
    # Dampers: evaluated half way between the velocities, the only way of order 2.
    method = lx.Variational(mx.Settings(load_evaluation=mx.LoadEvaluation.CENTRED))
    run = compiled(
        lambda: lx.simulate(maximal, dt=1e-3, steps=100, save_every=100, integrator=method)
    )()
    wanted = compiled(
        lambda: lx.simulate(tree, dt=1e-3, steps=100, save_every=100, integrator=lx.RungeKutta4())
    )()
    np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=2e-6)
    assert np.abs(wanted.q[-1] - wanted.q[0]).min() > 0.01


def test_a_drive_may_be_written_out():
    """What the expansion says, written by hand, is the same machine."""
    one, other = geared_system(), built(expand_drives(geared()))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_reactions_are_listed_without_loops_that_are_no_joints():
    description = geared()
    description.loops = [
        DistanceDescription("rod", "world", "one", (1.0, 0.0, 0.0)),
        JointDescription("pin", "revolute", "world", "two"),
    ]
    machine = Machine(Path("geared.toml"), description, geared_system())
    assert _reaction_names(machine) == ["a", "b", "drive_rotor", "pin"]

"""Systems in maximal coordinates: what is built, what is noted, what is refused, and how they run."""

import functools as ft
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import maximal as mx
from linkax.model import VelocityDescription


CONFIGS = Path(__file__).parents[2] / "configs"
# Evaluated a few times: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def four_bar(**joints):
    """A four-bar whose joints have other fields where wanted."""
    description = lx.describe(CONFIGS / "four_bar_free.toml")
    for joint in description.joints:
        for name, value in joints.get(joint.name, {}).items():
            setattr(joint, name, value)
    return description


@ft.cache
def system():
    return lx.build(four_bar(), formulation="maximal")


def built(description):
    return lx.build(description, formulation="maximal")


# --- what is built ---


def test_a_closed_loop_at_rest_starts_as_described_and_needs_no_note():
    assert system().notes == ()
    assert not system().mechanism.redundant
    assert system().mechanism.constraints.count == 17
    np.testing.assert_array_equal(system().initial_q[:1], [0.7])


def test_a_gaping_loop_is_closed_and_noted():
    found = built(four_bar(coupler={"position": 0.05}))
    (note,) = found.notes
    assert note.startswith("The loops gape by 0.12 at the initial coordinates; the run starts")
    start = mx.to_maximal(found.model, found.initial_q, found.initial_v)
    assert np.abs(found.mechanism.closure(start)).max() < 1e-12


def test_speeds_that_open_a_loop_are_projected_and_noted():
    found = built(four_bar(crank={"speed": 1.0}))
    (note,) = found.notes
    assert note.startswith("The initial speeds open the loops at 4.5 m/s (or rad/s)")
    start = mx.to_maximal(found.model, found.initial_q, found.initial_v)
    assert np.abs(mx.velocity_residual(found.mechanism, start)).max() < 1e-12
    assert abs(found.initial_v[0]) > 0.1


def test_rows_that_follow_from_others_are_found():
    description = four_bar()
    description.joints[2].type, description.joints[2].position = "revolute", 1.7700649206575436
    description.loops[0].type = "revolute"
    found = built(description)
    assert found.mechanism.redundant
    assert found.mechanism.constraints.count == 20


# --- what is refused ---


def _torn():
    description = four_bar()
    description.joints[2].parent_frame.position = (9.0, 0.0, 0.0)
    return description


def _rolling():
    description = four_bar()
    description.loops.append(VelocityDescription("roll", "world", "crank", ("vx",)))
    return description


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (_torn, "The loops of `four_bar_free` gape by 3.77 .* cannot be closed near them"),
        (_rolling, "Loop `roll` of `four_bar_free` locks velocities, but in maximal coordinates"),
        (
            lambda: four_bar(rocker={"armature": (0.0, 0.2)}),
            r"Joint `rocker` has armature \(reflected rotor inertia\) 0.2, which no body",
        ),
        (
            lx.library.pendulum,
            "Body `rod` of `pendulum` has mass 1 and smallest principal moment 0, but",
        ),
    ],
    ids=["torn", "velocity", "armature", "point mass"],
)
def test_what_maximal_coordinates_cannot_express_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        built(make())


def test_there_are_no_accelerations_of_tree_coordinates():
    with pytest.raises(
        ValueError, match="`four_bar_free` is in maximal coordinates, which have no"
    ):
        lx.accelerations(system(), system().initial_state())
    with pytest.raises(ValueError, match="step it by Variational, or by Composition of it"):
        lx.simulate(system(), dt=0.01, steps=1, integrator=lx.RungeKutta4())


@pytest.mark.parametrize("integrator", [lx.Variational(), lx.Composition(lx.Variational())])
def test_a_tree_is_not_stepped_in_maximal_coordinates(integrator):
    tree = lx.build(lx.library.pendulum())
    with pytest.raises(ValueError, match="`pendulum` was built in the tree formulation; build it"):
        lx.simulate(tree, dt=0.01, steps=1, integrator=integrator)


# --- how it runs ---

DT = 0.01


def crank_angle(system, state):
    return state.q[0]


@ft.cache
def run(steps):
    one = lambda state: lx.simulate(
        system(), state, dt=DT, steps=steps, save_every=5, analyses=(lx.energy, crank_angle)
    )
    return compiled(one)


@ft.cache
def whole():
    return run(20)(system().initial_state())


def test_a_run_may_be_continued_from_where_it_ended():
    start = lx.Variational().prepare(system(), system().initial_state())
    first = run(10)(start)
    second = run(10)(first.final)
    assert second.status == lx.Status.completed
    for name in ("t", "q", "v", "pseudo"):
        wanted = jax.tree.map(lambda x: x[-1], getattr(whole(), name))
        found = jax.tree.map(lambda x: x[-1], getattr(second, name))
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_analyses_see_speeds_of_the_instant():
    energies, angles = whole().analyses
    assert energies.shape == (5, 2)
    np.testing.assert_array_equal(angles, whole().q[:, 0])
    assert np.abs(np.diff(energies[:, 0])).max() > 0.1
    np.testing.assert_allclose(energies.sum(axis=1), energies[0].sum(), rtol=0, atol=5e-3)


def test_the_run_keeps_the_loop_closed():
    mechanism = system().mechanism
    states = whole().pseudo.state
    for i in range(5):
        at = jax.tree.map(lambda x, i=i: x[i], states)
        assert np.abs(mechanism.closure(at)).max() < 1e-12


def _halted(system, state):
    """A callback that takes all speeds away once."""
    stop = jnp.abs(state.t - 5 * DT) < 0.5 * DT
    still = lambda x: jnp.where(stop, jnp.zeros_like(x), x)
    return eqx.tree_at(
        lambda s: (s.pseudo.state.velocity, s.pseudo.state.angular_velocity),
        state,
        replace_fn=still,
    )


def test_callbacks_change_the_state_that_goes_on():
    one = compiled(
        lambda: lx.simulate(system(), dt=DT, steps=20, save_every=5, callbacks=(_halted,))
    )
    stopped = one()
    assert stopped.status == lx.Status.completed
    np.testing.assert_allclose(stopped.q[:2], whole().q[:2], rtol=0, atol=1e-12)
    assert abs(stopped.q[-1, 0] - 0.7) < 0.7 * abs(whole().q[-1, 0] - 0.7)


def test_a_lane_that_fails_stays_alone():
    """The second lane is to turn by half a turn and more in a step, which no step can do."""
    start = lx.Variational().prepare(system(), system().initial_state())
    speeds = jnp.asarray([0.0, 1e4, 0.0])
    z = jnp.asarray([[0.0, 0.0, 1.0]])

    def lane(speed):
        spun = lambda w: w + speed * z
        return eqx.tree_at(lambda s: s.pseudo.state.angular_velocity, start, replace_fn=spun)

    lanes = jax.vmap(lane)(speeds)
    one = lambda s: lx.simulate(system(), s, dt=DT, steps=20, save_every=5)
    many = compiled(jax.vmap(one))(lanes)
    np.testing.assert_array_equal(many.completed_steps, [20, 0, 20])
    np.testing.assert_array_equal(many.status == lx.Status.completed, [True, False, True])
    for i in (0, 2):
        np.testing.assert_allclose(many.q[i], whole().q, rtol=0, atol=1e-12)
    assert np.isfinite(many.q).all()


# --- controls and the default method ---


@ft.cache
def driven():
    """A slide and a hinge on it, driven by a force and a torque that change."""
    description = lx.library.cart_pole(angle=0.5)
    description.bodies[1].inertia = lx.library.diagonal(0.01, 0.01, 0.01)
    description.bodies[0].inertia = lx.library.diagonal(0.1, 0.1, 0.1)
    return built(description)


def push(t, state):
    return jnp.stack([2.0 * jnp.sin(5.0 * t), 0.1 * jnp.cos(3.0 * t)])


def test_a_table_of_controls_is_the_function_at_the_start_of_each_step():
    times = jnp.asarray(DT * np.arange(30))
    table = jax.vmap(lambda t: push(t, None))(times)
    machine = driven()
    one = lambda controls: lx.simulate(machine, dt=DT, steps=30, save_every=30, controls=controls)
    by_function = compiled(lambda: one(push))()
    by_table = compiled(one)(table)
    assert by_function.status == lx.Status.completed
    np.testing.assert_allclose(by_table.final.q, by_function.final.q, rtol=0, atol=1e-13)
    # At the end the table has no entry any more, and its last one is taken for what is shown.
    np.testing.assert_allclose(by_table.final.v, by_function.final.v, rtol=0, atol=5e-2)


def test_a_step_is_the_first_of_a_run():
    machine, controls = driven(), jnp.ones((1, 2))
    one = compiled(lambda: lx.step(machine, machine.initial_state(), controls[0], DT))()
    of_run = compiled(lambda: lx.simulate(machine, dt=DT, steps=1, controls=controls))().final
    np.testing.assert_allclose(one.q, of_run.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.v, of_run.v, rtol=0, atol=1e-14)

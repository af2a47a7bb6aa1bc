"""The loop configs by multipliers and embedded, beside independent formulations; reactions, and no drift."""

import functools as ft
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.model import Placement, VelocityDescription
from linkax.system import closure


sys.path.append(str(Path(__file__).parents[1] / "oracles"))
import closed_loops as reference


CONFIGS = Path(__file__).parents[2] / "configs"
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
BOTH = pytest.mark.parametrize("formulation", ["tree", "embedded"])


@ft.cache
def built(name: str, formulation: str) -> lx.System:
    return lx.load(CONFIGS / f"{name}.toml", formulation=formulation)


@ft.partial(jax.jit, static_argnames=("steps", "save_every"))
def run(system, dt, steps, save_every):
    """The points of a run: times, coordinates, speeds of the tree, markers, gaps, and how it ended."""
    how = {"integrator": lx.RungeKutta4(), "save_every": save_every}
    found = lx.simulate(system, dt=dt, steps=steps, **how)

    def seen(t, q, v):
        k = lx.kinematics(system.model, q)
        state = lx.State(t, q, v, jnp.zeros((0,)))
        return system.model.tree_speeds(q, v), system.marker_positions(k), closure(system, state)

    return found.t, found.q, *jax.vmap(seen)(found.t, found.q, found.v), found.status


def ran(name: str, formulation: str, dt: float, steps: int, points: int):
    """(system, times, coordinates, speeds of the tree, markers by name) after the start."""
    system = built(name, formulation)
    t, q, v, markers, gaps, status = run(system, dt, steps, steps // points)
    assert status == lx.Status.completed
    assert np.abs(gaps).max() < 1e-12
    named = dict(zip(system.marker_names, np.moveaxis(np.asarray(markers), 1, 0), strict=True))
    return system, *(np.asarray(x)[1:] for x in (t, q, v)), {k: x[1:] for k, x in named.items()}


@compiled
def at_rest(system, scale):
    """(coordinates, accelerations of the tree, its speeds), at a multiple of the independent speeds one."""
    model, q = system.model, system.initial_q
    if isinstance(model, lx.EmbeddedModel):
        v = scale * jnp.ones_like(system.initial_v)
        a = lx.accelerations(system, lx.state_of(q, v))
        own = (lx.mass_matrix(model, q), lx.gravity_force(model, q))
        return model.tree_accelerations(q, v, a), model.tree_speeds(q, v), own
    return lx.accelerations(system, lx.state_of(q, system.initial_v)), system.initial_v, None


@BOTH
def test_the_free_four_bar_starts_as_its_reduced_mass_says(formulation):
    """Values of the acceptance cases: angle 0.7, at rest and at a crank speed of one."""
    system = built("four_bar_free", formulation)
    a, _, own = at_rest(system, 0.0)
    assert a[0] == pytest.approx(-11.36630988831793, rel=1e-12)
    if formulation == "embedded":
        M, holding = own
        np.testing.assert_allclose(M, [[0.829301653664818]], rtol=1e-12)
        np.testing.assert_allclose(holding, [9.426099586448833], rtol=1e-12)
        a, v, _ = at_rest(system, 1.0)
        assert a[0] == pytest.approx(-11.547284291482349, rel=1e-12)
        # Joint speeds: of the coupler relative to the crank, of the rocker.
        assert v[1] == pytest.approx(-0.2882203313 - 1.0, abs=1e-10)
        assert v[2] == pytest.approx(-0.0060042933, abs=1e-10)


@BOTH
def test_the_squeezer_starts_as_published(formulation):
    system = built("andrews", formulation)
    a = dict(zip(system.model.tree.speed_names, at_rest(system, 0.0)[0], strict=True))
    assert a["beta"] == pytest.approx(14222.44391995, rel=1e-11)
    assert a["theta"] == pytest.approx(-10666.83293997, rel=1e-11)


@BOTH
def test_the_free_four_bar_swings_as_one_coordinate(formulation):
    _, t, q, v, _ = ran("four_bar_free", formulation, 2e-3, 500, 4)
    expected = reference.four_bar_free(t)
    np.testing.assert_allclose(q[:, 0], expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(v[:, 0], expected[:, 1], atol=1e-8)


@BOTH
def test_the_double_four_bar_passes_its_singular_position(formulation):
    """All five bars are in line at 0.714 s."""
    _, t, _, _, at = ran("double_four_bar", formulation, 2e-3, 500, 5)
    np.testing.assert_allclose(at["B0"][:, :2], reference.double_four_bar(t)[:, 2:], atol=1e-8)


@BOTH
def test_bricards_linkage_moves_with_its_redundant_row(formulation):
    system, t, _, _, at = ran("bricard", formulation, 1e-2, 400, 4)
    np.testing.assert_allclose(at["P3"], reference.bricard(t).P3, atol=5e-8)
    if formulation == "tree":
        assert system.rows.count == 5
        assert len(system.rows.kept) == 4


@BOTH
def test_the_slider_cranks_turn_as_one_coordinate(formulation):
    _, t, q, _, at = ran("slider_crank", formulation, 1e-3, 500, 2)
    expected = reference.slider_crank(t)
    np.testing.assert_allclose(at["slider"][:, 0], expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(q[:, 0], expected[:, 2], atol=1e-8)


@BOTH
def test_the_spatial_slider_crank_is_where_it_was_published(formulation):
    _, t, _, _, at = ran("spatial_slider_crank", formulation, 5e-3, 200, 2)
    np.testing.assert_allclose(at["C"][:, 0], reference.spatial_slider_crank(t)[:, 2], atol=3e-5)


@pytest.mark.slow
@BOTH
def test_the_squeezer_ends_at_the_published_angles(formulation):
    system, _, q, v, _ = ran("andrews", formulation, 1e-5, 3000, 1)
    q = dict(zip(system.model.coordinate_names, q[-1], strict=True))
    published = {"beta": 15.81077119629904, "theta": -15.75637105984298}
    published |= {"gamma_angle": 0.04082224013073101, "phi": -0.5347301163226948}
    published |= {"delta_angle": 0.5244099658805304, "omega": 0.5347301163226948}
    published |= {"epsilon_angle": 1.048080741042263}
    for name, angle in published.items():
        assert q[name] == pytest.approx(angle, abs=3e-9), name
    v = dict(zip(system.model.tree.speed_names, v[-1], strict=True))
    assert v["beta"] == pytest.approx(1139.920302151208, rel=1e-8)
    assert v["theta"] == pytest.approx(-1424.379294994111, rel=1e-8)


@BOTH
def test_the_motor_of_the_driven_four_bar_takes_the_exact_torque_and_its_pins_the_exact_forces(
    formulation,
):
    """The prescribed motion acts by its multiplier; forces on the child of each pin, world axes."""
    system, t, q, v, _ = ran("four_bar_driven", formulation, 1e-3, 100, 2)
    own = v if formulation == "tree" else v[:, np.asarray(system.model.independent)]
    pulls, forces = jax.jit(
        jax.vmap(lambda t, q, v: lx.system.exerted(system, lx.State(t, q, v, jnp.zeros((0,)))))
    )(t, q, own)
    exact = [reference.four_bar_driven(at) for at in t]
    np.testing.assert_allclose(pulls[:, -1], [e.torque for e in exact], rtol=1e-9)
    crank, coupler, rocker, closing = (np.asarray(forces[:, i, 3:5]) for i in (0, 1, 2, 3))
    wanted = np.stack([e.reactions for e in exact]).reshape(len(exact), -1, 2)
    for found, pin in ((crank, 0), (coupler, 1), (closing, 2)):
        np.testing.assert_allclose(found, wanted[:, pin], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(-rocker, wanted[:, 3], rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_embedded_loops_do_not_drift_in_a_minute():
    _, _, q, _, _ = ran("four_bar_free", "embedded", 1e-2, 6000, 600)
    assert np.ptp(q[:, 0]) > 1.0


@pytest.mark.slow
def test_a_locked_velocity_acts_beside_loops_in_both_formulations():
    """The end of the five-bar, which falls, is kept from sinking, as on a rail."""
    description = lx.describe(CONFIGS / "five_bar.toml")
    end = next(m for m in description.markers if m.name == "end")
    tip = Placement(end.point)
    description.loops.append(
        VelocityDescription("rail", "world", end.body, ("vz",), child_frame=tip)
    )
    ends = {}
    for formulation in ("tree", "embedded"):
        system = lx.build(description, formulation)
        _, q, v, markers, gaps, status = run(system, 2e-3, 100, 20)
        assert status == lx.Status.completed
        assert np.abs(gaps).max() < 1e-12
        place = np.asarray(markers)[:, system.marker_names.index("end")]
        assert np.ptp(place[:, 0]) > 1e-2
        assert np.ptp(place[:, 2]) < 1e-8  # of the order of the step's error
        ends[formulation] = (q, v)
    for x, y in zip(ends["tree"], ends["embedded"], strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-8)

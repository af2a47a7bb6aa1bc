"""Every config in maximal coordinates moves as an independent formulation of its own has it."""

import functools
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import linkax as lx
from linkax.cli.main import main


sys.path.append(str(Path(__file__).parent / "oracles"))
import closed_loops as reference
import loops_on_a_tree as joints


FOLDER = Path(__file__).parents[1] / "configs"
NAMES = sorted(
    path.stem for path in FOLDER.glob("*.toml") if lx.describe(path).run.formulation == "maximal"
)
# What the heads of the files say: of their markers at dt / 4, or beside the references below.
CONVERGED = {
    "four_bar_driven": 1e-14,
    "four_bar_free": 2e-9,
    "double_four_bar": 1e-8,
    "andrews": 5e-9,
    "bricard": 2e-9,
    "governor": 5e-5,
    "spatial_slider_crank": 7e-6,
    "slider_crank": 2e-6,
    "five_bar": 6e-6,
    "delta": 2e-5,
    "leg": 2e-5,
}
# Of the robots the tests run the beginning only [s]; their heads speak of the whole run.
BEGINNING = {"five_bar": 0.2, "delta": 0.2, "leg": 0.1}


@functools.cache
def result(name: str) -> dict[str, np.ndarray]:
    """The result file of a config, as the command writes it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.npz"
        asked = ["simulate", str(FOLDER / f"{name}.toml"), "--out", str(out)]
        if name in BEGINNING:
            asked += ["--duration", str(BEGINNING[name])]
        assert main(asked) == 0
        return lx.io.read_results(out)


def at(found: dict[str, np.ndarray], key: str, times) -> np.ndarray:
    """A column at saved points."""
    index = np.round(np.asarray(times) / (found["t"][1] - found["t"][0])).astype(int)
    np.testing.assert_allclose(found["t"][index], times, atol=1e-9)
    return found[key][index]


def drift(found: dict[str, np.ndarray]) -> float:
    total = found["energy"].sum(axis=1)
    return float(np.abs(total - total[0]).max() / found["energy"][:, 0].max())


def test_every_mechanism_is_here_and_says_how_far_it_is_converged():
    assert set(NAMES) == set(CONVERGED)
    for name in NAMES:
        text = " ".join((FOLDER / f"{name}.toml").read_text().replace("#", "").split())
        assert "Checked: " in text
        assert f"{CONVERGED[name]:.0e}".replace("e-0", "e-") in text


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_config_completes_closed_with_every_column(name):
    found = result(name)
    run = lx.describe(FOLDER / f"{name}.toml").run
    steps = round(BEGINNING.get(name, run.duration) / run.dt)
    assert int(found["completed_steps"]) == steps
    assert found["closure"].max() < 1e-12
    for key, value in found.items():
        if value.dtype.kind == "f":
            assert np.isfinite(value).all(), key
    np.testing.assert_allclose(np.linalg.norm(found["orientation"], axis=-1), 1.0, atol=1e-12)
    system = lx.load(FOLDER / f"{name}.toml", formulation="maximal")
    points = steps // (run.save_every or 1) + 1
    assert found["multipliers"].shape == (points, system.mechanism.constraints.count)
    assert found["reactions"].shape == (points, len(found["reaction_names"]), 6)


@pytest.mark.slow
def test_the_motor_of_the_driven_four_bar_takes_the_exact_torque():
    found = result("four_bar_driven")
    torque = at(found, "multipliers", [0.0, 0.05, 0.1, 0.5])[:, -1]
    # The step's own values, to the digits of an independent implementation of it.
    np.testing.assert_allclose(
        torque[:3], [385.1111211, 26.9110090, -398.6552513], rtol=0, atol=1e-6
    )
    exact = [reference.four_bar_driven(t).torque for t in found["t"][::20]]
    assert np.abs(found["multipliers"][::20, -1] - exact).max() < 0.0145
    force = at(found, "reactions", [0.1])[0, :, 3:5]
    names = list(found["reaction_names"])
    np.testing.assert_allclose(force[names.index("crank")], [514.0434, -16.7501], atol=1e-3)
    np.testing.assert_allclose(force[names.index("coupler")], [364.8693, 59.5732], atol=1e-3)
    # The pin between coupler and rocker pushes the rocker; the ground pushes it by the opposite of what is
    # listed for the ground.
    np.testing.assert_allclose(force[names.index("closure")], [29.8125, 148.5883], atol=1e-3)
    np.testing.assert_allclose(force[names.index("rocker")], [59.2241, -116.4443], atol=1e-3)


@pytest.mark.slow
def test_the_free_four_bar_swings_as_one_coordinate():
    found, times = result("four_bar_free"), [0.25, 0.5, 1.0]
    expected = reference.four_bar_free(times)
    np.testing.assert_allclose(at(found, "q", times)[:, 0], expected[:, 0], atol=3e-9)
    np.testing.assert_allclose(at(found, "v", times)[:, 0], expected[:, 1], atol=1e-7)
    np.testing.assert_allclose(
        at(found, "marker/crank_tip", times)[:, :2], expected[:, 2:], atol=3e-9
    )
    assert drift(found) < 1e-8


@pytest.mark.slow
def test_the_double_four_bar_passes_its_singular_positions():
    found, times = result("double_four_bar"), [1.0, 5.0, 10.0]
    expected = reference.double_four_bar(times)
    np.testing.assert_allclose(at(found, "marker/B0", times)[:, :2], expected[:, 2:], atol=1e-8)
    energy = found["energy"].sum(axis=1)
    assert energy[0] == pytest.approx(35.835, rel=1e-12)
    assert drift(found) < 1e-8


@pytest.mark.slow
def test_the_squeezer_ends_at_the_published_angles():
    found = result("andrews")
    names = list(found["coordinate_names"])
    q = dict(zip(names, found["q"][-1], strict=True))
    published = {"beta": 15.81077119629904, "theta": -15.75637105984298}
    published |= {"gamma_angle": 0.04082224013073101, "phi": -0.5347301163226948}
    published |= {"delta_angle": 0.5244099658805304, "omega": 0.5347301163226948}
    published |= {"epsilon_angle": 1.048080741042263}
    for name, angle in published.items():
        assert q[name] == pytest.approx(angle, abs=5e-9), name
    v = dict(zip(list(found["speed_names"]), found["v"][-1], strict=True))
    assert v["beta"] == pytest.approx(1139.920302151208, rel=1e-7)
    assert v["theta"] == pytest.approx(-1424.379294994111, rel=1e-7)


@pytest.mark.slow
def test_bricards_linkage_moves_with_its_one_redundant_row():
    found, times = result("bricard"), [1.0, 2.0, 3.0, 4.0]
    system = lx.load(FOLDER / "bricard.toml", formulation="maximal")
    assert system.mechanism.redundant
    expected = reference.bricard(times).P3
    np.testing.assert_allclose(at(found, "marker/P3", times), expected, atol=2e-9)
    assert drift(found) < 1e-8


@pytest.mark.slow
def test_the_governor_obeys_rouths_equations():
    found, times = result("governor"), [0.1, 0.5, 1.0, 5.0, 10.0]
    expected = reference.governor(times)
    np.testing.assert_allclose(at(found, "marker/slider", times)[:, 2], expected.s, atol=1e-5)
    names = list(found["coordinate_names"])
    angle = at(found, "q", times)[:, names.index("shaft")]
    np.testing.assert_allclose(angle, expected.angle, atol=1e-4)
    # What the dampers took is the energy that is gone.
    gone = found["energy"][0].sum() - at(found, "energy", times).sum(axis=1)
    np.testing.assert_allclose(gone, expected.lost, atol=2e-4)


@pytest.mark.slow
def test_the_spatial_slider_crank_is_where_it_was_published():
    found = result("spatial_slider_crank")
    times = [0.1, 0.5, 1.0]
    expected = reference.spatial_slider_crank(times)
    np.testing.assert_allclose(at(found, "marker/C", times)[:, 0], expected[:, 2], atol=1e-6)
    np.testing.assert_allclose(at(found, "q", times)[:, 0], expected[:, 0], atol=1e-5)
    assert found["energy"][0].sum() == pytest.approx(0.76643568, abs=1e-8)


@pytest.mark.slow
def test_the_slider_crank_turns_as_one_coordinate():
    found, times = result("slider_crank"), [1.0, 2.0, 3.0]
    expected = reference.slider_crank(times)
    np.testing.assert_allclose(at(found, "marker/slider", times)[:, 0], expected[:, 0], atol=2e-6)
    np.testing.assert_allclose(at(found, "q", times)[:, 0], expected[:, 2], atol=5e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", BEGINNING)
def test_a_robot_moves_as_its_tree_with_multipliers(name):
    found = result(name)
    times = found["t"][found["t"] > 0.0][4::5]
    robot = joints.Robot(FOLDER / f"{name}.toml")
    assert np.abs(robot.gaps(robot.start)).max() < 1e-12
    expected = robot.run(times, rtol=1e-8, atol=1e-10)
    moved = 0.0
    for marker, place in expected.markers.items():
        np.testing.assert_allclose(
            at(found, f"marker/{marker}", times), place, rtol=0, atol=CONVERGED[name]
        )
        moved = max(moved, np.linalg.norm(place[-1] - found[f"marker/{marker}"][0]))
    assert moved > 1e-2
    # What the dampers took is the energy that is gone.
    gone = found["energy"][0].sum() - at(found, "energy", times).sum(axis=1)
    np.testing.assert_allclose(gone, expected.lost, rtol=0, atol=2e-3 * expected.lost[-1])


@pytest.mark.parametrize("name", ["double_pendulum", "heavy_top", "tumbling_body"])
@pytest.mark.slow
def test_a_tree_runs_in_maximal_coordinates_as_well(name, tmp_path, capsys):
    out = tmp_path / "run.npz"
    path = str(FOLDER / f"{name}.toml")
    duration = {"heavy_top": "0.1"}.get(name, "2")
    common = ["simulate", path, "--duration", duration, "--out", str(out)]
    assert main([*common, "--formulation", "maximal", "--integrator", "composition"]) == 0
    maximal = lx.io.read_results(out)
    assert ("momentum" in capsys.readouterr().out) == (name == "tumbling_body")
    assert main(common) == 0
    tree = lx.io.read_results(out)
    for key in ("q", "v", "com", "orientation", "energy"):
        scale = max(1.0, np.abs(tree[key]).max())
        np.testing.assert_allclose(maximal[key], tree[key], atol=2e-6 * scale, err_msg=key)

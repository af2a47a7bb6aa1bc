"""`linkax simulate`: the result file, batches, failed runs, what goes where."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.cli.main import main
from linkax.model import JointDescription, library


STEPS, SAVE_EVERY, LANES = 40, 3, 3
POINTS = 15  # 0, 3, ..., 39 and 40
RUN = ("--duration", "0.4", "--dt", "0.01", "--save-every", str(SAVE_EVERY))
BATCH = ("--batch", str(LANES), "--spread", "0.3", "--seed", "5")


@pytest.fixture(scope="module")
def mechanism(tmp_path_factory) -> Path:
    """A ball with a hinge, moving: quaternions, two joint classes, a marker, a name fit for a file."""
    description = library.double_pendulum()
    description.name = "two bars"
    description.joints[0] = JointDescription(
        "ball", "spherical", "world", "upper", speed=(2.0, 5.0, 3.0)
    )
    path = tmp_path_factory.mktemp("mechanism") / "bars.toml"
    lx.write_toml(description, path)
    return path


def simulate(capsys, *words) -> tuple[int, str, str]:
    status = main(["simulate", *map(str, words)])
    found = capsys.readouterr()
    return status, found.out, found.err


@pytest.fixture(scope="module")
def single(mechanism, tmp_path_factory) -> dict[str, np.ndarray]:
    out = tmp_path_factory.mktemp("single") / "run.npz"
    assert main(["simulate", str(mechanism), *RUN, "--out", str(out)]) == 0
    return lx.io.read_results(out)


@pytest.fixture(scope="module")
def batch(mechanism, tmp_path_factory) -> dict[str, np.ndarray]:
    out = tmp_path_factory.mktemp("batch") / "run.npz"
    assert main(["simulate", str(mechanism), *RUN, *BATCH, "--out", str(out)]) == 0
    return lx.io.read_results(out)


SHAPES = {
    "t": (POINTS,),
    "q": (POINTS, 5),
    "v": (POINTS, 4),
    "position": (POINTS, 2, 3),
    "com": (POINTS, 2, 3),
    "orientation": (POINTS, 2, 4),
    "com_velocity": (POINTS, 2, 3),
    "angular_velocity": (POINTS, 2, 3),
    "multipliers": (POINTS, 0),
    "reactions": (POINTS, 2, 6),
    "closure": (POINTS,),
    "energy": (POINTS, 2),
    "marker/tip": (POINTS, 3),
    "status": (),
    "status_sentence": (),
    "completed_steps": (),
}
SHARED = {"body_names": (2,), "coordinate_names": (5,), "speed_names": (4,), "settings": ()}
SHARED |= {"reaction_names": (2,)}


def test_the_result_file_holds_every_key_in_its_shape(single):
    assert {key: value.shape for key, value in single.items()} == {**SHAPES, **SHARED}
    assert single["q"].dtype == np.float64
    assert single["body_names"].tolist() == ["upper", "lower"]
    assert single["speed_names"].tolist() == ["ball_wx", "ball_wy", "ball_wz", "elbow"]
    settings = json.loads(str(single["settings"]))
    assert (settings["dt"], settings["steps"], settings["save_every"]) == (0.01, STEPS, SAVE_EVERY)
    assert settings["integrator"] == "semi-implicit-euler"
    assert str(single["status_sentence"]) == "The run completed all its steps."
    assert (int(single["status"]), int(single["completed_steps"])) == (0, STEPS)


def test_a_batch_leads_with_lanes(batch):
    expected = {key: (LANES, *shape) for key, shape in SHAPES.items()}
    assert {key: value.shape for key, value in batch.items()} == {**expected, **SHARED}
    assert batch["completed_steps"].tolist() == [STEPS] * LANES


def test_the_first_lane_of_a_batch_is_the_single_run_and_the_others_are_not(single, batch):
    for key in SHAPES:
        if single[key].dtype.kind == "f":
            np.testing.assert_allclose(batch[key][0], single[key], rtol=0, atol=1e-12, err_msg=key)
    np.testing.assert_array_equal(batch["q"][0, 0], single["q"][0])
    starts = batch["q"][:, 0]
    assert np.abs(starts[1:] - starts[0]).max(axis=1).min() > 0.01
    np.testing.assert_array_equal(batch["v"][:, 0], np.broadcast_to(single["v"][0], (LANES, 4)))
    np.testing.assert_allclose(np.linalg.norm(starts[:, :4], axis=1), 1.0, atol=1e-14)


def test_chunks_change_nothing_against_one_simulate(single, mechanism):
    system = lx.load(mechanism)

    @jax.jit
    def run(system):
        trajectory = lx.simulate(system, dt=0.01, steps=STEPS, save_every=SAVE_EVERY)
        k = jax.vmap(lambda q, v: lx.kinematics(system.model, q, v))(trajectory.q, trajectory.v)
        energy = jax.vmap(lambda q, v: lx.energy(system, lx.state_of(q, v)))
        return trajectory, k, energy(trajectory.q, trajectory.v)

    trajectory, k, energy = run(system)
    expected = {
        "t": trajectory.t,
        "q": trajectory.q,
        "v": trajectory.v,
        "position": k.position,
        "com": k.com,
        "com_velocity": k.com_velocity,
        "orientation": k.quaternion,
        "angular_velocity": k.angular_velocity_body,
        "energy": energy,
    }
    for key, value in expected.items():
        np.testing.assert_allclose(single[key], value, rtol=0, atol=1e-11, err_msg=key)


def test_orientation_is_a_continuous_unit_quaternion_that_carries_the_marker(single):
    q = single["orientation"]
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=1e-14)
    assert (q[1:] * q[:-1]).sum(-1).min() > 0.9
    w, u = q[:, 1, :1], q[:, 1, 1:]
    arm = np.broadcast_to([0.0, 0.0, -0.8], u.shape)
    turned = arm + 2.0 * np.cross(u, np.cross(u, arm) + w * arm)
    np.testing.assert_allclose(single["marker/tip"], single["position"][:, 1] + turned, atol=1e-13)


def test_angular_velocity_is_in_body_axes(single):
    """The ball's speeds are the upper body's angular velocity in its own axes."""
    np.testing.assert_allclose(single["angular_velocity"][:, 0], single["v"][:, :3], atol=1e-12)


def test_progress_is_on_standard_error_and_the_paragraph_on_standard_output(
    mechanism, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    pictures = ("--view", "run.html", "--plot", "run.png")
    status, out, err = simulate(capsys, mechanism, *RUN, *BATCH, *pictures)
    assert status == 0
    text = " ".join(out.split())
    for words in (
        "two bars (tree formulation) has 2 bodies, 2 joints and 4 speeds.",
        "3 lanes of it were run for 40 steps of 0.01 s, to t = 0.4 s, by semi-implicit-euler",
        "15 points saved",
        "of the largest kinetic energy",
        "All 3 lanes completed.",
        "Compiling took",
        "times as fast as real time",
        "two bars.npz (results), run.html (page), run.png (plot)",
    ):
        assert words in text
    assert max(map(len, out.splitlines())) <= 88
    assert "step/s" in err
    assert "step/s" not in out
    assert "linkax:" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.html", "run.png", "two bars.npz"]
    assert main(["view", "two bars.npz", "--lane", "2", "--out", "again.html"]) == 0
    assert (tmp_path / "again.html").stat().st_size > 10_000


def test_a_failed_lane_is_status_3_stays_at_its_last_good_state_and_leaves_the_others(
    tmp_path, capsys
):
    """Hanging at rest nothing moves, however long the step; anywhere else such steps explode."""
    description = library.double_pendulum(angles=(0.0, 0.0))
    lx.write_toml(description, tmp_path / "hanging.toml")
    out = tmp_path / "run.npz"
    words = ("--duration", "1200", "--dt", "20", "--batch", "3", "--out", out)
    status, said, err = simulate(capsys, tmp_path / "hanging.toml", *words)
    assert status == 3
    last = err.strip().splitlines()[-1]
    assert last.startswith("linkax: 2 of 3 lanes did not complete; lane 1 stopped after ")
    assert "Traceback" not in err
    assert "1 of 3 lanes completed" in " ".join(said.split())

    found = lx.io.read_results(out)
    assert found["status"].tolist() == [0, 1, 1]
    assert found["status_sentence"][0] != found["status_sentence"][1]
    assert found["completed_steps"][0] == 60
    np.testing.assert_array_equal(found["q"][0], np.zeros((61, 2)))
    np.testing.assert_array_equal(found["t"][0], 20.0 * np.arange(61))

    system = lx.load(tmp_path / "hanging.toml")
    run = jax.jit(lambda s, q: lx.simulate(s, lx.state_of(q, jnp.zeros(2)), dt=20.0, steps=60))
    for lane in (1, 2):
        alone = run(system, jnp.asarray(found["q"][lane, 0]))
        steps = int(found["completed_steps"][lane])
        assert steps == int(alone.completed_steps) < 20
        # The motion is chaos amplified by overflow: only the first steps can be compared.
        np.testing.assert_allclose(found["q"][lane, :2], alone.q[:2], rtol=1e-9)
        held = found["q"][lane, steps:]
        np.testing.assert_array_equal(held, np.broadcast_to(held[0], held.shape))
        assert np.isfinite(held).all()
        assert found["t"][lane, -1] == 20.0 * steps


def test_the_command_runs_in_single_precision_on_two_devices(tmp_path):
    """In a process of its own: devices are counted before JAX starts, precision is the command's."""
    lx.write_toml(library.pendulum(), tmp_path / "pendulum.toml")
    source = Path(lx.__file__).parents[1]
    cache = str(jax.config.values["jax_compilation_cache_dir"])
    environment = {**os.environ, "PYTHONPATH": str(source), "JAX_COMPILATION_CACHE_DIR": cache}
    words = ["simulate", "pendulum.toml", "--batch", "4", "--devices", "2", "--precision", "f32"]
    done = subprocess.run(
        [sys.executable, "-m", "linkax.cli", *words, "--duration", "0.1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "step/s" in done.stderr
    found = lx.io.read_results(tmp_path / "pendulum.npz")
    assert found["q"].dtype == np.float32
    assert found["q"].shape == (4, 101, 1)
    assert found["completed_steps"].tolist() == [100] * 4
    # The time of each point is counted, in single precision too.
    np.testing.assert_allclose(found["t"][3], 1e-3 * np.arange(101), rtol=2e-7)

"""Every config of a tree runs and moves as it should: reference values, conservation, convergence."""

import functools
import tempfile
from pathlib import Path

import jax
import numpy as np
import pytest

import linkax as lx
from linkax.cli.main import main


FOLDER = Path(__file__).parents[1] / "configs"
# Those in maximal coordinates are in test_maximal_configs.
NAMES = sorted(
    path.stem for path in FOLDER.glob("*.toml") if lx.describe(path).run.formulation != "maximal"
)
# What the heads of the files say about dt / 4.
CONVERGED = {
    "pendulum": 5e-9,
    "double_pendulum": 2e-7,
    "tumbling_body": 2e-10,
    "heavy_top": 3e-7,
    "cart_pole": 5e-9,
    "arm": 3e-10,
    "quadruped": 1e-11,
}


@functools.cache
def result(name: str) -> dict[str, np.ndarray]:
    """The result file of a config, as the command writes it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.npz"
        assert main(["simulate", str(FOLDER / f"{name}.toml"), "--out", str(out)]) == 0
        return lx.io.read_results(out)


def at(found: dict[str, np.ndarray], key: str, time: float) -> np.ndarray:
    """A column at the saved point of this time."""
    i = int(np.argmin(np.abs(found["t"] - time)))
    assert found["t"][i] == pytest.approx(time, abs=1e-9)
    return found[key][i]


def drift(found: dict[str, np.ndarray]) -> float:
    total = found["energy"].sum(axis=1)
    return float(np.abs(total - total[0]).max() / found["energy"][:, 0].max())


@functools.cache
def masses(name: str) -> tuple[np.ndarray, np.ndarray]:
    model = lx.load(FOLDER / f"{name}.toml").model
    return np.asarray(model.mass), np.asarray(model.inertia)


def turned(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors in body axes as vectors in world axes."""
    w, u = quaternion[..., :1], quaternion[..., 1:]
    return vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)


def angular_momentum(name: str, about: np.ndarray) -> np.ndarray:
    """Of all bodies about a point (points, 3), world axes."""
    found = result(name)
    mass, inertia = masses(name)
    own = np.einsum("bij,pbj->pbi", inertia, found["angular_velocity"])
    orbital = np.cross(found["com"] - about[:, None], mass[:, None] * found["com_velocity"])
    return (turned(found["orientation"], own) + orbital).sum(axis=1)


def test_there_are_configs_and_each_says_how_far_it_is_converged():
    assert len(NAMES) >= 7
    assert set(NAMES) == set(CONVERGED)
    for name in NAMES:
        text = (FOLDER / f"{name}.toml").read_text()
        assert "# Checked: with dt / 4 no coordinate moves by more than" in text
        assert f"{CONVERGED[name]:.0e}".replace("e-0", "e-") in " ".join(text.split())


@pytest.mark.parametrize("name", NAMES)
def test_a_config_completes_with_finite_values_and_continuous_unit_quaternions(name):
    found = result(name)
    run = lx.describe(FOLDER / f"{name}.toml").run
    assert run.duration is not None
    assert run.dt is not None
    steps = round(run.duration / run.dt)
    assert int(found["completed_steps"]) == steps
    assert found["t"][-1] == pytest.approx(run.duration, abs=1e-9)
    for key, value in found.items():
        if value.dtype.kind == "f":
            assert np.isfinite(value).all(), key
    q = found["orientation"]
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, atol=1e-12)
    assert (q[1:] * q[:-1]).sum(-1).min() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_config_is_as_converged_as_it_says(name):
    description = lx.describe(FOLDER / f"{name}.toml")
    run = description.run
    assert run.duration is not None
    assert run.dt is not None
    steps, dt = 4 * round(run.duration / run.dt), run.dt / 4.0
    every, method = 4 * (run.save_every or 1), lx.RungeKutta4()
    fine = jax.jit(
        lambda s: lx.simulate(s, dt=dt, steps=steps, save_every=every, integrator=method).q
    )(lx.build(description))
    assert np.abs(result(name)["q"] - np.asarray(fine)).max() <= CONVERGED[name]


def test_the_pendulum_is_where_elliptic_functions_have_it():
    found = result("pendulum")
    bob = at(found, "marker/bob", 1.0)
    np.testing.assert_allclose(bob, [0.9862917511318741, 0.0, -0.16501085312554867], atol=1e-8)
    # The acceleration vanishes where the angle does: linear interpolation is good to third order.
    q, t = found["q"][:, 0], found["t"]
    down = np.flatnonzero((q[:-1] > 0.0) & (q[1:] <= 0.0))
    crossings = t[down] - q[down] * (t[down + 1] - t[down]) / (q[down + 1] - q[down])
    np.testing.assert_allclose(np.diff(crossings), 2.3678419475762373, atol=1e-6)


def test_the_double_pendulum_has_the_reference_angles():
    found = result("double_pendulum")
    expected = {
        0.5: (-12.61826372, 48.237754),
        1.0: (-4.71793979, -70.9522736),
        2.0: (12.48590882, 35.87478348),
        4.0: (-7.76623255, 61.52942031),
    }
    for time, degrees in expected.items():
        absolute = np.degrees(np.cumsum(at(found, "q", time)))
        np.testing.assert_allclose(absolute, degrees, atol=2e-5)
    rates = np.cumsum(at(found, "v", 4.0))
    np.testing.assert_allclose(rates, [0.72523948, 2.18791022], atol=1e-6)
    assert drift(found) < 1e-7


def test_the_tumbling_body_turns_over_as_elliptic_functions_have_it():
    found = result("tumbling_body")
    spin = {
        5.0: (-0.06482962, 0.99794645, 0.03830961),
        10.0: (-0.87457344, 0.48499619, 0.50500122),
    }
    attitude = {
        5.0: (-0.80085621, 0.00882053, 0.59766756, 0.03667441),
        10.0: (0.24270299, 0.11814413, -0.82272015, -0.50026871),
    }
    for time in (5.0, 10.0):
        np.testing.assert_allclose(at(found, "angular_velocity", time)[0], spin[time], atol=1e-8)
        np.testing.assert_allclose(at(found, "orientation", time)[0], attitude[time], atol=1e-8)
    w = found["angular_velocity"][:, 0]
    again = [np.interp(39.10573419728772, found["t"], w[:, k]) for k in range(3)]
    np.testing.assert_allclose(again, w[0], atol=2e-7)
    momentum = angular_momentum("tumbling_body", found["com"][:, 0])
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), atol=1e-9)


def test_the_heavy_top_keeps_energy_and_both_momenta():
    found = result("heavy_top")
    assert found["energy"][0].sum() == pytest.approx(5435.696790865547, rel=1e-12)
    assert drift(found) < 1e-8
    momentum = angular_momentum("heavy_top", np.zeros((len(found["t"]), 3)))
    np.testing.assert_allclose(momentum[:, 2], momentum[0, 2], atol=5e-5)
    np.testing.assert_allclose(found["angular_velocity"][:, 0, 1], 150.0, atol=1e-5)


def test_the_cart_pole_keeps_energy_and_momentum_along_the_rail():
    found = result("cart_pole")
    mass, _ = masses("cart_pole")
    assert drift(found) < 1e-9
    np.testing.assert_allclose(found["com_velocity"][..., 0] @ mass, 0.0, atol=1e-9)
    assert np.abs(found["q"]).max() > 1.0


def test_the_arm_only_loses_energy():
    total = result("arm")["energy"].sum(axis=1)
    assert np.diff(total).max() < 1e-9
    assert total[-1] < total[0] - 1.0


def test_the_quadruped_flies_on_a_parabola_and_keeps_its_angular_momentum():
    found = result("quadruped")
    mass, _ = masses("quadruped")
    com = np.einsum("b,pbi->pi", mass, found["com"]) / mass.sum()
    velocity = np.einsum("b,pbi->pi", mass, found["com_velocity"]) / mass.sum()
    t = found["t"][:, None]
    gravity = np.array([0.0, 0.0, -9.81])
    parabola = com[0] + velocity[0] * t + 0.5 * gravity * t * t
    np.testing.assert_allclose(com, parabola, atol=1e-9)
    momentum = angular_momentum("quadruped", com)
    np.testing.assert_allclose(momentum, momentum[:1].repeat(len(momentum), 0), atol=1e-10)
    assert drift(found) < 1e-11
    assert mass.sum() == pytest.approx(16.0)

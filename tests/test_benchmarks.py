"""Every benchmark script runs, in a small form; the figures come from the scripts at their full size."""

import importlib
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkax as lx


FOLDER = Path(__file__).parent.parent / "benchmarks"
MODULES = {"bars", "closed_robots_mjcf", "everything", "harness", "robots"}
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in MODULES)
SMALL = ["--models", "chain3", "--batch", "4"]
TABLES = [*SMALL, "--precision", "64", "--rounds", "2", "--engines", "linkax"]
OPTIONS = {
    "closed_robots": ["--quick", "--robots", "five_bar"],
    "compile_time": SMALL,
    "compliance_growth": ["--quick"],
    "energy": [
        "--methods",
        "variational",
        "--seconds",
        "0.1",
        "--tumbling-seconds",
        "0.1",
        "--steps",
        "1e-2",
    ],
    "forward_dynamics": [*TABLES, "plain", "linkax-batched", "pinocchio"],
    "four_bar": ["--engines", "linkax", "--batch", "4", "--seconds", "0.05", "--rounds", "2"],
    "growth": ["--batch", "4", "--precision", "64", "--rounds", "2", "--engines", "linkax"],
    "latency": [*TABLES, "plain"],
    "long_run": ["--steps", "200", "--precision", "64"],
    "variational_growth": [
        "--links",
        "2",
        "3",
        "--batch",
        "1",
        "--solvers",
        "block-sparse",
        "--without-exudyn",
    ],
}
SAYS = {
    "closed_robots": ("five_bar: 4 bodies, 2 freedoms", "closure m", "4/4", "k steps/s"),
    "compile_time": ("chain3", "gradient"),
    "compliance_growth": ("two places, dense, batch 1: chain of 8 / chain of 4", "a body"),
    "energy": ("double pendulum", "tumbling body", "variational"),
    "four_bar": ("closure", "4 at once", "k steps/s"),
    "latency": (" us ", "plain", "1.00x"),
    "growth": ("chain of 100 / chain of 10",),
    "gradient_cost": ("gradient / value",),
    "long_run": ("all found", "trend", "closure"),
    "memory": ("MB",),
    "forward_dynamics": ("plain", "pinocchio", "1.00x"),
    "variational_growth": ("chain of 3 / chain of 2", "block-sparse"),
}


def test_every_script_is_here():
    assert {"forward_dynamics", "gradients", "rollouts", "compile_time", "memory"} <= set(SCRIPTS)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_in_a_small_form(script):
    options = OPTIONS.get(script, TABLES)
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{script}.py"), *options],
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for word in SAYS.get(script, ("linkax", "1.00x")):
        assert word in done.stdout
    assert "Error" not in done.stdout


@pytest.fixture
def benchmarks(monkeypatch):
    """The folder's modules, as its scripts import them."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def turn_of(joint: ET.Element, q: list[float]) -> Rotation:
    """The rotation of a MuJoCo joint by the next of its coordinates, which are taken off."""
    if joint.get("type") == "ball":
        w, x, y, z = (q.pop(0) for _ in range(4))
        return Rotation.from_quat([x, y, z, w])
    return Rotation.from_rotvec(q.pop(0) * numbers(joint, "axis"))


def numbers(element: ET.Element, key: str) -> np.ndarray:
    return np.array([float(x) for x in element.get(key, "").split()])


def sites_of(body: ET.Element, turned: Rotation, place: np.ndarray, q: list[float]) -> dict:
    """World places of the sites of a MuJoCo body and of all below it, by MuJoCo's rules for joints."""
    for joint in body.findall("joint"):
        if joint.get("type") == "slide":
            place = place + turned.apply(q.pop(0) * numbers(joint, "axis"))
            continue
        anchor = place + turned.apply(numbers(joint, "pos"))
        turned = turned * turn_of(joint, q)
        place = anchor - turned.apply(numbers(joint, "pos"))
    found = {s.get("name"): place + turned.apply(numbers(s, "pos")) for s in body.findall("site")}
    for child in body.findall("body"):
        w, x, y, z = numbers(child, "quat")
        here = turned * Rotation.from_quat([x, y, z, w])
        found |= sites_of(child, here, place + turned.apply(numbers(child, "pos")), q)
    return found


@pytest.mark.parametrize("name", ["five_bar", "delta", "leg"])
def test_a_robot_with_loops_is_closed_in_mujoco_s_words_as_well(benchmarks, name):
    writer = benchmarks("closed_robots_mjcf")
    description = lx.describe(FOLDER.parent / "configs" / f"{name}.toml")
    names = [joint.name for joint in description.joints]
    root = ET.fromstring(writer.mjcf(description, 1e-3, stiff=True))
    starts = [np.atleast_1d(np.asarray(j.position, float)) for j in description.joints]
    q = np.concatenate(starts)[writer.order(description, names).q].tolist()
    world = root.find("worldbody")
    assert world is not None
    places = sites_of(world, Rotation.identity(), np.zeros(3), q)
    assert q == []
    loops = root.findall("equality/connect")
    assert len(loops) == len(description.loops) > 0
    for loop in loops:
        gap = places[loop.get("site1")] - places[loop.get("site2")]
        assert np.abs(gap).max() < 1e-12
    masses = [float(x.get("mass", "0")) for x in root.iter("inertial")]
    assert sum(masses) == pytest.approx(sum(b.mass for b in description.bodies), rel=1e-12)
    springs = [x for x in root.iter("joint") if x.get("stiffness")]
    assert len(springs) == len(description.elements)


def test_what_mujoco_would_say_differently_is_refused(benchmarks):
    writer = benchmarks("closed_robots_mjcf")
    description = lx.describe(FOLDER.parent / "configs" / "spatial_slider_crank.toml")
    with pytest.raises(ValueError, match="Loop `C` is universal, but must be spherical"):
        writer.mjcf(description, 1e-3)
    description = lx.describe(FOLDER.parent / "configs" / "governor.toml")
    with pytest.raises(ValueError, match="Element `spring_right` cannot be written for MuJoCo"):
        writer.mjcf(description, 1e-3)


# Of one convention and at the same states; at sums of other order, float32 loses what conditioning takes.
@pytest.mark.parametrize(("precision", "bound"), [(64, 1e-8), (32, 1e-3)])
def test_the_plain_baseline_has_our_accelerations(benchmarks, precision, bound):
    with jax.enable_x64(precision == 64), jax.numpy_dtype_promotion("standard"):
        found = benchmarks("harness").disagreement("forward_dynamics", "tree4", precision, 4)
    assert found <= bound


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["gradient", "rollout"])
def test_the_plain_baseline_has_our_gradients_and_runs(benchmarks, quantity):
    harness = benchmarks("harness")
    with jax.numpy_dtype_promotion("standard"):
        assert harness.disagreement(quantity, "tree4", 64, 2) <= 1e-8
        assert harness.disagreement(quantity, "tree4", 64, 2, "linkax", "linkax-batched") <= 1e-10


def test_a_tree_is_the_same_each_time_with_branches_hinges_and_slides(benchmarks):
    robot = benchmarks("robots").robot
    path = robot("tree30").path
    assert path.read_text() == robot("tree30").path.read_text()
    model = lx.load(path).model
    assert (model.nb, model.nv) == (30, 30)
    assert len(set(model.topology.joints)) == 2
    parents = model.topology.parents
    assert sum(parents.count(p) > 1 for p in set(parents)) >= 4


@pytest.mark.parametrize("machine", ["panda", "anymal", "g1", "tree30"])
def test_every_link_with_a_mass_has_the_inertia_of_a_body(benchmarks, machine):
    """Engines differ in what they make of others: MuJoCo refuses them."""
    for link in ET.parse(benchmarks("robots").robot(machine).path).getroot().iter("link"):
        mass, tensor = link.find("inertial/mass"), link.find("inertial/inertia")
        if mass is None or tensor is None or float(mass.get("value", "0")) == 0.0:
            continue
        xx, xy, xz, yy, yz, zz = (
            float(tensor.get(f"i{k}")) for k in ["xx", "xy", "xz", "yy", "yz", "zz"]
        )
        least, middle, most = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert least > 0.0, link.get("name")
        assert least + middle >= most * (1.0 - 1e-6), link.get("name")

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

import linkax as lx


FOLDER = Path(__file__).parent.parent / "benchmarks"
MODULES = {"bars", "everything", "harness", "robots"}
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in MODULES)
SMALL = ["--models", "chain3", "--batch", "4"]
TABLES = [*SMALL, "--precision", "64", "--rounds", "2", "--engines", "linkax"]
OPTIONS = {
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

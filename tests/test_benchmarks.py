"""Every benchmark script runs, in a small form; the figures come from the scripts at their full size."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


FOLDER = Path(__file__).parent.parent / "benchmarks"
MODULES = {"everything", "harness", "robots"}
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in MODULES)
SMALL = ["--models", "chain3", "--batch", "4"]
TABLES = [*SMALL, "--precision", "64", "--rounds", "2", "--engines", "linkax"]
OPTIONS = {
    "compile_time": SMALL,
    "forward_dynamics": [*TABLES, "plain", "linkax-batched", "pinocchio"],
    "growth": ["--batch", "4", "--precision", "64", "--rounds", "2", "--engines", "linkax"],
    "latency": [*TABLES, "plain"],
}
SAYS = {
    "compile_time": ("chain3", "gradient"),
    "growth": ("chain of 100 / chain of 10",),
    "latency": ("us", "x plain"),
    "memory": ("MB",),
    "forward_dynamics": ("plain", "pinocchio", "1.00x"),
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

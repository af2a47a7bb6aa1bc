"""Runs every benchmark and writes the tables to one page.

    python benchmarks/everything.py docs/benchmarks.md [--targets] [--only forward_dynamics growth]

Needs the peers: pip install -e '.[peers]'. Two hours on two cores; with --targets, which asks only for the
cases that the project has targets for, half an hour.
"""

import argparse
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path


ROBOTS = "--models panda anymal g1"
TARGETS = {  # the options of each script that ask for the cases with a target, and a few beside them
    "compile_time": "--models chain100 g1 tree30 --batch 0",
    "latency": f"{ROBOTS} --precision 64",
    "forward_dynamics": f"{ROBOTS} tree30 --batch 4096",
    "inverse_dynamics": "--models g1 --batch 1024 --precision 64",
    "mass_matrix": "--models g1 --batch 1024 --precision 64",
    "gradients": f"{ROBOTS} --batch 1024 --precision 64",
    "gradient_cost": "--batch 1024 --precision 64",
    # Without MJX, which takes minutes a call or to compile.
    "rollouts": f"{ROBOTS} --batch 1024 --precision 64 --engines linkax linkax-batched plain mujoco frax",
    "rollout_gradients": "--models g1 --batch 64 --precision 32 --engines linkax linkax-batched plain frax",
    "growth": "--batch 1024",
    "compliance_growth": "",
    "four_bar": "",
    "closed_robots": "--engines linkax mujoco mujoco-stiff mjx",
    "variational_growth": "",
    "energy": "",
    "long_run": "",
    "memory": "--models g1 --batch 64 --precision 32 --engines linkax linkax-batched plain frax",
}
SCRIPTS = tuple(TARGETS)
PACKAGES = ("jax", "pin", "mujoco", "mujoco-mjx", "brax", "frax", "jaxsim", "exudyn")
HEAD = """# Benchmarks

Written by `python benchmarks/everything.py docs/benchmarks.md{option}`, on {cpu}, {cores} cores,
Python {python}; {versions}.

Engines of one case are timed in one process, round by round, so that noise meets all alike; figures are
medians, with the lowest and highest in brackets; compile time is tracing and compiling. In the column
*linkax is*, *2.00x as fast* means: linkax (the faster of plain `vmap` and `batched`) does twice as many.
`linkax bench` prints the same tables of linkax alone. Pinocchio and MuJoCo are C++ and C in float64 on all
cores, whatever the precision of the others; MuJoCo's forward dynamics is one step of its rollout; Pinocchio's
gradient is its full analytical Jacobians, one state at a time. No contact, no limits, no damping.
"""


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return None


def main() -> None:
    """Writes the page, after each script what there is so far."""
    import os

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--targets", action="store_true", help="only the cases with a target")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("options", nargs="*", help="handed to each script, after --")
    told = parser.parse_args()
    page = HEAD.format(
        option=" --targets" if told.targets else "",
        cpu=_cpu(),
        cores=os.cpu_count(),
        python=platform.python_version(),
        versions=", ".join(v for v in map(_version, PACKAGES) if v),
    )
    for script in told.only:
        path = Path(__file__).parent / f"{script}.py"
        options = (TARGETS[script].split() if told.targets else []) + told.options
        command = [sys.executable, str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        question = path.read_text().split('"""')[1].splitlines()[0]
        text = done.stdout if done.returncode == 0 else done.stdout + done.stderr[-2000:]
        shown = " ".join(["python", f"benchmarks/{script}.py", *options])
        page += f"\n## {question}\n\n`{shown}`\n\n```\n{text.rstrip()}\n```\n"
        told.page.write_text(page)
        print(f"{script}: status {done.returncode}", flush=True)


if __name__ == "__main__":
    main()

"""Runs every benchmark and writes the tables to one page.

    python benchmarks/everything.py docs/benchmarks.md [--only forward_dynamics growth]

Needs the peers: pip install -e '.[peers]'. About an hour on two cores.
"""

import argparse
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path


SCRIPTS = (
    "compile_time",
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "gradients",
    "rollouts",
    "rollout_gradients",
    "growth",
    "latency",
    "memory",
)
PACKAGES = ("jax", "pin", "mujoco", "mujoco-mjx", "brax", "frax", "jaxsim")
HEAD = """# Benchmarks

Written by `python benchmarks/everything.py docs/benchmarks.md`, on {cpu}, {cores} cores, Python {python};
{versions}.

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
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("options", nargs="*", help="handed to each script, after --")
    told = parser.parse_args()
    page = HEAD.format(
        cpu=_cpu(),
        cores=os.cpu_count(),
        python=platform.python_version(),
        versions=", ".join(v for v in map(_version, PACKAGES) if v),
    )
    for script in told.only:
        path = Path(__file__).parent / f"{script}.py"
        command = [sys.executable, str(path), *told.options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        question = path.read_text().split('"""')[1].splitlines()[0]
        text = done.stdout if done.returncode == 0 else done.stdout + done.stderr[-2000:]
        page += f"\n## {question}\n\n`python benchmarks/{script}.py`\n\n```\n{text.rstrip()}\n```\n"
        told.page.write_text(page)
        print(f"{script}: status {done.returncode}", flush=True)


if __name__ == "__main__":
    main()

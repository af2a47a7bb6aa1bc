"""Every published robot that Pinocchio can build, on a fixed and on a floating root, against Pinocchio.

    python tests/oracles/sweep.py [--third K] [--roots fixed floating] [--markdown docs/urdf_sweep.md]
                                  [--resume]

Exit status 1 if any quantity of any robot differs by more than 1e-9 relative.
"""

import argparse
import sys
from pathlib import Path

import jax
from comparison import LANES, TOLERANCE, Comparison, Job, comparisons
from example_robots import robots, title
from pinocchio_oracle import pin


ROOTS = ("fixed", "floating")
# Not expanded from xacro: no library can read it.
UNREADABLE = ("ur3",)


def readable() -> list[Path]:
    """The robots that Pinocchio can build."""
    return [path for path in robots() if path.stem not in UNREADABLE]


def line(c: Comparison) -> str:
    """One comparison as a line of text."""
    verdict = "ok" if c.worst <= TOLERANCE else "DIFFERS"
    cost = (
        "shared"
        if c.shared
        else f"trace {c.trace_seconds:.1f} s, compile {c.compile_seconds:.1f} s"
    )
    return f"{verdict:8} {title(c.job.path)} {c.job.root}: nv={c.nv}, {c.worst:.1e}; {cost}"


HEAD = """# Sweep over published robots

Every URDF file of example-robot-data that Pinocchio can build, at {lanes} random states each in float64,
against Pinocchio {version}: {passed} of {total} robots agree within {tolerance:.0e} on {roots}.
Written by `tests/oracles/sweep.py`.

Errors are max |ours - Pinocchio's| over the largest value of the quantity at that state, at least 1 for
forward dynamics, centre of mass, frame poses, Jacobians and their rates times v, and at least the largest
entry of the mass matrix for the mass matrix, the forces, momenta and energies. *Forces* are inverse
dynamics, bias and gravity forces; *frames* are poses, Jacobians and Jacobian rates times v of two links,
merged ones where there are any. Angles are drawn over a turn whatever the joint limits, slides within
0.2 m. Mimic joints are eliminated here and free in Pinocchio, whose answers are projected; massless joints
that could not be accelerated are welded in both. On a fixed root the root link is part of the ground in
both. Where a file calls its root link "world", the ground here, the sweep lets a body of that name float.
Seconds are of tracing and compiling, two robots at a time on two cores; robots of one structure share a
compiled function (*shared*).

| robot | root | nv | mimic | welded | fwd. dyn. | mass matrix | forces | momenta etc. | frames | seconds |
|---|---|---|---|---|---|---|---|---|---|---|
"""
COLUMNS = (
    ("forward dynamics",),
    ("mass matrix",),
    ("inverse dynamics", "bias force", "gravity force"),
    ("momentum", "centroidal momentum", "kinetic energy", "potential energy", "centre of mass"),
    ("frame rotations", "frame positions", "jacobians", "jacobian rates times v"),
)


def row(c: Comparison) -> str:
    """One comparison as a row of the table."""
    worst = [max((c.errors.get(key, 0.0) for key in keys), default=0.0) for keys in COLUMNS]
    errors = " | ".join(f"{x:.0e}" if c.errors else "-" for x in worst)
    spent = c.trace_seconds + c.compile_seconds
    cost = "shared" if c.shared else f"{spent:.0f}"
    names = f"{title(c.job.path)} | {c.job.root}"
    return f"| {names} | {c.nv} | {c.followers} | {c.welded} | {errors} | {cost} |\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def kept_rows(page: Path) -> list[str]:
    """The rows of a table that an earlier sweep left."""
    if not page.is_file():
        return []
    lines = page.read_text().splitlines(keepends=True)
    return [line for line in lines if line.startswith("|") and _cells(line)[1] in ROOTS]


def agrees(line: str) -> bool:
    """Whether every error of a row is within the tolerance."""
    return all(float(cell) <= TOLERANCE for cell in _cells(line)[5:10] if cell != "-")


def passed(rows: list[str]) -> tuple[int, int]:
    """(robots that agree on all their roots, robots)."""
    robots_seen = {_cells(line)[0] for line in rows}
    failed = {_cells(line)[0] for line in rows if not agrees(line)}
    return len(robots_seen - failed), len(robots_seen)


def markdown(rows: list[str], roots: list[str]) -> str:
    """The whole page."""
    good, total = passed(rows)
    head = HEAD.format(
        lanes=LANES,
        version=pin.__version__,
        passed=good,
        total=total,
        tolerance=TOLERANCE,
        roots=" and ".join(f"a {root} root" for root in roots),
    )
    return head + "".join(sorted(rows, key=lambda line: _cells(line)[:2]))


def main() -> int:
    """Runs the sweep as told on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--third", type=int, choices=(0, 1, 2), help="only every third robot, from the K-th"
    )
    parser.add_argument("--roots", nargs="+", choices=ROOTS, default=list(ROOTS))
    parser.add_argument("--markdown", type=Path, help="write a table there")
    parser.add_argument(
        "--resume", action="store_true", help="keep the rows of the table and do the missing ones"
    )
    told = parser.parse_args()
    chosen = readable() if told.third is None else readable()[told.third :: 3]
    if not chosen:
        print("example-robot-data is not installed.", file=sys.stderr)
        return 1
    jax.config.update("jax_enable_x64", True)
    rows = kept_rows(told.markdown) if told.resume and told.markdown is not None else []
    done = {tuple(_cells(line)[:2]) for line in rows}
    jobs = [Job(path, root) for path in chosen for root in told.roots]
    for c in comparisons(job for job in jobs if (title(job.path), job.root) not in done):
        rows.append(row(c))
        print(line(c), flush=True)
        if told.markdown is not None:  # after each: a long sweep that is stopped leaves what it has
            told.markdown.parent.mkdir(parents=True, exist_ok=True)
            told.markdown.write_text(markdown(rows, told.roots))
    good, total = passed(rows)
    print(f"{good} of {total} robots agree with Pinocchio within {TOLERANCE:.0e}.")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())

"""How well do integrators keep energy and momentum, of a double pendulum and of a tumbling body?

    python benchmarks/energy.py [--seconds 10] [--tumbling-seconds 100] [--steps 1e-2 1e-3] [--json FILE]

Worst energy error of the double pendulum of configs/double_pendulum.toml, relative to the range of its
kinetic energy; of the tumbling body relative to its energy, with the worst error of its angular momentum
relative to its length. Float64. `Variational` and what composes it run in maximal coordinates, the others in
those of the tree. MuJoCo and Exudyn are run beside it where they are installed. What MuJoCo gives holds for
MJX and others that step alike: in float64 they differ by rounding.
"""

import argparse
import json
from pathlib import Path

import bars
import numpy as np

from linkax.cli.table import table


TARGETS = {
    ("variational", 1e-2): 2e-3,
    ("composition of 3", 1e-2): 3e-5,
    ("composition of 5", 1e-2): 1e-6,
}
MOMENTUM = 1e-12


def methods(names: list[str]) -> list[tuple]:
    """(name, formulation, integrator)."""
    import linkax as lx

    found = [
        ("variational", "maximal", lx.Variational()),
        ("composition of 3", "maximal", lx.Composition(lx.Variational(), stages=3)),
        ("composition of 5", "maximal", lx.Composition(lx.Variational(), stages=5)),
        ("semi-implicit euler", "tree", lx.SemiImplicitEuler()),
        ("runge-kutta 4", "tree", lx.RungeKutta4()),
        ("implicit midpoint", "tree", lx.ImplicitMidpoint()),
        ("composition, tree", "tree", lx.Composition()),
    ]
    return [m for m in found if not names or m[0] in names]


def run_of(machine: str, formulation: str, integrator, h: float, steps: int):
    """(system, trajectory) of a description in configs."""
    import jax

    import linkax as lx

    system = lx.load(bars.CONFIGS / f"{machine}.toml", formulation=formulation)
    went = jax.jit(
        lambda s: lx.simulate(
            s, dt=h, steps=steps, integrator=integrator, analyses=(lx.energy, _momentum)
        )
    )(system)
    if int(went.completed_steps) != steps:
        raise SystemExit(f"{machine}, {integrator}: stopped after {went.completed_steps} steps")
    return system, went


def _momentum(system, state):
    import linkax as lx

    return lx.momentum(system.model, state.q, state.v)


def double_pendulum(names: list[str], h: float, seconds: float) -> list[dict]:
    """The energy error of each method at one step length."""
    steps = round(seconds / h)
    rows = []
    for name, formulation, integrator in methods(names):
        _, went = run_of("double_pendulum", formulation, integrator, h, steps)
        kinetic, potential = np.asarray(went.analyses[0]).T
        error = bars.energy_error(kinetic, potential)
        rows.append({"engine": "linkax", "method": name, "h": h, "energy_error": error})
    machine = bars.double_pendulum()
    if bars.installed("mujoco"):
        for method in ("Euler", "implicit", "RK4"):
            model = bars.mujoco_model(machine, h, integrator=method)
            x, v = machine.centres(*bars.absolute(machine, *bars.mujoco_run(model, steps)))
            error = bars.energy_error(*machine.energies(x, v))
            rows.append({"engine": "mujoco", "method": method, "h": h, "energy_error": error})
    if bars.installed("exudyn"):
        run = bars.ExudynRun(machine)
        for method in ("GeneralizedAlpha", "TrapezoidalIndex2"):
            run.run(h, steps, kept=True, solver=method)
            error = bars.energy_error(*machine.energies(*run.motion()))
            rows.append({"engine": "exudyn", "method": method, "h": h, "energy_error": error})
    return rows


def tumbling_body(names: list[str], h: float, seconds: float) -> list[dict]:
    """Errors of energy and of angular momentum."""
    steps = round(seconds / h)
    rows = []
    for name, formulation, integrator in methods(names):
        _, went = run_of("tumbling_body", formulation, integrator, h, steps)
        energies, momentum = (np.asarray(a) for a in went.analyses)
        rows.append(_kept("linkax", name, np.sum(energies, -1), momentum[:, :3]))
    if bars.installed("mujoco"):
        for method in ("Euler", "implicit", "RK4"):
            q, v = bars.mujoco_run(*bars.mujoco_tumbling(h, method, steps))
            rows.append(_kept("mujoco", method, *bars.spin_of(q[:, 3:7], v[:, 3:6])))
    return rows


def _kept(engine: str, method: str, energy, momentum) -> dict:
    worst = lambda x: float(np.max(np.linalg.norm(x - x[0], axis=-1)) / np.linalg.norm(x[0]))
    errors = {"momentum_error": worst(momentum), "energy_error": worst(energy[:, None])}
    return {"engine": engine, "method": method, **errors}


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--tumbling-seconds", type=float, default=100.0)
    parser.add_argument("--steps", nargs="+", type=float, default=[1e-2, 1e-3])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import jax

    jax.config.update("jax_enable_x64", True)
    rows = [r for h in options.steps for r in double_pendulum(options.methods, h, options.seconds)]
    print(f"double pendulum, worst energy error over {options.seconds:g} s")
    cells = [
        [r["engine"], r["method"], f"{r['h']:g}", f"{r['energy_error']:.1e}"]
        + [f"{TARGETS[key]:g}" if (key := (r["method"], r["h"])) in TARGETS else ""]
        for r in rows
    ]
    print(table(("engine", "method", "h s", "energy", "target"), cells), flush=True)
    h = options.steps[0]
    tumbling = tumbling_body(options.methods, h, options.tumbling_seconds)
    print(f"\ntumbling body, worst errors over {options.tumbling_seconds:g} s at h = {h:g} s")
    cells = [
        [r["engine"], r["method"], f"{r['momentum_error']:.1e}", f"{r['energy_error']:.1e}"]
        + [f"{MOMENTUM:g}" if r["method"] == "variational" else ""]
        for r in tumbling
    ]
    print(table(("engine", "method", "momentum", "energy", "target of momentum"), cells))
    if options.json:
        found = {"double_pendulum": rows, "tumbling_body": tumbling}
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

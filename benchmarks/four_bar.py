"""How fast and how exact is a planar four-bar, beside engines with soft and with exact loops?

    python benchmarks/four_bar.py [--batch 1 1024] [--seconds 10] [--precision 64] [--json FILE]

The machine of configs/four_bar_free.toml falls from rest at steps of a millisecond; lanes of a batch start at
different speeds. Rates are of runs that keep their final state only. Closure is how far the two points of a
hinge ever lie apart, the energy error is relative to the range of the kinetic energy. MuJoCo's and MJX's loop
is a soft constraint, at its default or as stiff as the step allows; Exudyn's generalised-alpha has exact
hinges, as the variational step of linkax. MuJoCo and Exudyn compute in float64.
"""

import argparse
import json
import os
import statistics
from pathlib import Path
from typing import NamedTuple

import bars
import numpy as np

from linkax.cli.table import table
from linkax.cli.timing import ROUNDS, compiled, prepare_call, time_rounds


H = 1e-3
SINGLE, BATCHED = 1000, 50  # steps of a timed call
CLOSURE, ENERGY = 1e-12, 1e-4
LANES_AT_ONCE = 128  # of linkax, on one core


class Entry(NamedTuple):
    """One engine: single(steps) and batch(lanes, steps) give calls; motion(steps) its centres of mass."""

    single: object
    motion: object
    batch: object = None


def linkax(solver: str):
    """The variational step with one of its linear solvers."""
    import jax
    import jax.numpy as jnp

    import linkax as lx
    from linkax import maximal as mx

    machine = bars.four_bar()
    linkage = bars.linkage_of(machine)
    weight = (0.0, -machine.gravity, 0.0)
    mechanism = mx.Mechanism(linkage.bodies, linkage.constraints, linkage.loads(weight))
    start = linkage.initial
    h = jnp.asarray(H, start.position.dtype)
    settings = mx.Settings(solver=mx.LinearSolver[solver])

    def run(state, steps):
        """(final state, whether every step was found)."""

        def one(carry, _):
            state, good = carry
            after, _, info = mx.advance(mechanism, state, h, settings)
            return (after, good & info.converged), None

        return jax.lax.scan(one, (state, jnp.ones((), bool)), None, length=steps)[0]

    def points(state, steps):
        def one(state, _):
            after, _, info = mx.advance(mechanism, state, h, settings)
            w = info.point_angular_velocity[:, 2]
            row = (state.position, state.orientation, info.point_velocity, w)
            return after, row

        return jax.lax.scan(one, state, None, length=steps + 1)[1]

    def motion(steps):
        x, q, v, w = map(np.asarray, jax.jit(lambda s: points(s, steps))(start))
        angle = np.unwrap(2.0 * np.arctan2(q[..., 3], q[..., 0]), axis=0)
        join = lambda p, a: np.concatenate([p[..., :2], a[..., None]], -1)
        return join(x, angle), join(v, w)

    def batch(lanes, steps):
        states = lx.sharded(_spun(mechanism, start, lanes))
        at_once = lx.batched(lambda s: run(s, steps), block=min(LANES_AT_ONCE, lanes))
        return compiled(at_once, (states,))

    single = lambda steps: compiled(lambda s: run(s, steps), (start,))
    # A run with batched dense solves on two devices once stood still for minutes; the cause was not found.
    return Entry(single, motion, batch if solver == "BLOCK_SPARSE" else None)


def _spun(mechanism, start, lanes):
    """Lanes of the start whose crank has different speeds."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from linkax import maximal as mx

    def one(speed):
        spin = jnp.zeros_like(start.angular_velocity).at[0, 2].set(speed)
        return mx.project_velocities(
            mechanism, eqx.tree_at(lambda s: s.angular_velocity, start, spin)
        )

    return jax.jit(jax.vmap(one))(jnp.linspace(-1.0, 1.0, lanes, dtype=start.position.dtype))


def mujoco(stiff: bool):
    """MuJoCo, all threads for a batch."""
    import mujoco as mj
    from mujoco import rollout

    machine = bars.four_bar()
    model = bars.mujoco_model(machine, H, stiff)
    full = mj.mjtState.mjSTATE_FULLPHYSICS

    def motion(steps):
        return machine.centres(*bars.absolute(machine, *bars.mujoco_run(model, steps)))

    def calls(lanes, steps, threads):
        data = [mj.MjData(model) for _ in range(threads)]
        start = np.zeros((lanes, mj.mj_stateSize(model, full)))
        for lane, rates in enumerate(_rates(lanes)):
            data[0].qvel[:] = bars.joint_rates(machine, rates)
            mj.mj_getState(model, data[0], start[lane], full)
        pool = rollout.Rollout(nthread=threads if threads > 1 else 0)
        return lambda: pool.rollout(model, data, start, nstep=steps)

    batch = lambda lanes, steps: calls(lanes, steps, os.cpu_count() or 1)
    return Entry(lambda steps: calls(1, steps, 1), motion, batch)


def _rates(lanes):
    """The bars' speeds in the lanes of a batch; a single one is at rest."""
    if lanes == 1:
        return np.zeros((1, 3))
    unit = bars.four_bar_rates()
    return np.linspace(-1.0, 1.0, lanes)[:, None] * unit


def mjx(stiff: bool, precision: int):
    """MJX, vmapped."""
    import jax
    import jax.numpy as jnp
    from mujoco import mjx as x

    machine = bars.four_bar()
    native = bars.mujoco_model(machine, H, stiff)
    real = {32: jnp.float32, 64: jnp.float64}[precision]
    cast = lambda tree: jax.tree.map(
        lambda a: a.astype(real) if jnp.issubdtype(jnp.result_type(a), jnp.floating) else a, tree
    )
    model, empty = cast(x.put_model(native)), cast(x.make_data(native))

    def run(v, steps, keep=False):
        def one(data, _):
            after = x.step(model, data)
            return after, (after.qpos, after.qvel) if keep else None

        end, rows = jax.lax.scan(one, empty.replace(qvel=v), None, length=steps)
        return rows if keep else (end.qpos, end.qvel)

    rest = jnp.zeros((3,), real)

    def motion(steps):
        q, v = map(np.asarray, jax.jit(lambda v: run(v, steps, True))(rest))
        q, v = (np.concatenate([np.zeros_like(a[:1]), a]) for a in (q, v))
        return machine.centres(*bars.absolute(machine, q, v))

    def batch(lanes, steps):
        rates = jnp.asarray(bars.joint_rates(machine, _rates(lanes)), real)
        return compiled(jax.vmap(lambda v: run(v, steps)), (rates,))

    return Entry(lambda steps: compiled(lambda v: run(v, steps), (rest,)), motion, batch)


def exudyn():
    """Exudyn's generalised-alpha with its defaults, one run."""
    machine = bars.ExudynRun(bars.four_bar())

    def motion(steps):
        machine.run(H, steps, kept=True)
        return machine.motion()

    # A call sets its solver up too: that is nothing beside some thousands of steps.
    return Entry(lambda steps: lambda: machine.run(H, steps, kept=False), motion)


def engines(precision: int) -> dict:
    """{name: makes its Entry}."""
    return {
        "linkax": lambda: linkax("BLOCK_SPARSE"),
        "linkax-dense": lambda: linkax("DENSE"),
        "mjx": lambda: mjx(False, precision),
        "mjx-stiff": lambda: mjx(True, precision),
        "mujoco": lambda: mujoco(False),
        "mujoco-stiff": lambda: mujoco(True),
        "exudyn": exudyn,
    }


def prepared(entries: dict, lanes: int, steps: int) -> tuple[dict, dict]:
    """(what is known of each engine's calls, the calls), for single runs where there is one lane."""
    found: dict = {}
    calls: dict = {}
    for name, entry in entries.items():
        if lanes == 1:
            prepare_call(name, lambda entry=entry: entry.single(steps), found, calls)
        elif entry.batch:
            prepare_call(name, lambda entry=entry: entry.batch(lanes, steps), found, calls)
    return found, calls


def speeds(entries: dict, lanes: int, steps: int, rounds: int) -> list[dict]:
    """Thousand steps a second of every engine, timed in turns."""
    found, calls = prepared(entries, lanes, steps)
    time_rounds(found, calls, rounds)
    rows = []
    for name, f in found.items():
        if "error" in f:
            raise SystemExit(f"{name}: {f['error']}")
        figures = sorted(lanes * steps / s / 1e3 for s in f["seconds"])
        rows.append(
            {
                "engine": name,
                "lanes": lanes,
                "k_steps_per_s": statistics.median(figures),
                "lowest": figures[0],
                "highest": figures[-1],
                "compile_s": f["compile_s"],
            }
        )
    return rows


def accuracy(entries: dict, steps: int) -> list[dict]:
    """Closure and energy error of a run from rest."""
    machine = bars.four_bar()
    rows = []
    for name, entry in entries.items():
        x, v = entry.motion(steps)
        error = bars.energy_error(*machine.energies(x, v))
        rows.append({"engine": name, "closure_m": machine.gaps(x), "energy_error": error})
    return rows


def show_speeds(rows: list[dict]) -> None:
    """The table, and how ours compare."""
    lanes = rows[0]["lanes"]
    cells = [
        [
            r["engine"],
            f"{r['k_steps_per_s']:.1f}",
            f"({r['lowest']:.1f}-{r['highest']:.1f})",
            "" if r["compile_s"] is None else f"{r['compile_s']:.1f}",
        ]
        for r in rows
    ]
    print(f"\n{lanes} at once")
    print(table(("engine", "k steps/s", "spread", "compile s"), cells))
    rate = {r["engine"]: r["k_steps_per_s"] for r in rows}
    ours = max((rate[n] for n in rate if n.startswith("linkax")), default=None)
    peer, target = ("exudyn", 1) if lanes == 1 else ("mjx", 5)
    if ours and peer in rate:
        print(f"  linkax / {peer}: {ours / rate[peer]:.2f}; target {target}", flush=True)


def main() -> None:
    """Prints what each engine keeps, then how fast it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 1024])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--precision", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--engines", nargs="+", default=list(engines(64)))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import jax

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    jax.config.update("jax_enable_x64", options.precision == 64)
    makers, entries = engines(options.precision), {}
    for name in options.engines:
        try:
            entries[name] = makers[name]()
        except ModuleNotFoundError:
            print(f"{name} is not installed")
    exact = accuracy(entries, round(options.seconds / H))
    print(f"Worst errors over {options.seconds:g} s at h = {H:g} s, float{options.precision}")
    cells = [[r["engine"], f"{r['closure_m']:.1e}", f"{r['energy_error']:.1e}"] for r in exact]
    print(table(("engine", "closure m", "energy"), cells))
    print(f"  targets of linkax: {CLOSURE:g}, {ENERGY:g}", flush=True)
    rows = []
    for lanes in options.batch:
        steps = SINGLE if lanes == 1 else BATCHED
        rows.append(speeds(entries, lanes, steps, options.rounds))
        show_speeds(rows[-1])
    if options.json:
        found = {"accuracy": exact, "speeds": [r for each in rows for r in each]}
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

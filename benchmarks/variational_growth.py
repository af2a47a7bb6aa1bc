"""How does the cost of a variational step grow from a chain of 10 links to one of 100, by linear solver?

    python benchmarks/variational_growth.py [--links 10 100] [--batch 1 64] [--solvers block-sparse]

Bars on hinges of all directions fall from rest, five rows a joint, at steps of a millisecond. Ten times the
links cost ten times the work for the block-sparse solver; the dense one factorises all rows at once. Exudyn
is asked for the same chain where it is installed, one run, in float64.
"""

import argparse
import json
import os
import statistics
from pathlib import Path

import bars

from linkax.cli.table import table
from linkax.cli.timing import ROUNDS, compiled, prepare_call, time_rounds


H = 1e-3
TARGET = 12.0
STEPS = {1: 100}  # of a timed call; of a batch fewer
STEPS_OF_BATCH = 5


def mechanism_of(links: int):
    """(mechanism, start) of the library's chain."""
    import linkax as lx
    from linkax import maximal as mx

    system = lx.build(lx.library.chain(links), formulation="maximal")
    return system.mechanism, mx.to_maximal(system.model, system.initial_q, system.initial_v)


def call_of(links: int, solver: str, lanes: int, steps: int):
    """A run of so many steps, compiled, or by Exudyn."""
    if solver == "exudyn":
        return exudyn_call(links, steps)
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    import linkax as lx
    from linkax import maximal as mx

    mechanism, start = mechanism_of(links)
    settings = mx.Settings(solver=mx.LinearSolver(solver))
    h = jnp.asarray(H, start.position.dtype)

    def run(state):
        def one(carry, _):
            state, good = carry
            after, _, info = mx.advance(mechanism, state, h, settings)
            return (after, good & info.converged), None

        return jax.lax.scan(one, (state, jnp.ones((), bool)), None, length=steps)[0]

    if lanes == 1:
        call = compiled(run, (start,))
    else:
        # Lanes differ in how they fall: the whole chain is thrown along y.
        speeds = jnp.linspace(-1.0, 1.0, lanes, dtype=h.dtype)
        thrown = lambda v: eqx.tree_at(lambda s: s.velocity, start, start.velocity.at[:, 1].set(v))
        states = jax.vmap(lambda v: mx.project_velocities(mechanism, thrown(v)))(speeds)
        call = compiled(lx.batched(run), (lx.sharded(states),))
    _, good = call()
    if not bool(good.all()):
        raise RuntimeError("a step was not found")
    return call


def exudyn_call(links: int, steps: int):
    """Exudyn's run of the same chain by its generalised-alpha, one call."""
    import numpy as np

    mechanism, start = mechanism_of(links)
    run = bars.exudyn_chain(mechanism, np.asarray(start.position), np.asarray(start.orientation))
    return lambda: run(H, steps)


def main() -> None:
    """Prints microseconds a step and lane, and the ratio of the two chains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", nargs=2, type=int, default=[10, 100])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 64])
    parser.add_argument("--solvers", nargs="+", default=["block-sparse", "dense"])
    parser.add_argument("--without-exudyn", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import jax

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    jax.config.update("jax_enable_x64", True)
    rows, ratios = [], []
    for lanes in options.batch:
        steps = STEPS.get(lanes, STEPS_OF_BATCH)
        ways = list(options.solvers)
        if lanes == 1 and not options.without_exudyn and bars.installed("exudyn"):
            ways.append("exudyn")
        for way in ways:
            found: dict = {}
            calls: dict = {}
            for n in options.links:
                case = (n, way, lanes, steps)
                prepare_call(str(n), lambda case=case: call_of(*case), found, calls)
            time_rounds(found, calls, options.rounds)
            for n in options.links:
                f = found[str(n)]
                if "error" in f:
                    raise SystemExit(f"{way}, {n} links: {f['error']}")
                us = sorted(1e6 * s / (lanes * steps) for s in f["seconds"])
                row = {"solver": way, "batch": lanes, "links": n, "us": statistics.median(us)}
                rows.append(row | {"spread": [us[0], us[-1]], "compile_s": f["compile_s"]})
            short, long = (found[str(n)]["seconds"] for n in options.links)
            pairs = sorted(b / a for a, b in zip(short, long, strict=False))
            ratios.append(
                {"solver": way, "batch": lanes, "ratio": statistics.median(pairs)}
                | {"spread": [pairs[0], pairs[-1]]}
            )
    cells = [
        [r["solver"], str(r["batch"]), str(r["links"]), f"{r['us']:.1f}"]
        + ["({:.1f}-{:.1f})".format(*r["spread"])]
        + ["" if r["compile_s"] is None else f"{r['compile_s']:.1f}"]
        for r in rows
    ]
    print(table(("solver", "batch", "links", "us a step", "spread", "compile s"), cells))
    first, last = options.links
    for r in ratios:
        low, high = r["spread"]
        print(
            f"  {r['solver']}, batch {r['batch']}: chain of {last} / chain of {first} = "
            f"{r['ratio']:.1f} ({low:.1f}-{high:.1f}); target {TARGET:g}"
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()

"""How does the cost of compliances at two places grow with the length of a chain?

    python benchmarks/compliance_growth.py [--links 10 30 100] [--batch 1 64] [--quick]

Chains of hinges in float64: the compliance of every body by itself (`body_compliances`), that of the tip and
of the middle together (`operational_space_compliance`), and the same by dense matrices, J M^-1 J^T with the
mass matrix factorised. Time proportional to the number of bodies has the ratio 1 a body.
"""

import argparse
import json
import os
import statistics
from pathlib import Path

from linkax.cli.table import table
from linkax.cli.timing import ROUNDS, compiled, prepare_call, time_rounds


TARGET = 1.2  # times the number of bodies


def by_bodies(model, q):
    """Each body's own compliance, by recursion."""
    import linkax as lx

    return lx.body_compliances(model, q)


def by_recursion(model, q):
    """Both places together, by recursion."""
    import linkax as lx

    return lx.operational_space_compliance(model, q, [model.nb - 1, model.nb // 2])


def by_matrices(model, q):
    """The same, dense."""
    import jax
    import jax.numpy as jnp

    import linkax as lx

    J = jnp.concatenate([lx.jacobian(model, q, b) for b in (model.nb - 1, model.nb // 2)])
    factor = jax.scipy.linalg.cho_factor(lx.mass_matrix(model, q), lower=True)
    return J @ jax.scipy.linalg.cho_solve(factor, J.T)


WAYS = {"each body": by_bodies, "two places": by_recursion, "two places, dense": by_matrices}


def call_of(way: str, links: int, lanes: int):
    """One way on a chain at random coordinates, compiled."""
    import jax

    import linkax as lx

    model = lx.build(lx.library.chain(links)).model
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(0), lanes))
    function = WAYS[way]
    if lanes == 1:
        return compiled(function, (model, q[0]))
    return compiled(jax.vmap(function, in_axes=(None, 0)), (model, q))


def main() -> None:
    """Prints microseconds a lane, and the ratios of each chain to the shortest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 64])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="short chains, two rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.links, options.batch, options.rounds = [4, 8], [1], 2
    import jax

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    jax.config.update("jax_enable_x64", True)
    rows, ratios = [], []
    for lanes in options.batch:
        for way in options.ways:
            found: dict = {}
            calls: dict = {}
            for n in options.links:
                case = (way, n, lanes)
                prepare_call(str(n), lambda case=case: call_of(*case), found, calls)
            time_rounds(found, calls, options.rounds)
            for n in options.links:
                f = found[str(n)]
                if "error" in f:
                    raise SystemExit(f"{way}, {n} links: {f['error']}")
                us = sorted(1e6 * s / lanes for s in f["seconds"])
                row = {"way": way, "batch": lanes, "links": n, "us": statistics.median(us)}
                rows.append(row | {"spread": [us[0], us[-1]], "compile_s": f["compile_s"]})
            first, *longer = options.links
            for n in longer:
                both = zip(found[str(first)]["seconds"], found[str(n)]["seconds"], strict=False)
                pairs = sorted(b / a for a, b in both)
                ratio = {"way": way, "batch": lanes, "links": [first, n]}
                spread = {"ratio": statistics.median(pairs), "spread": [pairs[0], pairs[-1]]}
                ratios.append(ratio | spread)
    cells = [
        [r["way"], str(r["batch"]), str(r["links"]), f"{r['us']:.1f}"]
        + ["({:.1f}-{:.1f})".format(*r["spread"]), f"{r['compile_s']:.1f}"]
        for r in rows
    ]
    print(table(("compliance of", "batch", "links", "us a lane", "spread", "compile s"), cells))
    for r in ratios:
        (first, last), (low, high) = r["links"], r["spread"]
        each = r["ratio"] * first / last
        print(
            f"  {r['way']}, batch {r['batch']}: chain of {last} / chain of {first} = {r['ratio']:.1f} "
            f"({low:.1f}-{high:.1f}), {each:.2f} a body; target {TARGET:g}"
        )
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "ratios": ratios}, indent=1))


if __name__ == "__main__":
    main()

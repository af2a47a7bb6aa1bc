"""How long do forward dynamics and its gradient take to trace and compile, cold, and to run?

    python benchmarks/compile_time.py [--models chain10 g1] [--batch 0 1024] [--json FILE]

Each case is a process of its own without a compilation cache, so that nothing is warm. Batch 0 is a single
sample. Float64. Run times are medians over 20 calls.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


TARGETS = {  # [s], single sample
    ("g1", "value"): 4.0,
    ("g1", "gradient"): 8.0,
    ("chain100", "value"): 4.0,
    ("chain100", "gradient"): 12.0,
}


def measure(name: str, what: str, batch: int) -> dict:
    """One case, in this process."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    from engines.linkax_engine import load_model
    from robots import robot

    import linkax as lx
    from linkax.cli.quantities import states_of

    model = load_model(robot(name), 64)

    def cost(model, q, v, tau):  # the model is an argument, as in a program that changes it
        return jnp.sum(jnp.square(lx.forward_dynamics(model, q, v, tau)))

    function = {"value": lx.forward_dynamics, "gradient": jax.grad(cost, argnums=(1, 2, 3))}[what]
    q, v, tau = states_of(model)(jax.random.key(0), max(batch, 1))
    arguments = (model, q, v, tau) if batch else (model, q[0], v[0], tau[0])
    if batch:
        function = jax.vmap(function, in_axes=(None, 0, 0, 0))
    start = time.perf_counter()
    lowered = jax.jit(function).lower(*arguments)
    traced = time.perf_counter()
    compiled = lowered.compile()
    done = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - begin)
    return {
        "model": name,
        "what": what,
        "batch": batch,
        "nv": model.nv,
        "trace_s": traced - start,
        "compile_s": done - traced,
        "run_ms": 1e3 * statistics.median(times),
    }


def main() -> None:
    """Runs every case in its own process and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["chain10", "chain100", "g1", "tree30"])
    parser.add_argument("--batch", nargs="+", type=int, default=[0, 1024])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        name, what, batch = options.case
        print(json.dumps(measure(name, what, int(batch))))
        return
    rows = []
    head = ("model", "", "batch", "trace s", "compile s", "both", "target", "run ms")
    print("{:20} {:9} {:>5} {:>8} {:>9} {:>6} {:>6} {:>8}".format(*head))
    for name in options.models:
        for what in ("value", "gradient"):
            for batch in options.batch:
                command = [sys.executable, __file__, "--case", name, what, str(batch)]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                row = json.loads(out.splitlines()[-1])
                rows.append(row)
                target = TARGETS.get((name, what)) if batch == 0 else None
                print(
                    f"{name:20} {what:9} {batch:5d} {row['trace_s']:8.2f} {row['compile_s']:9.2f} "
                    f"{row['trace_s'] + row['compile_s']:6.2f} {target or '':>6} {row['run_ms']:8.3f}",
                    flush=True,
                )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

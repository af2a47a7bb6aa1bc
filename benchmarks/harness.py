"""Times engines beside one another: every round calls each of them once, so that noise meets all alike."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path


LEAST_SECONDS = 0.05  # of one measurement


def measurement(call) -> float:
    """Seconds of one call, over as many calls as the clock needs."""
    begin = time.perf_counter()
    call()
    count = max(1, int(LEAST_SECONDS / max(time.perf_counter() - begin, 1e-7)))
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def in_this_process(quantity, name, precision, batch, engines, rounds) -> dict:
    """{engine: {compile_s, seconds: [...]} or {error}} for one case."""
    import jax

    jax.config.update("jax_num_cpu_devices", __import__("os").cpu_count() or 1)
    jax.config.update("jax_enable_x64", precision == 64)
    from engines import engine
    from robots import robot

    machine, calls, found = robot(name), {}, {}
    for key in engines:
        begin = time.perf_counter()
        try:
            loaded = engine(key, machine, precision)
            if loaded is None or quantity not in loaded.offers:
                continue
            calls[key] = loaded.offers[quantity](batch)
            calls[key]()
        except (
            Exception
        ) as error:  # a peer that cannot do a case is a row of the table, not its end
            calls.pop(key, None)
            found[key] = {"error": f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"}
            continue
        found[key] = {"first_s": time.perf_counter() - begin, "seconds": []}
    for _ in range(rounds):
        for key, call in calls.items():
            found[key]["seconds"].append(measurement(call))
    return found


def arguments(description, models, batches, engines, precisions=(64, 32)):
    """The options that all scripts share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--models", nargs="+", default=list(models))
    parser.add_argument("--batch", nargs="+", type=int, default=list(batches))
    parser.add_argument("--engines", nargs="+", default=list(engines))
    parser.add_argument("--precision", nargs="+", type=int, default=list(precisions))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def table(quantity: str, script: str, options, per_call: int = 1) -> None:
    """Every case in a process of its own, as rows of a table; `per_call`: evaluations a lane and call."""
    if options.case:
        name, precision, batch = options.case
        found = in_this_process(
            quantity, name, int(precision), int(batch), options.engines, options.rounds
        )
        print(json.dumps(found))
        return
    rows = []
    print(
        f"{quantity}, k evaluations/s: median (lowest-highest of {options.rounds}), "
        "all engines of a case in one run"
    )
    print(
        f"{'model':9} {'batch':>5} {'f':>2}  {'engine':16} {'k/s':>9} {'spread':>19} {'linkax is':>10}"
    )
    for name in options.models:
        for precision in options.precision:
            for batch in options.batch:
                command = [sys.executable, script, "--case", name, str(precision), str(batch)]
                command += ["--engines", *options.engines, "--rounds", str(options.rounds)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(done.stderr)
                found = json.loads(done.stdout.splitlines()[-1])
                rows.append({"model": name, "precision": precision, "batch": batch, **found})
                _print_case(name, precision, batch, found, per_call)
    if options.json:
        options.json.write_text(json.dumps({"quantity": quantity, "rows": rows}, indent=1))


def _print_case(name, precision, batch, found, per_call) -> None:
    ours = [found[k] for k in ("linkax", "linkax-batched") if "seconds" in found.get(k, {})]
    best = min((statistics.median(f["seconds"]) for f in ours), default=None)
    for key, f in found.items():
        head = f"{name:9} {batch:5d} {precision:2d}  {key:16}"
        if "error" in f:
            print(f"{head} {'-':>9} {f['error']}", flush=True)
            continue
        rates = sorted(batch * per_call / s / 1e3 for s in f["seconds"])
        middle = statistics.median(f["seconds"])
        ratio = f"{middle / best:.2f}x" if best else ""
        spread = f"({rates[0]:.1f}-{rates[-1]:.1f})"
        print(f"{head} {batch * per_call / middle / 1e3:9.1f} {spread:>19} {ratio:>10}", flush=True)

"""Asks engines beside one another, every case in a process of its own; `linkax.cli.timing` is the clock."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import engines

from linkax.cli.quantities import QUANTITIES
from linkax.cli.timing import ROUNDS, heading, measurement, prepare_call, rows, time_rounds


WITHOUT_CHAIN = ("panda", "anymal", "g1", "tree30")
MODELS = (*WITHOUT_CHAIN, "chain100")


def arguments(description, models, batches, names=engines.NAMES, precisions=(64, 32)):
    """The options that all scripts share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--models", nargs="+", default=list(models))
    parser.add_argument("--batch", nargs="+", type=int, default=list(batches))
    parser.add_argument("--engines", nargs="+", default=list(names))
    parser.add_argument("--precision", nargs="+", type=int, default=list(precisions))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def question(quantity, script, doc, models=MODELS, batches=(64, 1024), names=engines.NAMES):
    """A script that answers one question: its options, then its table.

    Args:
        quantity: one of `QUANTITIES`.
        script: its file, run again for each case.
        doc: its text, the question first.
        models: machines of `robots.py` by default.
        batches: numbers of lanes by default.
        names: engines by default.
    """
    options = arguments(doc.splitlines()[0], models, batches, names)
    if options.case:
        name, precision, batch = options.case
        found = in_this_process(
            quantity, name, int(precision), int(batch), options.engines, options.rounds
        )
        print(json.dumps(found))
        return
    print(heading(quantity, QUANTITIES[quantity], options.rounds), flush=True)
    cases = []
    for name in options.models:
        for precision in options.precision:
            for batch in options.batch:
                command = [sys.executable, script, "--case", name, str(precision), str(batch)]
                command += ["--engines", *options.engines, "--rounds", str(options.rounds)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise SystemExit(done.stderr)
                found = json.loads(done.stdout.splitlines()[-1])
                cases.append({"model": name, "precision": precision, "batch": batch, **found})
                print(rows(QUANTITIES[quantity], name, precision, batch, found), flush=True)
    if options.json:
        options.json.write_text(json.dumps({"quantity": quantity, "rows": cases}, indent=1))


def in_this_process(quantity, name, precision, batch, names, rounds) -> dict:
    """{engine: {compile_s, first_s, seconds} or {error}} for one case."""
    import jax
    from robots import robot

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    jax.config.update("jax_enable_x64", precision == 64)
    machine, calls, found = robot(name), {}, {}
    for key in names:
        case = (key, machine, precision, quantity, batch)
        prepare_call(key, lambda case=case: call_of(*case), found, calls)
    time_rounds(found, calls, rounds)
    return found


def call_of(key, machine, precision, quantity, batch):
    """An engine's call for a case, None if its library is not installed or does not answer."""
    loaded = engines.engine(key, machine, precision)
    if loaded is None or quantity not in loaded.offers:
        return None
    return loaded.offers[quantity](batch)


def ratio(first, second, rounds: int) -> str:
    """How many times the first call's time the second takes, timed in turns: median (lowest-highest)."""
    pairs = [[measurement(call) for call in (first, second)] for _ in range(rounds)]
    found = sorted(b / a for a, b in pairs)
    return f"{statistics.median(found):.2f} ({found[0]:.2f}-{found[-1]:.2f})"


def disagreement(quantity, name, precision, batch, first="linkax", second="plain") -> float:
    """The largest difference of two engines' results, relative to the largest entry of each result.

    Only engines of one convention and one way of drawing states can be compared as they are.
    """
    import jax
    import numpy as np
    from robots import robot

    machine = robot(name)
    one, other = (
        jax.tree.leaves(call_of(key, machine, precision, quantity, batch)())
        for key in (first, second)
    )
    return max(
        float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(one, other, strict=True)
    )

"""`linkax bench`: how fast forward dynamics is on this computer, compiling apart."""

import argparse
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp

from linkax.cli import machine
from linkax.cli.arguments import (
    add_model_options,
    add_precision_option,
    input_errors,
    read_machine,
    whole_number,
)
from linkax.cli.report import counted
from linkax.cli.table import table
from linkax.dynamics import forward_dynamics
from linkax.model import Model, assemble, library


CHAIN = 10
LANES = (1, 64, 1024)
# A timing is the median of so many measurements, each long enough for the clock.
REPEATS = 7
LEAST_SECONDS = 0.02


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "bench",
        allow_abbrev=False,
        help="time forward dynamics of a mechanism on this computer",
        description="Time forward dynamics at random states: of a file's mechanism or of a chain.",
    )
    parser.set_defaults(command=command)
    parser.add_argument("path", metavar="PATH", nargs="?", help="a .urdf or .toml file")
    parser.add_argument(
        "--chain",
        type=whole_number(1),
        default=CHAIN,
        metavar="N",
        help=f"without a file: the bodies of the chain (default: {CHAIN})",
    )
    parser.add_argument(
        "--batch",
        type=whole_number(1),
        metavar="N",
        help=f"one number of lanes (default: {', '.join(map(str, LANES))})",
    )
    add_model_options(parser)
    add_precision_option(parser)


def command(arguments: argparse.Namespace) -> int:
    """Prints the table."""
    with machine.precision(arguments.precision):
        if arguments.path is None:
            with input_errors():
                description = library.chain(arguments.chain)
            name, model = description.name, assemble(description).model
        else:
            found = read_machine(arguments.path, arguments.root, arguments.massless)
            name, model = found.system.name, found.system.model
        batches = LANES if arguments.batch is None else (arguments.batch,)
        rows = [_row(model, lanes) for lanes in batches]
    device = jax.devices()[0]
    print(
        f"Forward dynamics of {name} ({counted(model.nb, 'body')}, {counted(model.nv, 'speed')}), "
        f"{arguments.precision}, on one {device.platform} device ({device.device_kind}); "
        f"medians of {REPEATS}"
    )
    print(table(("lanes", "compile [s]", "call [us]", "evaluations/s"), rows))
    return 0


def _row(model: Model, lanes: int) -> tuple[str, ...]:
    compile_seconds, call_seconds = _timed(model, lanes)
    return (
        str(lanes),
        f"{compile_seconds:.2f}",
        f"{call_seconds * 1e6:.1f}",
        f"{lanes / call_seconds:.3g}",
    )


def _timed(model: Model, lanes: int) -> tuple[float, float]:
    """Seconds to trace and compile, and median seconds a call, over lanes of random states."""
    first, second, third = jax.random.split(jax.random.key(0), 3)
    q = jax.vmap(model.random)(jax.random.split(first, lanes))
    v = jax.random.normal(second, (lanes, model.nv), model.dtype)
    tau = jax.random.normal(third, (lanes, model.nv), model.dtype)
    batched = jax.vmap(forward_dynamics, in_axes=(None, 0, 0, 0))
    began = time.perf_counter()
    call = jax.jit(batched).lower(model, q, v, tau).compile()
    compile_seconds = time.perf_counter() - began
    jnp.asarray(call(model, q, v, tau)).block_until_ready()

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call(model, q, v, tau).block_until_ready()
        return (time.perf_counter() - start) / calls

    calls = max(1, round(LEAST_SECONDS / seconds(1)))
    return compile_seconds, statistics.median(seconds(calls) for _ in range(REPEATS))

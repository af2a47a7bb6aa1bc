"""`linkax bench`: how fast our functions are on this computer, compiling apart."""

import argparse
from typing import Any

import jax

from linkax.cli import machine
from linkax.cli.arguments import (
    BadInput,
    add_model_options,
    add_precision_option,
    input_errors,
    one_of,
    read_machine,
    whole_number,
)
from linkax.cli.quantities import QUANTITIES, Engine, linkax_batched_engine, linkax_engine
from linkax.cli.report import counted
from linkax.cli.timing import ROUNDS, heading, prepare_call, rows, time_rounds
from linkax.model import Model, assemble, library


CHAIN = 10
LANES = 1024
# Of runs, whose calls are a hundred times as long: the whole command should take a minute.
RUN_LANES = 64


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "bench",
        allow_abbrev=False,
        help="time the dynamics of a mechanism on this computer",
        description="Time dynamics, gradients and runs at random states, with plain vmap and with "
        "linkax.batched: of a file's mechanism or of a chain.",
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
        help=f"number of lanes (default: {LANES}, of runs {RUN_LANES})",
    )
    parser.add_argument(
        "--only",
        type=one_of(QUANTITIES, "quantity"),
        nargs="+",
        default=list(QUANTITIES),
        metavar="NAME",
        help=f"what to time, of {', '.join(QUANTITIES)} (default: all)",
    )
    parser.add_argument(
        "--devices",
        type=whole_number(1),
        metavar="K",
        help="spread batched lanes over K devices; without an accelerator, parts of the processor",
    )
    add_model_options(parser)
    add_precision_option(parser)


def command(arguments: argparse.Namespace) -> int:
    """Prints a table for each quantity."""
    batches = {name: _batch(name, arguments.batch) for name in arguments.only}
    for batch in batches.values():
        if batch > 1 and arguments.devices is not None and batch % arguments.devices:
            raise BadInput(
                f"{batch} lanes cannot be split evenly over {arguments.devices} devices; "
                f"give --batch a multiple of {arguments.devices}."
            )
    with machine.precision(arguments.precision):
        sharding = machine.lanes_over(arguments.devices)
        name, model = _model(arguments)
        bits = int(arguments.precision.removeprefix("f"))
        devices = jax.devices()[: arguments.devices] if sharding else jax.devices()
        print(
            f"{name}: {counted(model.nb, 'body')}, {counted(model.nv, 'speed')}; "
            f"{arguments.precision}, {counted(len(devices), 'device')} ({devices[0].device_kind})"
        )
        engines = (linkax_engine(model, bits), linkax_batched_engine(model, bits, devices))
        for quantity, batch in batches.items():
            _print_table(quantity, name, batch, engines)
    return 0


def _batch(quantity: str, wanted: int | None) -> int:
    if quantity == "latency":
        return 1
    return wanted or (RUN_LANES if quantity.startswith("rollout") else LANES)


def _model(arguments: argparse.Namespace) -> tuple[str, Model]:
    if arguments.path is None:
        with input_errors():
            description = library.chain(arguments.chain)
        return description.name, assemble(description).model
    found = read_machine(arguments.path, arguments.root, arguments.massless)
    return found.system.name, found.system.model.tree


def _print_table(name: str, machine_name: str, batch: int, engines: tuple[Engine, ...]) -> None:
    """One quantity of the engines that differ in it."""
    quantity, found, calls = QUANTITIES[name], {}, {}
    print(f"\n{heading(name, quantity, ROUNDS)}", flush=True)
    # A single sample has no lanes to lay out, so that the engines would be the same.
    for engine in engines[:1] if name == "latency" else engines:
        prepare_call(engine.name, lambda e=engine: e.offers[name](batch), found, calls)
    time_rounds(found, calls, ROUNDS)
    print(rows(quantity, machine_name, engines[0].precision, batch, found), flush=True)

"""`linkax view`: the page of a file's initial pose, or of a run."""

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from linkax.cli import machine, pictures
from linkax.cli.arguments import (
    BadInput,
    Machine,
    add_model_options,
    input_errors,
    output_file,
    read_machine,
    unwritable,
    whole_number,
)
from linkax.io import read_results
from linkax.kinematics import kinematics


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "view",
        allow_abbrev=False,
        help="write a page that shows a mechanism or plays a run",
        description="Write a self-contained page that shows the initial pose of a .urdf or .toml "
        "file, or plays the run in an .npz file.",
    )
    parser.set_defaults(command=command)
    parser.add_argument("path", metavar="PATH|RUN.npz", help="a mechanism or a result file")
    parser.add_argument(
        "--model",
        metavar="PATH",
        help="the mechanism of a result file (default: the file that the run was made from)",
    )
    parser.add_argument(
        "--lane",
        type=whole_number(0),
        default=0,
        metavar="K",
        help="the lane of a batch (default: 0)",
    )
    parser.add_argument(
        "--out",
        type=output_file((".html", ".htm")),
        metavar="RUN.html",
        help="the page (default: the file's name, in the current folder)",
    )
    add_model_options(parser)


def command(arguments: argparse.Namespace) -> int:
    """Writes the page and says where."""
    path = Path(arguments.path)
    out = arguments.out or Path(f"{path.stem}.html")
    if problem := unwritable(out):
        raise BadInput(f"The page {problem} Name another with --out.")
    with machine.precision("f64"):
        if path.suffix.lower() == ".npz":
            mechanism, shown = _of_run(path, arguments)
        else:
            mechanism = read_machine(arguments.path, arguments.root, arguments.massless)
            shown = _initial_pose(mechanism)
        with input_errors(f"{path}: "):
            pictures.write_page(mechanism.system, shown, out)
    print(f"Written: {out} (page of {mechanism.system.name}).")
    return 0


def _of_run(path: Path, arguments: argparse.Namespace) -> tuple[Machine, dict[str, np.ndarray]]:
    """The run's own file and options build the mechanism again, unless a model is named."""
    with input_errors():
        results = read_results(path)
    try:
        settings = json.loads(str(results["settings"]))
        file, root, massless = (settings[key] for key in ("path", "root", "massless"))
        bodies = tuple(str(name) for name in results["body_names"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{path}: this is no result file of `linkax simulate`: it lacks {error}."
        ) from error
    if arguments.model is not None:
        file = arguments.model
    elif not Path(file).exists():
        raise BadInput(
            f"{path}: the run was made from {file}, which is not there; name it with --model."
        )
    mechanism = read_machine(file, root, massless)
    if mechanism.system.model.body_names != bodies:
        raise BadInput(
            f"{path}: the run has the bodies {', '.join(bodies[:3])}..., but {file} has "
            f"{', '.join(mechanism.system.model.body_names[:3])}...; name its file with --model."
        )
    return mechanism, pictures.sample(results, arguments.lane)


def _initial_pose(mechanism: Machine) -> dict[str, np.ndarray]:
    system = mechanism.system
    k = jax.jit(kinematics)(system.model, system.initial_q)
    return {
        "t": np.zeros(1),
        "position": np.asarray(k.position)[None],
        "orientation": np.asarray(k.quaternion)[None],
    }

"""`linkax simulate`: a file in, a result file out, with a page and a picture if asked for."""

import argparse
import json
import math
import sys
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from tqdm import tqdm

from linkax.cli import machine, pictures, report
from linkax.cli.arguments import (
    BadInput,
    Machine,
    add_model_options,
    add_precision_option,
    input_errors,
    number_from_zero,
    one_of,
    output_file,
    positive_number,
    read_machine,
    unwritable,
    whole_number,
)
from linkax.cli.methods import INTEGRATOR, default, fitting, known_integrator, method
from linkax.cli.run import Outcome, Plan, run, saved_bytes
from linkax.constraints.embedded import EmbeddedModel
from linkax.io import write_results
from linkax.model import JointDescription, RunDescription
from linkax.simulate import INTEGRATORS
from linkax.system import State, System


DURATION = 2.0
DT = 1e-3
SPREAD = 0.1
# A step count beyond this is a slip of the keyboard, and steps are counted in 32 bits.
MOST_STEPS = 2**31 - 1
# Of the memory there is, what saved points may take: the rest is for the run and for writing.
MEMORY_SHARE = 0.7


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "simulate",
        allow_abbrev=False,
        help="run a mechanism and save its motion",
        description="Run the mechanism of a .urdf or .toml file and save its motion. What is not "
        "given here is taken from the file's [run] table.",
    )
    parser.set_defaults(command=command)
    parser.add_argument("path", metavar="PATH", help="a .urdf or .toml file")
    add_model_options(parser)
    parser.add_argument(
        "--formulation", metavar="NAME", help="tree, embedded or maximal (default: tree)"
    )
    _add_run_options(parser)
    _add_batch_options(parser)
    add_precision_option(parser)
    files = parser.add_argument_group("files")
    files.add_argument(
        "--out",
        type=output_file((".npz",)),
        metavar="RUN.npz",
        help="the result file (default: the mechanism's name, in the current folder)",
    )
    files.add_argument(
        "--view", type=output_file((".html", ".htm")), metavar="RUN.html", help="a page to play it"
    )
    files.add_argument(
        "--plot",
        type=output_file((".png", ".pdf", ".svg")),
        metavar="RUN.png",
        help="a picture of coordinates, speeds and energies",
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    run_options = parser.add_argument_group("the run")
    run_options.add_argument(
        "--duration", type=positive_number("seconds"), metavar="S", help="[s] (default: 2)"
    )
    run_options.add_argument(
        "--dt", type=positive_number("seconds"), metavar="S", help="time step [s] (default: 0.001)"
    )
    run_options.add_argument(
        "--integrator",
        type=one_of(INTEGRATORS, "integrator"),
        metavar="NAME",
        help=f"{', '.join(INTEGRATORS)} (default: {INTEGRATOR})",
    )
    run_options.add_argument(
        "--save-every", type=whole_number(1), metavar="K", help="save every K-th step (default: 1)"
    )


def _add_batch_options(parser: argparse.ArgumentParser) -> None:
    batch = parser.add_argument_group("a batch")
    batch.add_argument(
        "--batch",
        type=whole_number(1),
        metavar="N",
        help="run N lanes, the first from the file's start, the others from perturbed coordinates",
    )
    batch.add_argument(
        "--spread",
        type=number_from_zero("radians"),
        metavar="RAD",
        help=f"standard deviation of the perturbation [rad or m] (default: {SPREAD})",
    )
    batch.add_argument(
        "--seed", type=whole_number(0), metavar="K", help="of the perturbation (default: 0)"
    )
    batch.add_argument(
        "--devices",
        type=whole_number(1),
        metavar="K",
        help="spread the lanes over K devices; without an accelerator, parts of the processor",
    )


class Settings(NamedTuple):
    """All that a run is determined by, beside the file."""

    plan: Plan
    duration: float
    integrator: str
    lanes: int | None
    spread: float
    seed: int


def command(arguments: argparse.Namespace) -> int:
    """Runs, writes, reports; 0 where every lane completed, else 3."""
    _check_batch(arguments)
    _check_plotting(arguments)
    with machine.precision(arguments.precision):
        sharding = machine.lanes_over(arguments.devices)
        mechanism = read_machine(
            arguments.path, arguments.root, arguments.massless, arguments.formulation
        )
        _check_moving(mechanism)
        settings = _settings(arguments, mechanism)
        out = arguments.out or _default_file(mechanism.system.name)
        _check_memory(mechanism.system, settings)
        outcome = _run_with_progress(mechanism.system, settings, sharding)
        results = _results(mechanism, outcome, _settings_json(arguments, mechanism, settings))
        files = _write(mechanism, results, out, arguments)
        print(report.paragraph(mechanism, settings.plan, settings.integrator, outcome, files))
    failure = report.failure(outcome)
    if failure is not None:
        print(f"linkax: {failure}", file=sys.stderr)
        return 3
    return 0


# --- before the run ---


def _check_batch(arguments: argparse.Namespace) -> None:
    if arguments.batch is None:
        for option in ("spread", "seed", "devices"):
            if getattr(arguments, option) is not None:
                raise BadInput(f"--{option} is about a batch; give --batch N as well.")
    elif arguments.devices is not None and arguments.batch % arguments.devices:
        raise BadInput(
            f"--batch {arguments.batch} cannot be split evenly over {arguments.devices} devices; "
            f"use a multiple of {arguments.devices}."
        )


def _check_plotting(arguments: argparse.Namespace) -> None:
    if arguments.plot is not None and util.find_spec("matplotlib") is None:
        raise BadInput(
            "--plot needs matplotlib, which is not installed: pip install 'linkax[plot]'."
        )


def _settings(arguments: argparse.Namespace, mechanism: Machine) -> Settings:
    """The command's options, then the file's [run] table, then the defaults."""
    said: RunDescription = mechanism.description.run

    def choice(option, from_file, default):
        return next(x for x in (option, from_file, default) if x is not None)

    with input_errors(f"{mechanism.path}: [run] "):
        duration = choice(arguments.duration, _positive("duration", said.duration), DURATION)
        dt = choice(arguments.dt, _positive("dt", said.dt), DT)
        known = known_integrator(said.integrator)
    integrator = choice(arguments.integrator, fitting(known, mechanism), default(mechanism))
    # The end is at the duration, or at the first step beyond it; round-off is not a step.
    count = duration / dt
    steps = max(1, round(count) if abs(count - round(count)) < 1e-6 else int(count) + 1)
    if steps > MOST_STEPS:
        raise BadInput(
            f"A duration of {duration:g} s in steps of {dt:g} s is {count:.3g} steps; "
            f"at most {MOST_STEPS} can be counted."
        )
    save_every = choice(arguments.save_every, said.save_every, 1)
    plan = Plan(dt, steps, min(save_every, steps), method(integrator, mechanism))
    return Settings(
        plan,
        duration,
        integrator,
        arguments.batch,
        choice(arguments.spread, None, SPREAD),
        arguments.seed or 0,
    )


def _positive(key: str, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{key} is {value:g}, but it must be a positive number of seconds.")
    return value


def _check_moving(mechanism: Machine) -> None:
    if mechanism.system.model.nb == 0:
        raise BadInput(
            f"{mechanism.path}: nothing in it moves, all bodies are fixed to the ground; "
            "give it a joint that moves, or use --root floating."
        )


def _check_memory(system: System, settings: Settings) -> None:
    available = machine.available_memory()
    needed = saved_bytes(system, settings.lanes or 1, settings.plan.points)
    if available is not None and needed > MEMORY_SHARE * available:
        suggested = settings.plan.save_every * -(-needed // int(MEMORY_SHARE * available))
        raise BadInput(
            f"The saved points would take about {needed / 1e9:.3g} GB, but "
            f"{available / 1e9:.3g} GB of memory are free; save fewer of them, "
            f"for instance with --save-every {suggested}, or run fewer lanes."
        )


def _default_file(name: str) -> Path:
    """A result file in the current folder, named after the mechanism."""
    kept = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name).strip(". ")
    path = Path(f"{kept or 'run'}.npz")
    if problem := unwritable(path):
        raise BadInput(f"The result file {problem} Name another with --out.")
    return path


# --- the run ---


@eqx.filter_jit
def _perturbed(system: System, lanes: int, spread: float, seed: int) -> State:
    """The lanes' initial states; the first is the description's own, exactly."""
    start = system.initial_state()
    turns = spread * jax.random.normal(
        jax.random.key(seed), (lanes, system.model.nv), start.q.dtype
    )
    q = jax.vmap(system.model.integrate, in_axes=(None, 0))(start.q, turns)
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (lanes, *x.shape)), start)
    return eqx.tree_at(lambda s: s.q, states, q.at[0].set(start.q))


def _run_with_progress(
    system: System, settings: Settings, sharding: NamedSharding | None
) -> Outcome:
    state = system.initial_state()
    if settings.lanes is not None:
        state = _perturbed(system, settings.lanes, settings.spread, settings.seed)
    with tqdm(desc="compiling", total=settings.plan.steps, unit="step", file=sys.stderr) as bar:

        def advanced(steps: int) -> None:
            if steps == 0:  # the clock starts when all is compiled
                bar.set_description("running", refresh=False)
                bar.reset()
            bar.update(steps)

        return run(system, state, settings.plan, sharding=sharding, advanced=advanced)


# --- after the run ---


def _settings_json(arguments: argparse.Namespace, mechanism: Machine, settings: Settings) -> str:
    from linkax import __version__

    return json.dumps(
        {
            "path": str(mechanism.path.resolve()),
            "name": mechanism.system.name,
            "root": arguments.root,
            "massless": arguments.massless,
            "formulation": mechanism.system.formulation,
            "duration": settings.duration,
            "dt": settings.plan.dt,
            "steps": settings.plan.steps,
            "save_every": settings.plan.save_every,
            "integrator": settings.integrator,
            "batch": settings.lanes,
            "spread": settings.spread,
            "seed": settings.seed,
            "devices": arguments.devices,
            "precision": arguments.precision,
            "notes": list(mechanism.system.notes),
            "linkax": __version__,
            "jax": jax.__version__,
            "platform": jax.default_backend(),
        }
    )


def _results(mechanism: Machine, outcome: Outcome, settings: str) -> dict[str, np.ndarray]:
    """The result file's contents."""
    system = mechanism.system
    columns = dict(outcome.columns)
    markers = columns.pop("markers")
    return {
        **columns,
        **{f"marker/{name}": markers[..., i, :] for i, name in enumerate(system.marker_names)},
        "status": outcome.status,
        "status_sentence": outcome.sentence,
        "completed_steps": outcome.completed_steps,
        "body_names": np.array(system.model.body_names, dtype=str),
        "coordinate_names": np.array(system.model.coordinate_names, dtype=str),
        "speed_names": np.array(system.model.tree.speed_names, dtype=str),
        **_independent(system),
        "reaction_names": np.array(_reaction_names(mechanism), dtype=str),
        "settings": np.array(settings),
    }


def _independent(system: System) -> dict[str, np.ndarray]:
    """Which of the tree's speeds the embedded formulation integrates."""
    model = system.model
    if not isinstance(model, EmbeddedModel):
        return {}
    return {"independent": np.array(model.independent, dtype=int)}


def _reaction_names(mechanism: Machine) -> list[str]:
    """The joints that lock something, body by body, then joints that close loops, as reactions are listed."""
    system = mechanism.system
    pairs = zip(system.model.joint_names, system.model.tree.topology.joints, strict=True)
    joints = [name for name, joint in pairs if joint.locked_rows()]
    loops = mechanism.description.loops
    return [*joints, *(loop.name for loop in loops if isinstance(loop, JointDescription))]


def _write(
    mechanism: Machine, results: dict[str, np.ndarray], out: Path, arguments: argparse.Namespace
) -> dict[str, Path]:
    """Writes what was asked for; the files by what they are. Pictures show the first lane."""
    with input_errors():
        files = {"results": write_results(out, results)}
    shown = pictures.sample(results, 0)
    if arguments.view is not None:
        with input_errors():
            files["page"] = pictures.write_page(mechanism.system, shown, arguments.view)
    if arguments.plot is not None:
        with input_errors():
            files["plot"] = pictures.write_picture(shown, arguments.plot)
    return files

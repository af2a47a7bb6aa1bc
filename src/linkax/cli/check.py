"""`linkax check`: what a file contains, and what of it is honoured."""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

from linkax.cli import machine
from linkax.cli.arguments import BadInput, add_model_options, input_errors, read_machine
from linkax.cli.report import counted
from linkax.io import describe
from linkax.model import Description, DriveDescription, made_by


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "check",
        allow_abbrev=False,
        help="say what a file contains and what of it is honoured",
        description="Say what a .urdf or .toml file contains, what of it is not honoured, "
        "and whether it can be simulated.",
    )
    parser.set_defaults(command=command)
    parser.add_argument("path", metavar="PATH", help="a .urdf or .toml file")
    add_model_options(parser)


def command(arguments: argparse.Namespace) -> int:
    """Prints contents and notes; bad input where nothing can be built from the file."""
    with input_errors():
        description = describe(arguments.path)
    print(_contents(description))
    with machine.precision("f64"):
        try:
            found = read_machine(arguments.path, arguments.root, arguments.massless)
        except BadInput:
            _print_notes(tuple(description.notes))
            raise
    _print_notes(found.system.notes)
    print(f"It can be simulated, with {counted(found.system.model.nv, 'speed')}.")
    return 0


def _contents(description: Description) -> str:
    lines = [
        f"{description.name} contains",
        f"  {counted(len(description.bodies), 'body')}",
        f"  {counted(len(description.joints), 'joint')}{_kinds(description.joints)}",
    ]
    mimics = sum(joint.mimic is not None for joint in description.joints)
    others = {
        "joint that follows another": mimics,
        "named frame": len(description.frames),
        "marker": len(description.markers),
    }
    for noun, count in others.items():
        if count:
            lines.append(f"  {_counted(count, noun)}")
    tables = {
        "loop": description.loops,
        "drive": description.drives,
        "element": description.elements,
    }
    for noun, items in tables.items():
        if items:
            lines.append(f"  {counted(len(items), noun)}{_kinds(items)}")
    lines += [_built_as(drive) for drive in description.drives]
    for motion in description.motions:
        of = f"joint {motion.joint}" if motion.joint else f"the planar angle of {motion.body}"
        lines.append(f"  prescribed motion {motion.name} of {of}")
    return "\n".join(lines)


def _built_as(drive: DriveDescription) -> str:
    names = made_by(drive)
    rotors, couplings = (", ".join(pair[i] for pair in names) for i in (0, 1))
    return (
        f"  drive {drive.name} is built as rotor {rotors} (body and joint each) and coupling loop "
        f"{couplings}"
    )


def _kinds(items: Sequence[Any]) -> str:
    """How many there are of each type, after a colon; nothing of nothing."""
    types = Counter(item.type for item in items)
    return ": " + ", ".join(f"{n} {name}" for name, n in types.items()) if types else ""


def _counted(count: int, noun: str) -> str:
    if noun.startswith("joint that"):
        return f"{count} {noun}" if count == 1 else f"{count} joints that follow another"
    return counted(count, noun)


def _print_notes(notes: tuple[str, ...]) -> None:
    if not notes:
        print("All of it is honoured.")
        return
    print("Not honoured, or not as written:")
    for note in notes:
        print(f"  {note}")

"""`linkax info`: what is built from a file, as tables."""

import argparse
from typing import Any

import numpy as np

from linkax.cli import machine
from linkax.cli.arguments import Machine, add_model_options, read_machine
from linkax.cli.report import counted, notes_line
from linkax.cli.table import table
from linkax.model import Model


MOST_FRAMES = 12


def add_parser(subparsers: Any) -> None:
    """The subcommand's options."""
    parser = subparsers.add_parser(
        "info",
        allow_abbrev=False,
        help="list bodies, joints, coordinates, limits and frames of a mechanism",
        description="List what is built from a .urdf or .toml file.",
    )
    parser.set_defaults(command=command)
    parser.add_argument("path", metavar="PATH", help="a .urdf or .toml file")
    add_model_options(parser)


def command(arguments: argparse.Namespace) -> int:
    """Prints the tables."""
    with machine.precision("f64"):
        mechanism = read_machine(arguments.path, arguments.root, arguments.massless)
        print("\n\n".join(_parts(mechanism)))
    return 0


def _parts(mechanism: Machine) -> list[str]:
    system, model = mechanism.system, mechanism.system.model.tree
    parts = [_summary(mechanism), "Bodies\n" + _bodies(model), "Joints\n" + _joints(model)]
    if system.marker_names:
        rows = [
            (name, _body(model, body), _numbers(point))
            for name, body, point in zip(
                system.marker_names, system.marker_bodies, system.marker_points, strict=True
            )
        ]
        parts.append("Markers\n" + table(("name", "body", "point [m]"), rows))
    if extra := _frames(model):
        parts.append(extra)
    if line := notes_line(system.notes, mechanism.path):
        parts.append(line)
    return parts


def _summary(mechanism: Machine) -> str:
    model = mechanism.system.model.tree
    return (
        f"{mechanism.system.name}: {counted(model.nb, 'body')}, "
        f"{counted(len(model.joint_names), 'joint')}, {counted(model.nq, 'coordinate')}, "
        f"{counted(model.nv, 'speed')}; {float(model.mass.sum()):.6g} kg; gravity "
        f"{_numbers(model.gravity)} m/s^2"
    )


def _numbers(values) -> str:
    return "(" + ", ".join(f"{float(x):.6g}" for x in np.asarray(values)) + ")"


def _body(model: Model, index: int) -> str:
    return "world" if index < 0 else model.body_names[index]


def _bodies(model: Model) -> str:
    rows = [
        (
            name,
            f"{float(model.mass[i]):.6g}",
            _numbers(model.com[i]),
            _body(model, model.topology.parents[i]),
            model.joint_names[i],
        )
        for i, name in enumerate(model.body_names)
    ]
    return table(("name", "mass [kg]", "centre of mass [m]", "carried by", "on joint"), rows)


def _joints(model: Model) -> str:
    topology = model.topology
    leaders = dict(topology.followers)
    coordinates, rows = 0, []
    for i, joint in enumerate(topology.joints):
        if i in leaders:
            k = [follower for follower, _ in topology.followers].index(i)
            rule = f"{float(model.ratio[k]):.6g} {topology.joint_names[leaders[i]]}"
            if float(model.offset[k]):
                rule += f" {float(model.offset[k]):+.6g}"
            rows.append((topology.joint_names[i], joint.name, f"= {rule}", ""))
            continue
        own = range(coordinates, coordinates + joint.nq)
        coordinates += joint.nq
        names = ", ".join(model.coordinate_names[k] for k in own)
        limits = [(float(model.lower[k]), float(model.upper[k])) for k in own]
        finite = any(np.isfinite(x) for pair in limits for x in pair)
        text = ", ".join(f"{low:.6g} to {high:.6g}" for low, high in limits) if finite else ""
        rows.append((topology.joint_names[i], joint.name, names, text))
    return table(("name", "type", "coordinates", "limits [rad or m]"), rows)


def _frames(model: Model) -> str:
    """Frames that are not simply the bodies: links merged by fixed joints, and named ones."""
    pairs = zip(model.frame_names, model.topology.frame_bodies, strict=True)
    extra = [
        (name, _body(model, body)) for name, body in pairs if name not in set(model.body_names)
    ]
    if not extra:
        return ""
    rest = f"\n  and {len(extra) - MOST_FRAMES} more" if len(extra) > MOST_FRAMES else ""
    return "Frames\n" + table(("name", "fixed on"), extra[:MOST_FRAMES]) + rest

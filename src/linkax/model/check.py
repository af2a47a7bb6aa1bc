"""A description is checked as a whole before anything is built from it.

`checked` names the first fault, or returns a copy in which every number is a finite float (limits
may be infinite), every quaternion and axis has unit length, every joint's frames, axes and
sequences are complete, and the bodies form a tree.
"""

import dataclasses

import numpy as np

from linkax.model.check_extras import checked_element, checked_motions
from linkax.model.check_joints import checked_joint
from linkax.model.check_loops import checked_loop
from linkax.model.check_values import array, check_known, placement, real, triple
from linkax.model.description import (
    GROUND,
    BodyDescription,
    Description,
    FrameDescription,
    MarkerDescription,
)
from linkax.model.naming import repeated
from linkax.model.tree import check_tree


# Inertias are typed with few digits: what the sixth digit of the largest entry can explain passes.
INERTIA_TOLERANCE = 1e-6
NO_INERTIA = 1e-25  # [kg m^2]; what files hold below it is round-off of zero


def checked(description: Description) -> Description:
    """A cleaned copy of the description; a `ValueError` names the first offender."""
    _check_names(description)
    improper: dict[str, list[str]] = {}
    allowed = improper if description.allow_improper_inertia else None
    bodies = [_body(body, allowed) for body in description.bodies]
    names = [body.name for body in bodies]
    joints = [checked_joint(joint, names) for joint in description.joints]
    loops = [checked_loop(loop, names, joints) for loop in description.loops]
    clean = dataclasses.replace(
        description,
        bodies=bodies,
        joints=joints,
        frames=[_frame(frame, names) for frame in description.frames],
        markers=[_marker(marker, names) for marker in description.markers],
        loops=loops,
        elements=[checked_element(item, names, joints, loops) for item in description.elements],
        motions=checked_motions(description.motions, names, joints, loops),
        gravity=triple(description.gravity, "The description", "gravity"),
        notes=[*description.notes, *_improper_notes(improper)],
    )
    check_tree(clean)
    return clean


def _check_names(description: Description):
    if not description.bodies:
        raise ValueError("The description has no body; give it at least one.")
    groups = {
        "bodies": [body.name for body in description.bodies],
        "joints": [joint.name for joint in description.joints],
        "joints (each loop is one)": [
            joint.name for joint in (*description.joints, *description.loops)
        ],
        "frames (each body is one)": [
            *(body.name for body in description.bodies),
            *(frame.name for frame in description.frames),
        ],
        "markers": [marker.name for marker in description.markers],
        "elements": [element.name for element in description.elements],
        "motions": [motion.name for motion in description.motions],
    }
    for noun, names in groups.items():
        for name in names:
            if not isinstance(name, str) or not name:
                raise ValueError(
                    f"One of the {noun} is called {name!r}; a name is a non-empty string."
                )
        if twice := repeated(names):
            raise ValueError(f"Two {noun} are called `{twice}`; names must be unique.")
    if GROUND in groups["bodies"]:
        raise ValueError(
            f'A body is called "{GROUND}", which is the name of the ground; rename it.'
        )


# --- bodies, frames, markers ---


def _body(body: BodyDescription, improper: dict[str, list[str]] | None) -> BodyDescription:
    """`improper` collects bodies with inertias no rigid body has; where it is None they fail."""
    where = f"Body `{body.name}`"
    mass = real(body.mass, where, "mass")
    if mass < 0.0:
        raise ValueError(f"{where} has mass={mass:g}, but a mass is not negative.")
    inertia = array(body.inertia, (3, 3), where, "inertia")
    size = max(float(np.abs(inertia).max()), NO_INERTIA)
    if np.abs(inertia - inertia.T).max() > INERTIA_TOLERANCE * size:
        raise ValueError(
            f"{where} has inertia={inertia.tolist()}, which is not symmetric; an inertia is."
        )
    moments = np.linalg.eigvalsh(inertia)
    moments[np.abs(moments) <= INERTIA_TOLERANCE * size] = 0.0
    fault = None
    if moments[0] < 0.0:
        fault = "a negative principal moment"
    elif moments[0] + moments[1] < moments[2] * (1.0 - INERTIA_TOLERANCE):
        fault = "a principal moment above the sum of the other two"
    if fault is not None:
        if improper is None:
            listed = ", ".join(f"{moment:.6g}" for moment in moments)
            raise ValueError(
                f"{where} has an inertia with {fault} ({listed}), which no rigid body has."
            )
        improper.setdefault(fault, []).append(body.name)
    (a, b, c), (d, e, f), (g, h, i) = (0.5 * (inertia + inertia.T)).tolist()
    rows = ((a, b, c), (d, e, f), (g, h, i))
    return BodyDescription(body.name, mass, triple(body.com, where, "com"), rows)


def _frame(frame: FrameDescription, bodies: list[str]) -> FrameDescription:
    where = f"Frame `{frame.name}`"
    check_known(frame.body, bodies, where, "body")
    return FrameDescription(frame.name, frame.body, placement(frame.placement, where, "placement"))


def _marker(marker: MarkerDescription, bodies: list[str]) -> MarkerDescription:
    where = f"Marker `{marker.name}`"
    check_known(marker.body, bodies, where, "body")
    return MarkerDescription(marker.name, marker.body, triple(marker.point, where, "point"))


def _improper_notes(improper: dict[str, list[str]]) -> list[str]:
    return [
        f"No rigid body has an inertia with {fault}, but these bodies do: {', '.join(names)}."
        for fault, names in improper.items()
    ]

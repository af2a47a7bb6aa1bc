"""A description is checked as a whole before anything is built from it.

`checked` names the first fault, or returns a copy in which every number is a finite float (limits
may be infinite), every quaternion and axis has unit length, every joint's frames, axes and
sequences are complete, and the bodies form a tree.
"""

import dataclasses
import math

import numpy as np

from linkax.joints import JOINTS, AbstractJoint, Helical, Universal
from linkax.model.description import (
    GROUND,
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    MarkerDescription,
    MimicDescription,
    Placement,
    Triple,
)
from linkax.model.naming import repeated, suggestion
from linkax.model.tree import check_tree


# Quaternions and perpendicular axes typed with seven digits pass; a forgotten component does not.
UNIT_TOLERANCE = 1e-6
# Inertias are typed with few digits: what the sixth digit of the largest entry can explain passes.
INERTIA_TOLERANCE = 1e-6
NO_INERTIA = 1e-25  # [kg m^2]; what files hold below it is round-off of zero


def joint_class(joint: JointDescription) -> type[AbstractJoint]:
    """The class of a joint's type; an unknown type is an error that lists near matches."""
    if joint.type not in JOINTS:
        raise ValueError(
            f"Joint `{joint.name}` has type `{joint.type}`, which is no joint type;"
            f"{suggestion(joint.type, JOINTS)}"
        )
    return JOINTS[joint.type]


def checked(description: Description) -> Description:
    """A cleaned copy of the description; a `ValueError` names the first offender."""
    _check_names(description)
    improper: dict[str, list[str]] = {}
    allowed = improper if description.allow_improper_inertia else None
    bodies = [_body(body, allowed) for body in description.bodies]
    names = [body.name for body in bodies]
    clean = dataclasses.replace(
        description,
        bodies=bodies,
        joints=[_joint(joint, names) for joint in description.joints],
        frames=[_frame(frame, names) for frame in description.frames],
        markers=[_marker(marker, names) for marker in description.markers],
        gravity=_triple(description.gravity, "The description", "gravity"),
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
        "frames (each body is one)": [
            *(body.name for body in description.bodies),
            *(frame.name for frame in description.frames),
        ],
        "markers": [marker.name for marker in description.markers],
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
    mass = _real(body.mass, where, "mass")
    if mass < 0.0:
        raise ValueError(f"{where} has mass={mass:g}, but a mass is not negative.")
    inertia = _array(body.inertia, (3, 3), where, "inertia")
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
    return BodyDescription(body.name, mass, _triple(body.com, where, "com"), rows)


def _frame(frame: FrameDescription, bodies: list[str]) -> FrameDescription:
    where = f"Frame `{frame.name}`"
    _check_known(frame.body, bodies, where, "body")
    return FrameDescription(frame.name, frame.body, _placement(frame.placement, where, "placement"))


def _marker(marker: MarkerDescription, bodies: list[str]) -> MarkerDescription:
    where = f"Marker `{marker.name}`"
    _check_known(marker.body, bodies, where, "body")
    return MarkerDescription(marker.name, marker.body, _triple(marker.point, where, "point"))


def _check_known(name: str, bodies: list[str], where: str, role: str):
    if name != GROUND and name not in bodies:
        raise ValueError(
            f"{where} has {role} `{name}`, which is no body;{suggestion(name, [*bodies, GROUND])}"
        )


def _improper_notes(improper: dict[str, list[str]]) -> list[str]:
    return [
        f"No rigid body has an inertia with {fault}, but these bodies do: {', '.join(names)}."
        for fault, names in improper.items()
    ]


# --- joints ---


def _joint(joint: JointDescription, bodies: list[str]) -> JointDescription:
    where = f"Joint `{joint.name}`"
    kind = joint_class(joint)
    _check_known(joint.parent, bodies, where, "parent")
    _check_known(joint.child, bodies, where, "child")
    axis, axis2 = _axes(joint, kind, where)
    if joint.pitch and kind is not Helical:
        raise ValueError(f"{where} has pitch={joint.pitch}, but only a helical joint has a pitch.")
    clean = dataclasses.replace(
        joint,
        parent_frame=_placement(joint.parent_frame, where, "parent_frame"),
        child_frame=_placement(joint.child_frame, where, "child_frame"),
        axis=axis,
        axis2=axis2,
        pitch=_real(joint.pitch, where, "pitch"),
        armature=_sequence(joint.armature, kind.nv, 0.0, where, "armature"),
        damping=_sequence(joint.damping, kind.nv, 0.0, where, "damping"),
        lower=_sequence(joint.lower, kind.nq, -math.inf, where, "lower"),
        upper=_sequence(joint.upper, kind.nq, math.inf, where, "upper"),
        effort=_sequence(joint.effort, kind.nv, math.inf, where, "effort"),
        velocity=_sequence(joint.velocity, kind.nv, math.inf, where, "velocity"),
        position=_initial(joint, kind, where),
        speed=None if joint.speed is None else _sequence(joint.speed, kind.nv, 0.0, where, "speed"),
        mimic=_mimic(joint.mimic, where),
    )
    _check_signs(clean, where)
    return clean


def _check_signs(joint: JointDescription, where: str):
    for key in ("armature", "damping", "effort", "velocity"):
        for value in getattr(joint, key):
            if value < 0.0:
                raise ValueError(f"{where} has {key}={value:g}, but it may not be negative.")
    for lower, upper in zip(every(joint.lower), every(joint.upper), strict=True):
        if lower > upper:
            raise ValueError(f"{where} has lower={lower:g} above upper={upper:g}; exchange them.")


def _axes(joint: JointDescription, kind: type[AbstractJoint], where: str):
    if kind.nv == 0:
        return None, None
    if kind is Universal:
        first = _axis((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, where, "axis")
        second = _axis((0.0, 1.0, 0.0) if joint.axis2 is None else joint.axis2, where, "axis2")
        if abs(float(np.dot(first, second))) > UNIT_TOLERANCE:
            raise ValueError(
                f"{where} has axis={first} and axis2={second}, but the axes of a universal joint "
                "are perpendicular."
            )
        return first, second
    if joint.axis2 is not None:
        raise ValueError(f"{where} has an axis2, but only a universal joint has two axes.")
    if kind.uses_axis:
        return _axis((0.0, 0.0, 1.0) if joint.axis is None else joint.axis, where, "axis"), None
    if joint.axis is not None:
        raise ValueError(
            f"{where} has an axis, but a {kind.name} joint takes none; turn its frames."
        )
    return None, None


def _axis(axis, where: str, key: str) -> Triple:
    x, y, z = _triple(axis, where, key)
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise ValueError(f"{where} has a zero {key}; give it a direction, like (0, 0, 1).")
    return (x / length, y / length, z / length)


def _initial(joint: JointDescription, kind: type[AbstractJoint], where: str):
    if joint.position is None:
        return None
    position = _sequence(joint.position, kind.nq, 0.0, where, "position")
    # One coordinate more than speeds is what a unit quaternion, the first four, costs.
    if kind.nq == kind.nv + 1:
        return (*_unit(position[:4], where, "an initial position whose quaternion"), *position[4:])
    return position


def _mimic(mimic: MimicDescription | None, where: str) -> MimicDescription | None:
    if mimic is None:
        return None
    return MimicDescription(
        mimic.leader,
        _real(mimic.ratio, where, "mimic ratio"),
        _real(mimic.offset, where, "mimic offset"),
    )


# --- numbers ---


def every(sequence) -> tuple[float, ...]:
    """A sequence of a checked joint, which is always complete."""
    return () if sequence is None else sequence


def _sequence(value, count: int, default: float, where: str, key: str) -> tuple[float, ...]:
    """One entry a speed or coordinate, from a number, a sequence or None."""
    if value is None:
        return (default,) * count
    entries = _floats(value, where, key)
    if entries.ndim == 0:
        entries = np.full(count, float(entries))
    if entries.shape != (count,):
        raise ValueError(
            f"{where} has {key}={value}, but a joint of this type takes one number or {count}."
        )
    if np.isnan(entries).any() or (not math.isinf(default) and np.isinf(entries).any()):
        raise ValueError(f"{where} has {key}={value}, but it must be finite.")
    return tuple(entries.tolist())


def _placement(placement: Placement, where: str, key: str) -> Placement:
    position = _triple(placement.position, where, f"{key} position")
    entries = tuple(_array(placement.quaternion, (4,), where, f"{key} quaternion").tolist())
    return Placement(position, _unit(entries, where, f"a {key} whose quaternion"))


def _unit(quaternion, where: str, what: str) -> tuple[float, float, float, float]:
    w, x, y, z = quaternion
    length = math.hypot(w, x, y, z)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ValueError(f"{where} has {what} (w, x, y, z) has length {length:.9g}; it must be 1.")
    return (w / length, x / length, y / length, z / length)


def _real(value, where: str, key: str) -> float:
    return float(_array(value, (), where, key))


def _triple(value, where: str, key: str) -> Triple:
    x, y, z = _array(value, (3,), where, key).tolist()
    return (x, y, z)


def _array(value, shape: tuple[int, ...], where: str, key: str) -> np.ndarray:
    array = _floats(value, where, key)
    if array.shape != shape:
        wanted = {(): "a number", (3,): "3 numbers", (4,): "4 numbers", (3, 3): "3x3 numbers"}[
            shape
        ]
        raise ValueError(f"{where} has {key}={value}, but it is {wanted}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{where} has {key}={value}, but it must be finite.")
    return array


def _floats(value, where: str, key: str) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return array.astype(float)
    except ValueError:  # ragged rows
        pass
    raise ValueError(f"{where} has {key}={value!r}, but it consists of numbers.")

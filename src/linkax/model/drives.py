"""Drives become what they stand for: rotors on joints of their own, and couplings to the driven joints.

A drive called NAME with one rotor makes the body and the revolute joint `NAME_rotor` and the coupling loop
`NAME`; one with several makes `NAME_rotor_0`, `NAME_0` and so on. Rotors start where the joints they are
geared to put them.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from linkax.joints import JOINTS, Revolute
from linkax.model.check_joints import axis_of, checked_joint
from linkax.model.check_values import every, not_negative, placement, real
from linkax.model.description import (
    DRIVES,
    GROUND,
    BodyDescription,
    CouplingDescription,
    Description,
    DifferentialDescription,
    DriveDescription,
    GearDescription,
    JointDescription,
    Matrix3,
    Placement,
    RotorDescription,
    Triple,
)
from linkax.model.naming import repeated, suggestion
from linkax.model.placement import rotation_matrix


# A transverse moment typed with few digits may fall short of half the axial one by this fraction.
HALF_TOLERANCE = 1e-6


class _Train(NamedTuple):
    """A rotor, the joint it takes its defaults from, and how it follows the driven joints."""

    name: str  # of the rotor's body and joint
    coupling: str
    rotor: RotorDescription
    nearest: JointDescription
    joints: tuple[JointDescription, ...]
    ratios: tuple[float, ...]


def made_by(drive: DriveDescription) -> tuple[tuple[str, str], ...]:
    """Of each rotor of a drive the name of its body and joint, and the name of its coupling."""
    match drive:
        case DifferentialDescription():
            rotors = range(len(drive.rotors))
            return tuple((f"{drive.name}_rotor_{i}", f"{drive.name}_{i}") for i in rotors)
    return ((f"{drive.name}_rotor", drive.name),)


def expand_drives(description: Description) -> Description:
    """A copy without drives: each is replaced by its rotors, their joints and couplings.

    Raises:
        ValueError: naming the drive, what is wrong in it, and what would be right.
    """
    if not description.drives:
        return description
    names = [drive.name for drive in description.drives]
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"One of the drives is called {name!r}; a name is a non-empty string.")
    if twice := repeated(names):
        raise ValueError(f"Two drives are called `{twice}`; names must be unique.")
    bodies, joints = list(description.bodies), list(description.joints)
    loops = list(description.loops)
    for drive in description.drives:
        trains = _trains(drive, description)
        for train in trains:
            where = f"Drive `{drive.name}`"
            body, joint, loop = _parts(train, description, where)
            _check_new(body.name, [*(b.name for b in bodies), GROUND], where, "body")
            _check_new(body.name, [frame.name for frame in description.frames], where, "body")
            _check_new(joint.name, [j.name for j in (*joints, *loops)], where, "joint")
            _check_new(loop.name, [j.name for j in (*joints, *loops, joint)], where, "loop")
            bodies.append(body)
            joints.append(joint)
            loops.append(loop)
    return dataclasses.replace(description, bodies=bodies, joints=joints, loops=loops, drives=[])


def _check_new(name: str, taken: list[str], where: str, noun: str):
    if name in taken:
        raise ValueError(
            f"{where} makes a {noun} `{name}`, but that name is taken; rename the drive or the other."
        )


def _trains(drive: DriveDescription, description: Description) -> list[_Train]:
    where = f"Drive `{drive.name}`"
    match drive:
        case GearDescription():
            ratio = real(drive.ratio, where, "ratio")
            if ratio == 0.0:
                raise ValueError(f"{where} has ratio=0, by which nothing turns the rotor.")
            joint = _driven(drive.joint, description, where)
            rotor = RotorDescription(
                drive.rotor_inertia,
                drive.rotor_mass,
                drive.transverse_inertia,
                drive.carrier,
                drive.carrier_frame,
                drive.axis,
                drive.damping,
            )
            return [_Train(*made_by(drive)[0], rotor, joint, (joint,), (ratio,))]
        case DifferentialDescription():
            return _of_differential(drive, description, where)
    raise ValueError(f"{where} has type `{drive.type}`;{suggestion(drive.type, DRIVES)}")


def _of_differential(
    drive: DifferentialDescription, description: Description, where: str
) -> list[_Train]:
    k = len(drive.joints)
    if k < 2 or repeated(drive.joints):
        raise ValueError(
            f"{where} has joints={list(drive.joints)}, but a differential has two or more, each once."
        )
    if len(drive.rotors) != k:
        raise ValueError(
            f"{where} has {len(drive.rotors)} rotors for {k} joints; give one a joint."
        )
    if len(drive.matrix) != k or any(len(row) != k for row in drive.matrix):
        raise ValueError(
            f"{where} has matrix={[list(row) for row in drive.matrix]}, but it is {k}x{k} numbers: a row a "
            "rotor, a column a joint."
        )
    joints = [_driven(name, description, where) for name in drive.joints]
    trains = []
    for i, (rotor, row) in enumerate(zip(drive.rotors, drive.matrix, strict=True)):
        ratios = [real(value, where, "an entry of matrix") for value in row]
        geared = [(joint, ratio) for joint, ratio in zip(joints, ratios, strict=True) if ratio]
        if not geared:
            raise ValueError(
                f"{where} has a matrix whose row {i} is zero, so that nothing turns rotor {i}."
            )
        own, factors = zip(*geared, strict=True)
        trains.append(_Train(*made_by(drive)[i], rotor, joints[i], own, factors))
    return trains


def _driven(name: str, description: Description, where: str) -> JointDescription:
    """A joint of one freedom that follows no other, checked."""
    found = {joint.name: joint for joint in description.joints}
    if name not in found:
        free = [
            j.name
            for j in description.joints
            if j.mimic is None and j.type in JOINTS and JOINTS[j.type].nv == 1
        ]
        raise ValueError(f"{where} has joint `{name}`, which is no joint;{suggestion(name, free)}")
    joint = checked_joint(found[name], [body.name for body in description.bodies])
    if JOINTS[joint.type].nv != 1:
        raise ValueError(
            f"{where} has joint `{name}` of type `{joint.type}`, which has {JOINTS[joint.type].nv} "
            "freedoms; it drives joints of one."
        )
    if joint.mimic is not None:
        raise ValueError(
            f"{where} has joint `{name}`, which follows `{joint.mimic.leader}`; drive the joint that "
            "leads."
        )
    return joint


# --- rotors ---


def _parts(
    train: _Train, description: Description, where: str
) -> tuple[BodyDescription, JointDescription, CouplingDescription]:
    carrier, frame, axis = _placed(train, description, where)
    position, speed = (_implied(train, key) for key in ("position", "speed"))
    joint = JointDescription(
        train.name,
        Revolute.name,
        carrier,
        train.name,
        parent_frame=frame,
        axis=axis,
        damping=not_negative(train.rotor.damping, where, "damping"),
        position=position,
        speed=speed,
    )
    mass = not_negative(train.rotor.mass, where, "rotor mass")
    body = BodyDescription(train.name, mass, inertia=_inertia(train.rotor, axis, where))
    names = (*(driven.name for driven in train.joints), train.name)
    return body, joint, CouplingDescription(train.coupling, names, (*train.ratios, -1.0))


def _placed(train: _Train, description: Description, where: str) -> tuple[str, Placement, Triple]:
    """(carrier, X_CF, axis in F) of a rotor."""
    rotor, joint = train.rotor, train.nearest
    known = [body.name for body in description.bodies]
    if rotor.carrier is not None and rotor.carrier not in (*known, GROUND):
        raise ValueError(
            f"{where} has carrier `{rotor.carrier}`, which is no body;"
            f"{suggestion(rotor.carrier, [*known, GROUND])}"
        )
    carrier = joint.parent if rotor.carrier is None else rotor.carrier
    if carrier != joint.parent and (rotor.frame is None or rotor.axis is None):
        raise ValueError(
            f"{where} has carrier `{carrier}`, which is not the parent of joint `{joint.name}`; give the "
            "rotor's frame on it and its axis."
        )
    frame = joint.parent_frame
    if rotor.frame is not None:
        frame = placement(rotor.frame, where, "frame")
    if rotor.axis is not None:
        return carrier, frame, axis_of(rotor.axis, where, "axis")
    # The driven joint's axis, seen from the rotor's own frame on the same body.
    axis = np.asarray(joint.axis)
    if frame.quaternion != joint.parent_frame.quaternion:
        turned = rotation_matrix(joint.parent_frame.quaternion) @ axis
        axis = rotation_matrix(frame.quaternion).T @ turned
    return carrier, frame, axis_of(axis, where, "axis")


def _inertia(rotor: RotorDescription, axis: Triple, where: str) -> Matrix3:
    """About the axis and across it, in the axes of the rotor's frame."""
    axial = real(rotor.inertia, where, "rotor inertia")
    if axial <= 0.0:
        raise ValueError(f"{where} has rotor inertia={axial:g}, but it is above zero.")
    across = 0.5 * axial
    if rotor.transverse_inertia is not None:
        across = real(rotor.transverse_inertia, where, "transverse inertia")
    if across < 0.5 * axial * (1.0 - HALF_TOLERANCE):
        raise ValueError(
            f"{where} has transverse inertia={across:g}, below half of that about the axis ({axial:g}), "
            "which no rotor has."
        )
    n = np.asarray(axis)
    moments = across * np.eye(3) + (axial - across) * np.outer(n, n)
    (a, b, c), (d, e, f), (g, h, i) = moments.tolist()
    return ((a, b, c), (d, e, f), (g, h, i))


def _implied(train: _Train, key: str) -> float | None:
    """What the driven joints' initial coordinates or speeds make of the rotor's; none where all say none."""
    given = [getattr(joint, key) for joint in train.joints]
    if all(value is None for value in given):
        return None
    return sum(
        ratio * every(value)[0]
        for ratio, value in zip(train.ratios, given, strict=True)
        if value is not None
    )

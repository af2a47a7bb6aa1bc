"""A joint of the tree is checked by what its type takes."""

import dataclasses
import math

import numpy as np

from linkax.joints import JOINTS, AbstractJoint, Helical, Universal
from linkax.model.check_values import (
    UNIT_TOLERANCE,
    check_known,
    every,
    placement,
    real,
    sequence,
    triple,
    unit,
)
from linkax.model.description import JointDescription, MimicDescription, Triple
from linkax.model.naming import suggestion


def joint_class(joint: JointDescription, where: str) -> type[AbstractJoint]:
    """The class of the joint's type."""
    if joint.type not in JOINTS:
        raise ValueError(
            f"{where} has type `{joint.type}`, which is no joint type;"
            f"{suggestion(joint.type, JOINTS)}"
        )
    return JOINTS[joint.type]


def checked_joint(joint: JointDescription, bodies: list[str]) -> JointDescription:
    """A joint of the tree with every sequence complete."""
    where = f"Joint `{joint.name}`"
    kind = joint_class(joint, where)
    clean = dataclasses.replace(
        connection(joint, kind, bodies, where),
        armature=sequence(joint.armature, kind.nv, 0.0, where, "armature"),
        damping=sequence(joint.damping, kind.nv, 0.0, where, "damping"),
        lower=sequence(joint.lower, kind.nq, -math.inf, where, "lower"),
        upper=sequence(joint.upper, kind.nq, math.inf, where, "upper"),
        effort=sequence(joint.effort, kind.nv, math.inf, where, "effort"),
        velocity=sequence(joint.velocity, kind.nv, math.inf, where, "velocity"),
        position=_initial(joint, kind, where),
        speed=None if joint.speed is None else sequence(joint.speed, kind.nv, 0.0, where, "speed"),
        mimic=_mimic(joint.mimic, where),
    )
    _check_signs(clean, where)
    return clean


def connection(
    joint: JointDescription, kind: type[AbstractJoint], bodies: list[str], where: str
) -> JointDescription:
    """The joint with its ends, frames, axes and pitch checked."""
    check_known(joint.parent, bodies, where, "parent")
    check_known(joint.child, bodies, where, "child")
    axis, axis2 = _axes(joint, kind, where)
    if joint.pitch and kind is not Helical:
        raise ValueError(f"{where} has pitch={joint.pitch}, but only a helical joint has a pitch.")
    return dataclasses.replace(
        joint,
        parent_frame=placement(joint.parent_frame, where, "parent_frame"),
        child_frame=placement(joint.child_frame, where, "child_frame"),
        axis=axis,
        axis2=axis2,
        pitch=real(joint.pitch, where, "pitch"),
    )


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
        first = axis_of((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, where, "axis")
        second = axis_of((0.0, 1.0, 0.0) if joint.axis2 is None else joint.axis2, where, "axis2")
        if abs(float(np.dot(first, second))) > UNIT_TOLERANCE:
            raise ValueError(
                f"{where} has axis={first} and axis2={second}, but the axes of a universal joint "
                "are perpendicular."
            )
        return first, second
    if joint.axis2 is not None:
        raise ValueError(f"{where} has an axis2, but only a universal joint has two axes.")
    if kind.uses_axis:
        return axis_of((0.0, 0.0, 1.0) if joint.axis is None else joint.axis, where, "axis"), None
    if joint.axis is not None:
        raise ValueError(
            f"{where} has an axis, but a {kind.name} joint takes none; turn its frames."
        )
    return None, None


def axis_of(axis, where: str, key: str) -> Triple:
    """The axis with unit length."""
    x, y, z = triple(axis, where, key)
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise ValueError(f"{where} has a zero {key}; give it a direction, like (0, 0, 1).")
    return (x / length, y / length, z / length)


def _initial(joint: JointDescription, kind: type[AbstractJoint], where: str):
    if joint.position is None:
        return None
    position = sequence(joint.position, kind.nq, 0.0, where, "position")
    # One coordinate more than speeds is what a unit quaternion, the first four, costs.
    if kind.nq == kind.nv + 1:
        return (*unit(position[:4], where, "an initial position whose quaternion"), *position[4:])
    return position


def _mimic(mimic: MimicDescription | None, where: str) -> MimicDescription | None:
    if mimic is None:
        return None
    return MimicDescription(
        mimic.leader,
        real(mimic.ratio, where, "mimic ratio"),
        real(mimic.offset, where, "mimic offset"),
    )

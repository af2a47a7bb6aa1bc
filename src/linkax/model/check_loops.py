"""A loop is checked by its kind: a joint, a distance, a coupling of coordinates, or a locked velocity."""

import dataclasses

from linkax.joints import JOINTS, Floating
from linkax.model.axial import axial_coordinates
from linkax.model.check_joints import connection, joint_class
from linkax.model.check_values import check_known, placement, real, triple
from linkax.model.description import (
    VELOCITY_COMPONENTS,
    CouplingDescription,
    DistanceDescription,
    JointDescription,
    LoopDescription,
    VelocityDescription,
)
from linkax.model.naming import repeated, suggestion


# What of a joint's fields says nothing of a loop.
NOT_OF_LOOPS = (
    *("armature", "damping", "lower", "upper", "effort", "velocity"),
    *("position", "speed", "mimic"),
)


def checked_loop(
    loop: LoopDescription, bodies: list[str], joints: list[JointDescription]
) -> LoopDescription:
    """The loop with its numbers as floats, everything it names being there."""
    where = f"Loop `{loop.name}`"
    match loop:
        case DistanceDescription():
            return _distance(loop, bodies, where)
        case CouplingDescription():
            return _coupling(loop, joints, where)
        case VelocityDescription():
            return _velocity(loop, bodies, where)
    return _joint(loop, bodies, where)


def _joint(loop: JointDescription, bodies: list[str], where: str) -> JointDescription:
    """It connects two bodies, or a body and the ground, and no more."""
    kind = joint_class(loop, where)
    if kind is Floating:
        raise ValueError(f"{where} has type `{loop.type}`, which constrains nothing; remove it.")
    for key in NOT_OF_LOOPS:
        if getattr(loop, key) is not None:
            raise ValueError(
                f"{where} has {key}={getattr(loop, key)}, but a joint that closes a loop has no "
                f"{key}; leave it out."
            )
    clean = connection(loop, kind, bodies, where)
    _check_two_ends(loop.parent, loop.child, where)
    return clean


def _check_two_ends(first: str, second: str, where: str):
    if first == second:
        raise ValueError(
            f"{where} has both its ends on `{first}`; a loop is closed between two bodies, "
            "or a body and the ground."
        )


def _distance(loop: DistanceDescription, bodies: list[str], where: str) -> DistanceDescription:
    check_known(loop.body_a, bodies, where, "body_a")
    check_known(loop.body_b, bodies, where, "body_b")
    _check_two_ends(loop.body_a, loop.body_b, where)
    length = None if loop.length is None else real(loop.length, where, "length")
    if length is not None and length <= 0.0:
        raise ValueError(
            f"{where} has length={length:g}, but it is above zero; points that coincide are kept so "
            "by a `spherical` joint."
        )
    return dataclasses.replace(
        loop,
        point_a=triple(loop.point_a, where, "point_a"),
        point_b=triple(loop.point_b, where, "point_b"),
        length=length,
    )


def _velocity(loop: VelocityDescription, bodies: list[str], where: str) -> VelocityDescription:
    check_known(loop.parent, bodies, where, "parent")
    check_known(loop.child, bodies, where, "child")
    _check_two_ends(loop.parent, loop.child, where)
    locked = _names(loop.locked, where, "locked")
    if not locked:
        raise ValueError(f"{where} locks nothing; name some of {', '.join(VELOCITY_COMPONENTS)}.")
    for name in locked:
        if name not in VELOCITY_COMPONENTS:
            raise ValueError(
                f"{where} locks `{name}`, which is no component of a velocity;"
                f"{suggestion(name, VELOCITY_COMPONENTS)}"
            )
    if twice := repeated(locked):
        raise ValueError(f"{where} locks `{twice}` twice; name it once.")
    return dataclasses.replace(
        loop,
        locked=locked,
        parent_frame=placement(loop.parent_frame, where, "parent_frame"),
        child_frame=placement(loop.child_frame, where, "child_frame"),
    )


def _names(value, where: str, key: str) -> tuple[str, ...]:
    """Some names, in a list or tuple; one string is not taken for the list of its letters."""
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{where} has {key}={value!r}, but it is a list of names.")
    return tuple(value)


# --- couplings ---


def _coupling(
    loop: CouplingDescription, joints: list[JointDescription], where: str
) -> CouplingDescription:
    names = _names(loop.joints, where, "joints")
    if len(names) < 2:
        raise ValueError(f"{where} couples {len(names)} coordinates; name at least two.")
    if twice := repeated(names):
        raise ValueError(f"{where} couples `{twice}` with itself; name each coordinate once.")
    if not isinstance(loop.coefficients, list | tuple) or len(loop.coefficients) != len(names):
        raise ValueError(
            f"{where} has coefficients={loop.coefficients}, but it takes {len(names)}, one for each "
            "of its joints."
        )
    coefficients = tuple(real(value, where, "a coefficient") for value in loop.coefficients)
    for name, coefficient in zip(names, coefficients, strict=True):
        check_coupled(name, joints, where)
        if coefficient == 0.0:
            raise ValueError(
                f"{where} has coefficient 0 for `{name}`, which couples nothing; leave both out."
            )
    return dataclasses.replace(
        loop,
        joints=names,
        coefficients=coefficients,
        offset=None if loop.offset is None else real(loop.offset, where, "offset"),
    )


def check_coupled(name: str, joints: list[JointDescription], where: str):
    """The name is that of an angle about, or slide along, the axis of a joint that follows no other."""
    found = axial_coordinates(
        [joint.name for joint in joints], [JOINTS[joint.type] for joint in joints]
    )
    if name in found:
        joint = joints[found[name].joint]
        if joint.mimic is not None:
            raise ValueError(
                f"{where} couples joint `{joint.name}`, which follows `{joint.mimic.leader}`; couple "
                "the joint that leads."
            )
        return
    types = {joint.name: joint.type for joint in joints}
    own = [key for key, value in found.items() if joints[value.joint].name == name]
    if own:
        listed = " or ".join(f"`{key}`" for key in own)
        raise ValueError(
            f"{where} couples joint `{name}`, which has {len(own)} coordinates; name {listed}."
        )
    if name in types:
        raise ValueError(
            f"{where} couples joint `{name}` of type `{types[name]}`, but only angles about and slides "
            "along one axis can be coupled."
        )
    free = [key for key, value in found.items() if joints[value.joint].mimic is None]
    raise ValueError(
        f"{where} couples `{name}`, which is no joint or coordinate of one;{suggestion(name, free)}"
    )

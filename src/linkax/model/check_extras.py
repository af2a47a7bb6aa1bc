"""Elements and motions are checked against the bodies, joints and loops that they name."""

import dataclasses

from linkax.joints import JOINTS, Revolute
from linkax.model.check_values import check_known, not_negative, real, triple
from linkax.model.description import (
    GROUND,
    ElementDescription,
    ExpressionDescription,
    ForceDescription,
    HarmonicDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    LoopDescription,
    MotionDescription,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
)
from linkax.model.naming import suggestion


# --- elements ---


def checked_element(
    element: ElementDescription,
    bodies: list[str],
    joints: list[JointDescription],
    loops: list[LoopDescription],
) -> ElementDescription:
    """The element with its numbers as floats, everything it names being there."""
    where = f"Element `{element.name}`"
    match element:
        case LinearSpringDescription() | LinearDamperDescription():
            clean = _between_points(element, bodies, where)
        case TorsionalSpringDescription():
            _check_revolute(element.joint, [*joints, *loops], where)
            angle = real(element.free_angle, where, "free_angle")
            clean = dataclasses.replace(element, free_angle=angle)
        case TorsionalDamperDescription():
            _check_revolute(element.joint, [*joints, *loops], where)
            clean = element
        case ForceDescription():
            _check_moving(element.body, bodies, where)
            point = None if element.point is None else triple(element.point, where, "point")
            force = triple(element.force, where, "force")
            clean = dataclasses.replace(element, force=force, point=point)
        case TorqueDescription():
            _check_moving(element.body, bodies, where)
            clean = dataclasses.replace(element, torque=triple(element.torque, where, "torque"))
    for key in ("stiffness", "damping", "free_length"):
        if hasattr(clean, key):
            number = not_negative(getattr(clean, key), where, key)
            clean = dataclasses.replace(clean, **{key: number})
    return clean


def _between_points(
    element: LinearSpringDescription | LinearDamperDescription, bodies: list[str], where: str
):
    check_known(element.body_a, bodies, where, "body_a")
    check_known(element.body_b, bodies, where, "body_b")
    if element.body_a == element.body_b:
        raise ValueError(
            f"{where} has body_a and body_b both `{element.body_a}`; it acts between two bodies, "
            "or a body and the ground."
        )
    return dataclasses.replace(
        element,
        point_a=triple(element.point_a, where, "point_a"),
        point_b=triple(element.point_b, where, "point_b"),
    )


def _check_moving(name: str, bodies: list[str], where: str):
    """The name is that of a body; the ground has no use for what it is asked for."""
    if name == GROUND:
        raise ValueError(f'{where} has body "{GROUND}", the ground, which never moves.')
    if name not in bodies:
        raise ValueError(f"{where} has body `{name}`, which is no body;{suggestion(name, bodies)}")


def _check_revolute(name: str, joints: list[LoopDescription], where: str):
    types = {joint.name: joint.type for joint in joints}
    turning = [joint for joint, kind in types.items() if JOINTS.get(kind) is Revolute]
    if name not in types:
        raise ValueError(
            f"{where} has joint `{name}`, which is no joint or loop;{suggestion(name, turning)}"
        )
    if name not in turning:
        raise ValueError(
            f"{where} has joint `{name}` of type `{types[name]}`, but it acts on a "
            f"`{Revolute.name}` one."
        )


# --- motions ---


def checked_motions(
    motions: list[MotionDescription],
    bodies: list[str],
    joints: list[JointDescription],
    loops: list[LoopDescription],
) -> list[MotionDescription]:
    """The motions with their numbers as floats, each of a coordinate or angle of its own."""
    first: dict[tuple[str | None, str | None], str] = {}
    clean = []
    for motion in motions:
        where = f"Motion `{motion.name}`"
        if (motion.joint is None) == (motion.body is None):
            both = "neither `joint` nor" if motion.joint is None else "both `joint` and"
            raise ValueError(f"{where} has {both} `body`; give one of them.")
        if motion.joint is not None:
            _check_coordinate(motion.joint, joints, loops, where)
        if motion.body is not None:
            _check_moving(motion.body, bodies, where)
        other = first.setdefault((motion.joint, motion.body), motion.name)
        if other != motion.name:
            raise ValueError(
                f"{where} prescribes `{motion.joint or motion.body}`, as motion `{other}` does; "
                "remove one of them."
            )
        expression = _expression(motion.expression, where)
        clean.append(dataclasses.replace(motion, expression=expression))
    return clean


def _check_coordinate(
    name: str, joints: list[JointDescription], loops: list[LoopDescription], where: str
):
    """The name is that of a joint of the tree with one freedom of its own."""
    if any(loop.name == name for loop in loops):
        raise ValueError(
            f"{where} has joint `{name}`, which is a loop; a motion prescribes the coordinate of a "
            "joint or the planar angle of a body."
        )
    found = {joint.name: joint for joint in joints}
    if name not in found:
        single = [j.name for j in joints if JOINTS[j.type].nv == 1 and j.mimic is None]
        raise ValueError(
            f"{where} has joint `{name}`, which is no joint;{suggestion(name, single)}"
        )
    joint = found[name]
    if JOINTS[joint.type].nv != 1:
        raise ValueError(
            f"{where} has joint `{name}` of type `{joint.type}`, which has "
            f"{JOINTS[joint.type].nv} freedoms; a motion prescribes a joint of one."
        )
    if joint.mimic is not None:
        raise ValueError(
            f"{where} has joint `{name}`, which follows `{joint.mimic.leader}`; prescribe the "
            "joint that leads."
        )


def _expression(expression: ExpressionDescription, where: str) -> ExpressionDescription:
    return ExpressionDescription(
        real(expression.constant, where, "constant"),
        real(expression.ramp, where, "ramp"),
        [_harmonic(wave, where, "sine") for wave in expression.sine],
        [_harmonic(wave, where, "cosine") for wave in expression.cosine],
    )


def _harmonic(wave: HarmonicDescription, where: str, key: str) -> HarmonicDescription:
    return HarmonicDescription(
        real(wave.amplitude, where, f"{key} amplitude"),
        real(wave.frequency, where, f"{key} frequency"),
        real(wave.phase, where, f"{key} phase"),
        real(wave.offset, where, f"{key} offset"),
    )

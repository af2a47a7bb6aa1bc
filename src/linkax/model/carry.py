"""Loops, elements and motions of bodies that were merged act on the bodies that carry them.

Points, placements and torques are expressed in the axes of the carrier. What acts only between parts
that hold still to each other is left out and noted; a loop or motion of such parts is an error, since
the file asks of them what cannot be, or cannot be seen to be, as it says.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from linkax.model.description import (
    GROUND,
    CouplingDescription,
    Description,
    DistanceDescription,
    ElementDescription,
    ForceDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    LoopDescription,
    MotionDescription,
    Placement,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
    Triple,
)
from linkax.model.merge import Merged
from linkax.model.placement import compose, rotation_matrix, transform_point


# Of a component of a unit vector: what composing a few typed rotations leaves of zero.
SAME_DIRECTION = 1e-9


class Carried(NamedTuple):
    """Loops, elements and motions in terms of moving bodies, and the names of what has no effect."""

    loops: tuple[LoopDescription, ...]
    elements: tuple[ElementDescription, ...]
    motions: tuple[MotionDescription, ...]
    idle: tuple[str, ...]


class _Where(NamedTuple):
    """A described body as part of a moving one: the carrier's name and X_BF."""

    carrier: str
    place: Placement


def carry(description: Description, merged: Merged) -> Carried:
    """Everything of a checked description beside its tree, re-expressed on the moving bodies."""
    names = [body.name for body in merged.bodies]
    places = {
        name: _Where(GROUND if body < 0 else names[body], place)
        for name, (body, place) in merged.places.items()
    }
    joints = [joint.name for joint in description.joints]
    still = set(joints) - {body.joint.name for body in merged.bodies}
    coms = {body.name: body.com for body in description.bodies}
    elements = [_element(item, places, coms, still) for item in description.elements]
    pairs = zip(description.elements, elements, strict=True)
    return Carried(
        tuple(_loop(loop, places, joints, still) for loop in description.loops),
        tuple(element for element in elements if element is not None),
        _motions(description.motions, places, still),
        tuple(given.name for given, element in pairs if element is None),
    )


def _loop(
    loop: LoopDescription, places: dict[str, _Where], joints: list[str], still: set[str]
) -> LoopDescription:
    match loop:
        case CouplingDescription():
            _check_free(loop, joints, still)
            return loop
        case DistanceDescription():
            a, b = _ends(loop.name, loop.body_a, loop.body_b, places)
            return dataclasses.replace(
                loop,
                body_a=a.carrier,
                body_b=b.carrier,
                point_a=transform_point(a.place, loop.point_a),
                point_b=transform_point(b.place, loop.point_b),
            )
    parent, child = _ends(loop.name, loop.parent, loop.child, places)
    return dataclasses.replace(
        loop,
        parent=parent.carrier,
        child=child.carrier,
        parent_frame=compose(parent.place, loop.parent_frame),
        child_frame=compose(child.place, loop.child_frame),
    )


def _ends(name: str, first: str, second: str, places: dict[str, _Where]) -> tuple[_Where, _Where]:
    a, b = places[first], places[second]
    if a.carrier == b.carrier:
        raise ValueError(
            f"Loop `{name}` joins `{first}` and `{second}`, but joints that hold "
            "still make one body of them; remove the loop or free a joint between them."
        )
    return a, b


def _check_free(loop: CouplingDescription, joints: list[str], still: set[str]):
    """No coordinate is of a joint that holds still."""
    moving = set(joints) - still
    for name in loop.joints:
        # A name is a joint's own, or that of a coordinate: the joint's, a line, the coordinate's.
        joint = name if name in joints else name.rpartition("_")[0]
        if joint not in moving:
            raise ValueError(
                f"Loop `{loop.name}` couples joint `{joint}`, which is welded since it moves no inertia; "
                "give what it carries mass or remove the loop."
            )


def _element(
    element: ElementDescription,
    places: dict[str, _Where],
    coms: dict[str, Triple],
    still: set[str],
) -> ElementDescription | None:
    """The element on the carriers, or None where it can do nothing."""
    match element:
        case LinearSpringDescription() | LinearDamperDescription():
            a, b = places[element.body_a], places[element.body_b]
            clean = dataclasses.replace(
                element,
                body_a=a.carrier,
                point_a=transform_point(a.place, element.point_a),
                body_b=b.carrier,
                point_b=transform_point(b.place, element.point_b),
            )
            return None if a.carrier == b.carrier else clean
        case TorsionalSpringDescription() | TorsionalDamperDescription():
            return None if element.joint in still else element
        case ForceDescription():
            carrier, place = places[element.body]
            # The carrier's centre of mass is another point than that of the part that was named.
            own = coms[element.body] if element.point is None else element.point
            point = transform_point(place, own)
            clean = dataclasses.replace(element, body=carrier, point=point)
            return None if carrier == GROUND else clean
        case TorqueDescription():
            carrier, place = places[element.body]
            x, y, z = (rotation_matrix(place.quaternion) @ np.asarray(element.torque)).tolist()
            clean = dataclasses.replace(element, body=carrier, torque=(x, y, z))
            return None if carrier == GROUND else clean


# --- motions ---


def _motions(
    motions: list[MotionDescription], places: dict[str, _Where], still: set[str]
) -> tuple[MotionDescription, ...]:
    first: dict[str, MotionDescription] = {}
    found = []
    for motion in motions:
        if motion.joint in still:
            raise ValueError(
                f"Motion `{motion.name}` prescribes joint `{motion.joint}`, which is welded since "
                "it moves no inertia; give what it carries mass or remove the motion."
            )
        if motion.body is not None:
            carrier = _carrier_of_angle(motion.name, motion.body, places)
            other = first.setdefault(carrier, motion)
            if other is not motion:
                raise ValueError(
                    f"Motion `{motion.name}` prescribes `{motion.body}` and motion `{other.name}` "
                    f"`{other.body}`, which are one body; remove one of them."
                )
            found.append(dataclasses.replace(motion, body=carrier))
        else:
            found.append(motion)
    return tuple(found)


def _carrier_of_angle(motion: str, body: str, places: dict[str, _Where]) -> str:
    """The moving body whose planar angle is that of the named one."""
    carrier, place = places[body]
    if carrier == GROUND:
        raise ValueError(
            f"Motion `{motion}` prescribes body `{body}`, which joints that hold still fix to the "
            "ground; free one of them or remove the motion."
        )
    # The planar angle is that of the x axis. Other x axes of one body have planar angles that differ
    # by a constant only while it moves in the plane, which nothing here could promise.
    x = rotation_matrix(place.quaternion)[:, 0]
    if np.abs(x - (1.0, 0.0, 0.0)).max() > SAME_DIRECTION:
        raise ValueError(
            f"Motion `{motion}` prescribes body `{body}`, which is fixed to `{carrier}` with its x "
            f"axis turned; prescribe `{carrier}` and put the angle between the x axes into the "
            "expression."
        )
    return carrier

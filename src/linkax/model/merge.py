"""Bodies fixed to each other become one body, exactly, and keep their names as frames."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from linkax.joints import JOINTS, AbstractJoint
from linkax.model.description import (
    GROUND,
    ZERO,
    BodyDescription,
    Description,
    JointDescription,
    Placement,
    Triple,
)
from linkax.model.placement import (
    IDENTITY,
    compose,
    inverse,
    quaternion_of_matrix,
    rotation_matrix,
    transform_point,
)
from linkax.model.tree import carried_order


class Inertia(NamedTuple):
    """Mass [kg], centre of mass [m] and inertia about it (3, 3) [kg m^2], in one frame."""

    mass: float
    com: Triple
    inertia: np.ndarray


class MovingBody(NamedTuple):
    """A body with a joint that moves, and all that is fixed to it.

    The joint turns about `axis`, given in F; a universal joint about x of F, then y of M.
    """

    name: str
    joint: JointDescription
    kind: type[AbstractJoint]
    parent: int
    parent_frame: Placement
    child_frame: Placement
    axis: Triple
    inertia: Inertia


class Merged(NamedTuple):
    """Moving bodies, parents first, and where each described body went: (moving body, X_BF)."""

    bodies: list[MovingBody]
    places: dict[str, tuple[int, Placement]]


def merge(description: Description, welds: Mapping[str, Placement]) -> Merged:
    """The moving bodies of a checked description.

    Fixed joints, and those named in `welds`, hold still; a weld holds its M at the given placement
    in F.
    """
    described = {body.name: body for body in description.bodies}
    carrier = {joint.child: joint for joint in description.joints}
    places: dict[str, tuple[int, Placement]] = {GROUND: (-1, IDENTITY)}
    bodies: list[MovingBody] = []
    parts: list[list[tuple[Placement, BodyDescription]]] = []
    for name in carried_order(description):
        joint = carrier[name]
        parent, X_BP = places[joint.parent]
        X_BF = compose(X_BP, joint.parent_frame)
        if JOINTS[joint.type].nv == 0 or joint.name in welds:
            X_BM = compose(X_BF, welds.get(joint.name, IDENTITY))
            place = compose(X_BM, inverse(joint.child_frame))
            places[name] = (parent, place)
            if parent >= 0:
                parts[parent].append((place, described[name]))
        else:
            places[name] = (len(bodies), IDENTITY)
            bodies.append(_moving(joint, parent, X_BF))
            parts.append([(IDENTITY, described[name])])
    combined = [
        body._replace(inertia=combine(part)) for body, part in zip(bodies, parts, strict=True)
    ]
    return Merged(combined, places)


def _moving(joint: JointDescription, parent: int, parent_frame: Placement) -> MovingBody:
    axis, child_frame = joint.axis, joint.child_frame
    if joint.axis is not None and joint.axis2 is not None:
        # Two axes are brought into the placements: F and M get them as x and y.
        x, y = np.asarray(joint.axis), np.asarray(joint.axis2)
        z = np.cross(x, y)
        turned = quaternion_of_matrix(np.stack([x, np.cross(z, x), z], axis=1) / np.linalg.norm(z))
        parent_frame, child_frame = (
            compose(frame, Placement(ZERO, turned)) for frame in (parent_frame, child_frame)
        )
        axis = None
    return MovingBody(
        joint.child,
        joint,
        JOINTS[joint.type],
        parent,
        parent_frame,
        child_frame,
        axis or (0.0, 0.0, 1.0),
        Inertia(0.0, ZERO, np.zeros((3, 3))),
    )


def combine(parts: list[tuple[Placement, BodyDescription]]) -> Inertia:
    """The inertia of bodies fixed to one frame, in its axes, about the common centre of mass."""
    moved = [_placed(place, body) for place, body in parts]
    heavy = [part for part in moved if part.mass > 0.0 or part.inertia.any()]
    if len(heavy) <= 1:
        return heavy[0] if heavy else moved[0]
    mass = sum(part.mass for part in heavy)
    if mass == 0.0:
        return Inertia(0.0, moved[0].com, np.sum([part.inertia for part in heavy], axis=0))
    com = np.sum([part.mass * np.asarray(part.com) for part in heavy], axis=0) / mass
    inertia = np.zeros((3, 3))
    for part in heavy:
        d = np.asarray(part.com) - com
        inertia += part.inertia + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
    x, y, z = com.tolist()
    return Inertia(mass, (x, y, z), inertia)


def _placed(place: Placement, body: BodyDescription) -> Inertia:
    inertia = np.asarray(body.inertia, dtype=float)
    if place == IDENTITY:
        return Inertia(body.mass, body.com, inertia)
    rotation = rotation_matrix(place.quaternion)
    turned = rotation @ inertia @ rotation.T
    return Inertia(body.mass, transform_point(place, body.com), 0.5 * (turned + turned.T))

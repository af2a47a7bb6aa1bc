"""What loops do not say is read off the initial coordinates: lengths of distances, offsets of couplings."""

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from linkax.model.axial import axial_coordinates
from linkax.model.constants import aligned
from linkax.model.description import (
    GROUND,
    CouplingDescription,
    DistanceDescription,
    LoopDescription,
    Placement,
)
from linkax.model.merge import MovingBody
from linkax.model.placement import (
    IDENTITY,
    compose,
    inverse,
    quaternion_of_matrix,
    transform_point,
)


# Of the points' own distances from the origin: what single precision leaves of a distance of zero.
COINCIDING = 1e-6


def completed(
    loops: Sequence[LoopDescription],
    bodies: list[MovingBody],
    initial: Mapping[str, tuple[float, ...]],
) -> tuple[LoopDescription, ...]:
    """The loops, given on moving bodies, with every length and offset told.

    `initial` holds the coordinates of each joint, followers included. A `ValueError` names a distance
    whose points coincide at them, where its direction is not defined.
    """
    places: dict[str, Placement] = {}
    if any(isinstance(loop, DistanceDescription) for loop in loops):
        places = _poses(bodies, initial)
    return tuple(_completed(loop, places, bodies, initial) for loop in loops)


def _completed(loop: LoopDescription, places, bodies: list[MovingBody], initial) -> LoopDescription:
    match loop:
        case DistanceDescription():
            a = np.asarray(transform_point(places[loop.body_a], loop.point_a))
            b = np.asarray(transform_point(places[loop.body_b], loop.point_b))
            distance = float(np.linalg.norm(b - a))
            if distance <= COINCIDING * max(np.linalg.norm(a), np.linalg.norm(b)):
                raise ValueError(
                    f"Loop `{loop.name}` has points that coincide at the initial coordinates, where their "
                    "distance has no direction; move one of them or give other initial positions."
                )
            return dataclasses.replace(loop, length=distance) if loop.length is None else loop
        case CouplingDescription() if loop.offset is None:
            joints = [body.joint.name for body in bodies]
            found = axial_coordinates(joints, [body.kind for body in bodies])
            coordinates = [initial[joints[found[n].joint]][found[n].place] for n in loop.joints]
            terms = [c * q for c, q in zip(loop.coefficients, coordinates, strict=True)]
            return dataclasses.replace(loop, offset=-sum(terms))
    return loop


def _poses(
    bodies: list[MovingBody], initial: Mapping[str, tuple[float, ...]]
) -> dict[str, Placement]:
    """The pose of every moving body, and of the ground, in the world."""
    names = [body.name for body in bodies]
    found = {GROUND: IDENTITY}
    for body in bodies:
        parent = GROUND if body.parent < 0 else names[body.parent]
        own = compose(_between(body, initial[body.joint.name]), inverse(body.child_frame))
        found[body.name] = compose(found[parent], compose(body.parent_frame, own))
    return found


def _between(body: MovingBody, q: tuple[float, ...]) -> Placement:
    """X_FM at the coordinates q."""
    # Numbers, even where building is traced.
    with jax.ensure_compile_time_eval():
        travel = body.kind.travel(body.joint.pitch)
        rotation, translation = body.kind.transform(tuple(jnp.asarray(x) for x in q), travel)
        turned = np.eye(3)
        if body.kind.uses_axis:
            turned = np.asarray(aligned(jnp.asarray([body.axis]))[0], float)
        R = np.asarray([float(x) for x in rotation]).reshape(3, 3)
        p = np.asarray([float(x) for x in translation])
    x, y, z = (turned @ p).tolist()
    return Placement((x, y, z), quaternion_of_matrix(turned @ R @ turned.T))

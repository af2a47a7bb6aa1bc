"""A joint that moves no inertia has no equation of motion; such joints are found early.

The test is made at a generic configuration, so that a mechanism is refused only if it is singular
everywhere: a pendulum on two crossed hinges may well hang straight down. The mass matrix is J^T J,
with rows of J the velocity of every centre of mass times sqrt(m) and the angular velocity times the
root of the inertia; a joint is dead where its columns of J vanish, and the matrix is singular where
QR finds a column to be spanned by those of the joints beyond it. Working on J instead of M keeps
twice the digits.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from linkax.joints import AbstractJoint
from linkax.model.check_values import every
from linkax.model.description import Placement
from linkax.model.merge import MovingBody
from linkax.model.placement import (
    compose,
    inverse,
    quaternion_of_matrix,
    rotation_matrix,
    transform_point,
    turn,
)
from linkax.model.tree import Following


# Relative to what the motion could move: above round-off (squared in M), below any real link.
VANISHING = 1e-7
VANISHING_DISTANCE = 1e-12
# The multiples of the golden ratio spread the generic configuration evenly and never repeat.
GOLDEN = 0.6180339887498949


class Screw(NamedTuple):
    """One freedom of a joint: turning about `angular` while moving along `linear`, in F."""

    angular: np.ndarray
    linear: np.ndarray


class Mobility(NamedTuple):
    """Names of joints without inertia to move, and of those that make M singular."""

    dead: list[str]
    singular: list[str]


def mobility(bodies: list[MovingBody], following: Mapping[str, Following]) -> Mobility:
    """What cannot be accelerated; a leader is judged and named together with its followers."""
    owners, columns = _inertia_columns(bodies, following)
    free: dict[str, list[int]] = {}
    for k, owner in enumerate(owners):
        free.setdefault(owner, []).append(k)
    moved = np.linalg.norm(columns, axis=0)
    dead = [name for name, own in free.items() if not moved[own].any()]
    alive = [k for k in range(len(owners)) if owners[k] not in dead]
    # Outboard columns first: what they leave of a column is what its joint alone must accelerate.
    order = alive[::-1]
    left = np.abs(np.diag(np.linalg.qr(columns[:, order], mode="r")))
    bad = {owners[k] for k, rest in zip(order, left, strict=True) if rest <= VANISHING * moved[k]}
    group = [name for name, follow in following.items() if follow.leader in dead]
    return Mobility([*dead, *group], [name for name in free if name in bad])


def _inertia_columns(bodies: list[MovingBody], following: Mapping[str, Following]):
    """(names of the joint that owns each independent column, J (rows, columns))."""
    q = _generic_coordinates(bodies, following)
    slots = np.cumsum([0, *(body.kind.nv for body in bodies)])
    width = int(slots[-1])
    J = np.zeros((6 * len(bodies) + width, width))
    poses: list[Placement] = []
    ancestors: list[list[int]] = []
    directions, points = np.zeros((2, width, 3)), np.zeros((width, 3))
    for i, body in enumerate(bodies):
        place = body.parent_frame
        carried: list[int] = []
        if body.parent >= 0:
            place, carried = compose(poses[body.parent], place), ancestors[body.parent]
        own = list(range(slots[i], slots[i + 1]))
        for k, screw in zip(own, screws(body), strict=True):
            rotation = rotation_matrix(place.quaternion)
            directions[:, k] = rotation @ screw.angular, rotation @ screw.linear
            points[k] = place.position
            place = compose(place, displacement(screw, q[k]))
        poses.append(compose(place, inverse(body.child_frame)))
        ancestors.append([*carried, *own])
        J[6 * i : 6 * i + 6, ancestors[i]] = _rows(
            body, poses[i], directions[:, ancestors[i]], points[ancestors[i]]
        )
    armature = [value for body in bodies for value in every(body.joint.armature)]
    J[6 * len(bodies) :] = np.diag(np.sqrt(armature))
    return _independent(bodies, following, slots, J)


def _rows(body: MovingBody, pose: Placement, directions, points) -> np.ndarray:
    """sqrt(m) v and sqrt(I) omega of one body for every freedom moving it, without round-off."""
    mass, com, inertia = body.inertia
    angular, linear = directions
    arm = np.asarray(transform_point(pose, com)) - points
    velocity = linear + np.cross(angular, arm)
    reach = np.abs(points).max(axis=1, keepdims=True) + np.abs(arm).max(axis=1, keepdims=True)
    velocity[(np.abs(velocity) <= VANISHING_DISTANCE * reach).all(axis=1)] = 0.0
    values, axes = np.linalg.eigh(inertia)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
    spin = angular @ rotation_matrix(pose.quaternion) @ root.T
    spin[np.linalg.norm(spin, axis=1) <= VANISHING * np.sqrt(max(values[-1], 0.0))] = 0.0
    return np.concatenate([np.sqrt(mass) * velocity, spin], axis=1).T


def _independent(bodies, following: Mapping[str, Following], slots, J: np.ndarray):
    """Columns of followers are added to their leaders', times the ratio."""
    start = {body.joint.name: int(slots[i]) for i, body in enumerate(bodies)}
    total = J.copy()
    size = np.abs(J)
    for follower, (leader, ratio, _) in following.items():
        total[:, start[leader]] += ratio * J[:, start[follower]]
        size[:, start[leader]] += abs(ratio) * np.abs(J[:, start[follower]])
    total[np.abs(total) <= VANISHING_DISTANCE * size] = 0.0
    owners, kept = [], []
    for i, body in enumerate(bodies):
        if body.joint.name not in following:
            owners += [body.joint.name] * body.kind.nv
            kept += range(slots[i], slots[i + 1])
    return owners, total[:, kept]


def _generic_coordinates(bodies: list[MovingBody], following: Mapping[str, Following]):
    values: list[float] = []
    start: dict[str, int] = {}
    for body in bodies:
        start[body.joint.name] = len(values)
        values += [0.3 + (GOLDEN * (len(values) + k)) % 1.0 for k in range(body.kind.nv)]
    for follower, (leader, ratio, offset) in following.items():
        values[start[follower]] = ratio * values[start[leader]] + offset
    return values


# --- joints as products of screws ---


def screws(body: MovingBody) -> list[Screw]:
    """The freedoms of a body's joint at its neutral configuration, in the axes of F."""
    rotation = _axis_rotation(body.axis)
    neutral = body.kind.neutral()
    columns = body.kind.subspace(neutral, body.kind.travel(body.joint.pitch))
    return [
        Screw(*(rotation @ np.array(part, dtype=float) for part in column)) for column in columns
    ]


def displacement(screw: Screw, amount: float) -> Placement:
    """The motion along one screw: each freedom of a joint is a turn, a slide or a helix."""
    x, y, z = (amount * screw.linear).tolist()
    return Placement((x, y, z), turn(screw.angular, amount * float(np.linalg.norm(screw.angular))))


def weld(kind: type[AbstractJoint], body: MovingBody, amount: float) -> Placement:
    """X_FM of a joint held at neutral, or of a one-freedom joint held at a coordinate."""
    if amount == 0.0 or kind.nv != 1:
        return Placement()
    return displacement(screws(body)[0], amount)


def _axis_rotation(axis) -> np.ndarray:
    """Some rotation that takes z to the axis."""
    z = np.asarray(axis, dtype=float)
    if not z[:2].any() and z[2] > 0.0:
        return np.eye(3)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return rotation_matrix(quaternion_of_matrix(np.stack([x, np.cross(z, x), z], axis=1)))

"""Joints of a model as constraint rows, and what couples their coordinates."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from linkax.constraints.joint_rows import JointRows
from linkax.constraints.motion_rows import Coordinate, CouplingRows, turn_of
from linkax.kinematics.joint_frames import frames_of_joints
from linkax.model import AxialCoordinate, Model


def rows_of(model: Model, owned: tuple[int, ...]) -> JointRows:
    """The joints of some bodies as one group of rows."""
    frames, bodies = frames_of_joints(model, owned)
    return JointRows(  # pyright: ignore[reportCallIssue]
        parent_point=frames.parent_point,
        parent_rotation=frames.parent_rotation,
        child_point=frames.child_point,
        child_rotation=frames.child_rotation,
        pitch=model.pitch[jnp.asarray(owned)],
        bodies=bodies,
        joints=tuple(model.topology.joints[b] for b in owned),
    )


def kinds_of(coupled: Sequence[AxialCoordinate]) -> tuple[Coordinate, ...]:
    """Which are angles and which are slides."""
    return tuple(Coordinate.ANGLE if one.turns else Coordinate.SLIDE for one in coupled)


def couplings_of(
    model: Model,
    coupled: Sequence[Sequence[AxialCoordinate]],
    coefficients: Float[Array, "k c"],
    offset: Float[Array, " k"],
    turn: Float[Array, " k"],
) -> CouplingRows:
    """Couplings of coordinates of a model as one group of rows; angles and slides alternate alike in all."""
    columns = list(zip(*coupled, strict=True))
    found = [frames_of_joints(model, tuple(one.joint for one in column)) for column in columns]
    bodies = zip(*(pairs for _, pairs in found), strict=True)
    return CouplingRows(  # pyright: ignore[reportCallIssue]
        joints=tuple(frames for frames, _ in found),
        coefficients=coefficients,
        offset=offset,
        turn=turn,
        bodies=tuple(tuple(body for pair in pairs for body in pair) for pairs in bodies),
        coordinates=kinds_of(coupled[0]),
    )


def mimic_rows(model: Model) -> list[CouplingRows]:
    """ratio * leader - follower + offset = 0 for every mimic joint, those of the same kinds side by side.

    A ratio between angles that is traced is taken to be a whole number, or its leader to stay within half
    a turn (see `CouplingRows`).
    """
    joints = model.topology.joints
    of = lambda body: AxialCoordinate(body, 0, joints[body].axial[0])
    groups: dict[tuple[Coordinate, ...], list[int]] = {}
    coupled = [(of(leader), of(follower)) for follower, leader in model.topology.followers]
    for i, pair in enumerate(coupled):
        groups.setdefault(kinds_of(pair), []).append(i)
    found = []
    for kinds, own in groups.items():
        ratio = model.ratio[np.asarray(own)]
        turn = _turns(ratio, kinds)
        coefficients = jnp.stack([ratio, -jnp.ones_like(ratio)], axis=1)
        pairs = [coupled[i] for i in own]
        offset = model.offset[np.asarray(own)]
        found.append(couplings_of(model, pairs, coefficients, offset, turn))
    return found


def _turns(ratio: Float[Array, " k"], kinds: tuple[Coordinate, ...]) -> Float[Array, " k"]:
    if isinstance(ratio, Tracer):
        if kinds[1] is Coordinate.ANGLE:
            return jnp.full_like(ratio, 2.0 * math.pi)
        turning = 1.0 if kinds[0] is Coordinate.ANGLE else 0.0
        return 2.0 * math.pi * turning * jnp.abs(ratio)
    numbers = [turn_of((float(x), -1.0), kinds) for x in np.asarray(ratio)]
    return jnp.asarray(numbers, ratio.dtype)

"""Described loops and prescribed motions as constraint rows on the bodies of a model."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from linkax.constraints.expression import Expression
from linkax.constraints.joint_rows import JointRows
from linkax.constraints.model_rows import couplings_of, kinds_of
from linkax.constraints.motion_rows import (
    AngleRows,
    Coordinate,
    CoordinateRows,
    CouplingRows,
    DistanceRows,
    turn_of,
)
from linkax.constraints.rows import AbstractRows, Constraints
from linkax.joints import JOINTS
from linkax.kinematics.joint_frames import com_of, frames_of_joints, frames_of_loop, named_body
from linkax.model import (
    AxialCoordinate,
    CouplingDescription,
    DistanceDescription,
    JointDescription,
    LoopDescription,
    Model,
    MotionDescription,
    VelocityDescription,
    axial_coordinates,
)


def joint_loop_rows(model: Model, loop: JointDescription) -> JointRows:
    """The rows of one joint that closes a loop."""
    frames, bodies = frames_of_loop(model, loop)
    return JointRows(  # pyright: ignore[reportCallIssue]
        parent_point=frames.parent_point,
        parent_rotation=frames.parent_rotation,
        child_point=frames.child_point,
        child_rotation=frames.child_rotation,
        pitch=jnp.asarray([loop.pitch], model.dtype),
        bodies=bodies,
        joints=(JOINTS[loop.type],),
    )


def distance_rows(model: Model, loops: Sequence[DistanceDescription]) -> DistanceRows:
    """The rows of distances, side by side; their lengths are told."""
    bodies = tuple((named_body(model, one.body_a), named_body(model, one.body_b)) for one in loops)
    coms = jnp.stack([jnp.stack([com_of(model, body) for body in pair]) for pair in bodies])
    array = lambda key: jnp.asarray([getattr(one, key) for one in loops], model.dtype)
    return DistanceRows(  # pyright: ignore[reportCallIssue]
        point_a=array("point_a") - coms[:, 0],
        point_b=array("point_b") - coms[:, 1],
        length=array("length"),
        bodies=bodies,
    )


def coupling_rows(model: Model, loops: Sequence[CouplingDescription]) -> CouplingRows:
    """The rows of couplings of as many angles and slides, side by side; their offsets are told."""
    coupled = [coupled_by(model, loop) for loop in loops]
    array = lambda values: jnp.asarray(values, model.dtype)
    turns = [
        turn_of(loop.coefficients, kinds_of(own)) for loop, own in zip(loops, coupled, strict=True)
    ]
    coefficients = array([loop.coefficients for loop in loops])
    return couplings_of(
        model, coupled, coefficients, array([loop.offset for loop in loops]), array(turns)
    )


def coupled_by(model: Model, loop: CouplingDescription) -> tuple[AxialCoordinate, ...]:
    """The coordinates that a coupling names, of the joints of a model."""
    found = axial_coordinates(model.topology.joint_names, model.topology.joints)
    return tuple(found[name] for name in loop.joints)


def loop_groups(model: Model, loops: Sequence[LoopDescription]) -> Constraints:
    """Loops as rows: those of a kind side by side, their multipliers loop by loop in the order given.

    The loops are those of an assembly, on moving bodies and with every length and offset told.

    Raises:
        ValueError: for a loop that locks velocities, which no condition on positions says.
    """
    members: dict[object, list[int]] = {}
    counts: list[int] = []
    for i, loop in enumerate(loops):
        match loop:
            case VelocityDescription():
                raise ValueError(
                    f"Loop `{loop.name}` locks velocities, which no condition on positions can say."
                )
            case CouplingDescription():
                key: object = (type(loop), kinds_of(coupled_by(model, loop)))
            case _:
                key = type(loop)
        rows = JOINTS[loop.type].locked_rows() if isinstance(loop, JointDescription) else 1
        members.setdefault(key, []).append(i)
        counts.append(rows)
    starts = [sum(counts[:i]) for i in range(len(counts))]
    groups: list[AbstractRows] = []
    places: list[tuple[tuple[int, ...], ...]] = []
    for own in members.values():
        group = _group(model, [loops[i] for i in own])
        groups.append(group)
        places.append(
            tuple(
                (*range(starts[i], starts[i] + counts[i]), *(-1,) * (group.rows - counts[i]))
                for i in own
            )
        )
    return Constraints(tuple(groups), tuple(places))


def _group(model: Model, alike: list[Any]) -> AbstractRows:
    makers = {DistanceDescription: distance_rows, CouplingDescription: coupling_rows}
    if type(alike[0]) in makers:
        return makers[type(alike[0])](model, alike)
    return together([joint_loop_rows(model, loop) for loop in alike])


def together(groups: Sequence[JointRows]) -> JointRows:
    """Groups of joints as one, side by side."""
    bodies = tuple(b for g in groups for b in g.bodies)
    joints = tuple(j for g in groups for j in g.joints)
    # On one static side, so that their numbers can be joined leaf by leaf.
    alike = [dataclasses.replace(g, bodies=bodies, joints=joints) for g in groups]
    return jax.tree.map(lambda *x: jnp.concatenate(x), *alike)


def in_turn(parts: Sequence[Constraints]) -> Constraints:
    """Constraints whose multipliers come part by part; the joints of all parts become the first group."""
    joints: list[tuple[JointRows, tuple[tuple[int, ...], ...]]] = []
    others: list[tuple[AbstractRows, tuple[tuple[int, ...], ...]]] = []
    start = 0
    for part in parts:
        for group, places in zip(part.groups, part.places, strict=True):
            moved = tuple(tuple(p + start if p >= 0 else p for p in rows) for rows in places)
            if isinstance(group, JointRows):
                joints.append((group, moved))
            else:
                others.append((group, moved))
        start += part.count
    if joints:
        one = together([group for group, _ in joints])
        padded = (rows + (-1,) * (one.rows - len(rows)) for _, places in joints for rows in places)
        others.insert(0, (one, tuple(padded)))
    return Constraints(tuple(g for g, _ in others), tuple(places for _, places in others))


def motion_row(model: Model, motion: MotionDescription) -> AbstractRows:
    """The row of one prescribed motion."""
    follows = Expression.stacked([motion.expression], model.dtype)
    if motion.body is not None:
        bodies = ((named_body(model, motion.body),),)
        return AngleRows(motion=follows, bodies=bodies)  # pyright: ignore[reportCallIssue]
    assert motion.joint is not None
    index = model.joint_names.index(motion.joint)
    frames, bodies = frames_of_joints(model, (index,))
    sliding = model.topology.joints[index].turn == 0
    return CoordinateRows(  # pyright: ignore[reportCallIssue]
        parent_point=frames.parent_point,
        parent_rotation=frames.parent_rotation,
        child_point=frames.child_point,
        child_rotation=frames.child_rotation,
        motion=follows,
        bodies=bodies,
        coordinate=Coordinate.SLIDE if sliding else Coordinate.ANGLE,
    )

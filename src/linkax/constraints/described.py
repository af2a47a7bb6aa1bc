"""Described loops and prescribed motions as constraint rows on the bodies of a model."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from linkax.constraints.expression import Expression
from linkax.constraints.joint_rows import JointRows
from linkax.constraints.motion_rows import AngleRows, Coordinate, CoordinateRows
from linkax.constraints.rows import AbstractRows
from linkax.joints import JOINTS
from linkax.kinematics.joint_frames import frames_of_joints, frames_of_loop, named_body
from linkax.model import JointDescription, Model, MotionDescription


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


def together(groups: Sequence[JointRows]) -> JointRows:
    """Groups of joints as one, side by side."""
    bodies = tuple(b for g in groups for b in g.bodies)
    joints = tuple(j for g in groups for j in g.joints)
    # On one static side, so that their numbers can be joined leaf by leaf.
    alike = [dataclasses.replace(g, bodies=bodies, joints=joints) for g in groups]
    return jax.tree.map(lambda *x: jnp.concatenate(x), *alike)


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

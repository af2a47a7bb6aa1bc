"""Joints of a model as constraint rows."""

import jax.numpy as jnp

from linkax.constraints.joint_rows import JointRows
from linkax.kinematics.joint_frames import frames_of_joints
from linkax.model import Model


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

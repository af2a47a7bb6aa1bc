"""Joints of a model as constraint rows."""

import jax.numpy as jnp
import numpy as np

from linkax.constraints.joint_rows import JointRows
from linkax.math.stacks import product, rotations
from linkax.model import Model
from linkax.model.constants import joint_turns


def rows_of(model: Model, owned: tuple[int, ...]) -> JointRows:
    """The joints of some bodies as one group of rows."""
    index = np.asarray(owned)
    parents = np.asarray(model.topology.parents)[index]
    turn = joint_turns(model)[index]
    com = jnp.concatenate([model.com, jnp.zeros((1, 3), model.dtype)])
    return JointRows(  # pyright: ignore[reportCallIssue]
        parent_point=model.parent_position[index] - com[parents],
        parent_rotation=product(rotations(model.parent_quaternion[index]), turn),
        child_point=model.child_position[index] - model.com[index],
        child_rotation=product(rotations(model.child_quaternion[index]), turn),
        pitch=model.pitch[index],
        bodies=tuple((int(p), int(b)) for p, b in zip(parents, owned, strict=True)),
        joints=tuple(model.topology.joints[b] for b in owned),
    )

"""Where joints and loops sit on the bodies that they connect, measured from the centres of mass."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.joints import JOINTS
from linkax.math.stacks import product, rotations
from linkax.model import JointDescription, Model, VelocityDescription
from linkax.model.constants import aligned, joint_turns
from linkax.model.description import GROUND


class JointFrames(eqx.Module):
    """k joints: frame F on the parent and M on the child, both with z along the joint's axis."""

    parent_point: Float[
        Array, "k 3"
    ]  # F's origin from the parent's centre of mass, parent's axes [m]
    parent_rotation: Float[Array, "k 3 3"]  # F to the parent's axes
    child_point: Float[Array, "k 3"]  # M's origin from the child's centre of mass, child's axes [m]
    child_rotation: Float[Array, "k 3 3"]  # M to the child's axes


Pairs = tuple[tuple[int, int], ...]


def frames_of_joints(model: Model, owned: tuple[int, ...]) -> tuple[JointFrames, Pairs]:
    """(frames, (parent, child) of each) of the joints that move some bodies of a model."""
    index = np.asarray(owned)
    parents = np.asarray(model.topology.parents)[index]
    turn = joint_turns(model)[index]
    com = jnp.concatenate([model.com, jnp.zeros((1, 3), model.dtype)])
    frames = JointFrames(
        model.parent_position[index] - com[parents],
        product(rotations(model.parent_quaternion[index]), turn),
        model.child_position[index] - model.com[index],
        product(rotations(model.child_quaternion[index]), turn),
    )
    return frames, tuple((int(p), int(b)) for p, b in zip(parents, owned, strict=True))


def frames_of_loop(
    model: Model, loop: JointDescription | VelocityDescription
) -> tuple[JointFrames, Pairs]:
    """The same of one joint that closes a loop of a model, or of the two frames of a locked velocity."""
    parent, child = named_body(model, loop.parent), named_body(model, loop.child)
    array = lambda x: jnp.asarray(x, model.dtype)
    turn = array(_canonical(loop) if isinstance(loop, JointDescription) else np.eye(3))[None]
    turned = lambda placement: product(rotations(array(placement.quaternion)[None]), turn)
    frames = JointFrames(
        (array(loop.parent_frame.position) - com_of(model, parent))[None],
        turned(loop.parent_frame),
        (array(loop.child_frame.position) - com_of(model, child))[None],
        turned(loop.child_frame),
    )
    return frames, ((parent, child),)


def named_body(model: Model, name: str) -> int:
    """The index of a body; -1 for the ground."""
    return -1 if name == GROUND else model.body_index(name)


def com_of(model: Model, body: int) -> Float[Array, "3"]:
    """A body's centre of mass in its own axes; the world's origin for the ground."""
    return jnp.zeros((3,), model.dtype) if body < 0 else model.com[body]


def _canonical(loop: JointDescription) -> jax.Array | np.ndarray:
    """From the type's own frame to F: z onto the axis, or x and y onto a universal joint's two."""
    if loop.axis is not None and loop.axis2 is not None:
        x, y = np.asarray(loop.axis), np.asarray(loop.axis2)
        return np.stack([x, y, np.cross(x, y)], axis=1)
    if not JOINTS[loop.type].uses_axis:
        return np.eye(3)
    axis = (0.0, 0.0, 1.0) if loop.axis is None else loop.axis
    return aligned(jnp.asarray([axis]))[0]

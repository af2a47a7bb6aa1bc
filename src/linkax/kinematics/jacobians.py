"""Jacobians of body-fixed points, and the columns of motion that they and the mass matrix are made of."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.joints import AbstractJoint
from linkax.kinematics.frames import kinematics
from linkax.math.materialise import materialise
from linkax.model.abstract import AbstractModel
from linkax.model.constants import (
    constants_of,
    inertia_of,
    joint_frame_of,
    joint_pose,
    mat3,
    product,
    rotations,
    transform_of,
    vec3,
)
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.topology import GROUND
from linkax.model.traverse import body_lanes, inward, joint_lanes, outward, stack_joints, take
from linkax.spatial.inertia import RigidInertia
from linkax.spatial.motion import Force, Motion
from linkax.spatial.transform import NO_TRANSFORM, Transform
from linkax.spatial.vector import Sym3, Vec3, cross


Point = tuple[float, float, float] | Float[Array, "3"]


class _Rooted(NamedTuple):
    """A frame K in world axes, its position measured from the root body of its own tree.

    A free-floating machine far from the origin would otherwise lose the digits of its own size.
    """

    pose: Transform


def _rooted_pose(joint: type[AbstractJoint], parent: _Rooted, x):
    row, is_root, q = x
    at = joint_frame_of(row)
    pose = parent.pose @ joint_pose(joint, at, q)
    held = Vec3(*(jnp.where(is_root, 0.0, p) for p in pose.translation))
    pose = materialise(Transform(pose.rotation, held))
    columns = tuple(pose.motion_to_parent(s) for s in joint.subspace(q, at.travel))
    return _Rooted(pose), (columns, pose)


class Columns(NamedTuple):
    """For each speed of the tree, the motion it gives its body and what lies outboard."""

    motions: Motion  # leaves (tree_nv,): world axes, at the root body's point of reference
    poses: list[Transform]  # of the frames K, run by run, measured from the root body


def motion_columns(model: Model, q: Float[Array, " tree_nq"]) -> Columns:
    """The motion subspaces of all joints in world axes, about the root body's frame."""
    topology = model.topology
    is_root = jnp.asarray([parent == GROUND for parent in topology.parents])
    xs = zip(
        body_lanes(topology, constants_of(model).placement),
        body_lanes(topology, is_root),
        joint_lanes(topology, q, topology.q_slots),
        strict=True,
    )
    visited = outward(topology, _rooted_pose, _Rooted(NO_TRANSFORM), list(xs), model.dtype)
    return Columns(
        _stack_columns(model, Motion, [s for s, _ in visited]), [pose for _, pose in visited]
    )


def _stack_columns(model: Model, kind: type, lanes):
    """Motions or forces of joint columns, one tuple of them a run, stacked along the speeds."""
    flat = [[(*c.angular, *c.linear) for c in columns] for columns in lanes]
    stacked = [
        stack_joints(
            model.topology,
            [tuple(column[k] for column in columns) for columns in flat],
            model.topology.v_slots,
            model.dtype,
        )
        for k in range(6)
    ]
    return kind(Vec3(*stacked[:3]), Vec3(*stacked[3:]))


def _composite(joint: type[AbstractJoint], children: RigidInertia, x):
    """Inward: the momentum of a body and all that it carries, for each speed of its joint alone."""
    row, pose, columns = x
    carried = inertia_of(row).to_parent(pose) + children
    carried = materialise(carried)
    return carried, tuple(carried @ s for s in columns)


def composite_momenta(model: Model, columns: Columns) -> Force:
    """For each speed of the tree, the momentum of all that it moves when only it is one."""
    topology = model.topology
    lanes = _split_columns(model, columns.motions)
    xs = zip(body_lanes(topology, constants_of(model).inertia), columns.poses, lanes, strict=True)
    zero = jnp.zeros((), model.dtype)
    like = RigidInertia(zero, Vec3(zero, zero, zero), Sym3(*(zero,) * 6))
    return _stack_columns(model, Force, inward(topology, _composite, like, list(xs)))


def _split_columns(model: Model, motions: Motion) -> list[tuple[Motion, ...]]:
    t = model.topology
    parts = [joint_lanes(t, x, t.v_slots) for x in (*motions.angular, *motions.linear)]
    return [
        tuple(Motion(Vec3(*c[:3]), Vec3(*c[3:])) for c in zip(*(p[r] for p in parts), strict=True))
        for r in range(len(t.runs))
    ]


def resolve(model: AbstractModel, body: str | int) -> tuple[int, int | None]:
    """(body index, frame index or None) of a body or frame, by name or by body index."""
    if isinstance(body, str) and body not in model.body_names and body in model.frame_names:
        frame = model.frame_index(body)
        return model.tree.topology.frame_bodies[frame], frame
    if body == GROUND:
        return GROUND, None
    return model.body_index(body), None


def body_point(model: Model, frame: int | None, point: Point) -> Vec3:
    """A point given in a body's axes, or in a frame's, in the body's axes."""
    if len(np.shape(point)) != 1 or np.shape(point)[0] != 3:
        raise ValueError(f"A point has three components, but `point` has shape {np.shape(point)}.")
    p = vec3(jnp.asarray(point, model.dtype))
    if frame is None:
        return p
    R = mat3(rotations(model.frame_quaternion[frame][None])[0])
    return vec3(model.frame_position[frame]) + R @ p


def jacobian(
    model: AbstractModel, q: Float[Array, " nq"], body: str | int, point: Point = (0.0, 0.0, 0.0)
) -> Float[Array, "6 nv"]:
    """The matrix that takes speeds to [angular velocity; velocity of a body-fixed point], world axes.

    Args:
        model: the tree.
        q: coordinates.
        body: name of a body or frame, or index of a body.
        point: in the axes of that body or frame, from its origin [m].
    """
    (q,) = conform(model, q=q)
    tree = model.tree
    topology = tree.topology
    index, frame = resolve(model, body)
    offset = body_point(tree, frame, point)
    if index == GROUND:
        return jnp.zeros((6, model.nv), model.dtype)
    columns = motion_columns(tree, model.tree_coordinates(q))
    K = _pose_of(tree, columns.poses, index)
    at = K @ transform_of(tuple(c[index] for c in constants_of(tree).frame))
    arm = at.translation + at.rotation @ offset
    linear = columns.motions.linear + cross(columns.motions.angular, arm)
    rows = jnp.stack([*columns.motions.angular, *linear])
    path = topology.ancestors[index]
    moves = np.repeat([b in path for b in range(topology.nb)], topology.v_slots.width)
    full = jnp.where(moves, rows, 0.0)
    return model.project(q, full.T).T


def _row(X: Transform, index: int) -> Transform:
    return jax.tree.map(lambda x: x[index], X)


def _pose_of(model: Model, poses: list[Transform], index: int) -> Transform:
    for run, pose in zip(model.topology.runs, poses, strict=True):
        if index in run.bodies:
            return _row(pose, run.bodies.index(index))
    raise AssertionError("every body is in a run")


def jacobian_bias(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    body: str | int,
    point: Point = (0.0, 0.0, 0.0),
) -> Float[Array, "6"]:
    """The rate of change of `jacobian` times v: the point's acceleration when the speeds are constant.

    [angular acceleration; acceleration of the point], world axes; arguments as for `jacobian`.
    """
    q, v = conform(model, q=q, v=v)
    index, frame = resolve(model, body)
    at = body_point(model.tree, frame, point)
    if index == GROUND:
        return jnp.zeros((6,), model.dtype)
    k = kinematics(model, q, v, jnp.zeros_like(v))
    assert k.angular_velocity is not None
    assert k.angular_acceleration is not None
    assert k.acceleration is not None
    arm = mat3(k.rotation[index]) @ at
    w, alpha = vec3(k.angular_velocity[index]), vec3(k.angular_acceleration[index])
    linear = vec3(k.acceleration[index]) + cross(alpha, arm) + cross(w, cross(w, arm))
    return jnp.stack([*alpha, *linear])


def frame_poses(model: AbstractModel, q: Float[Array, " nq"]) -> tuple[Array, Array]:
    """(rotations (nf, 3, 3), positions (nf, 3)) of all named frames in world axes."""
    k = kinematics(model, q)
    tree = model.tree
    bodies = [model.nb if b == GROUND else b for b in tree.topology.frame_bodies]
    R = jnp.concatenate([k.rotation, jnp.eye(3, dtype=model.dtype)[None]])
    p = jnp.concatenate([k.position, jnp.zeros((1, 3), model.dtype)])
    R, p = take(R, bodies), take(p, bodies)
    return (
        product(R, rotations(tree.frame_quaternion)),
        p + product(R, tree.frame_position[:, :, None])[:, :, 0],
    )

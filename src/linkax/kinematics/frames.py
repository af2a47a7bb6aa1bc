"""Poses, velocities and accelerations of all bodies in world axes."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.joints import AbstractJoint
from linkax.math import quaternion
from linkax.math.materialise import materialise
from linkax.math.quaternion import Quaternion
from linkax.model.abstract import AbstractModel
from linkax.model.constants import (
    constants_of,
    joint_frame_of,
    joint_pose,
    joint_turns,
    mat3,
    transform_of,
    vec3,
)
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, joint_lanes, outward, stack_bodies
from linkax.spatial.motion import NO_MOTION, Motion, combine
from linkax.spatial.transform import NO_TRANSFORM, Transform
from linkax.spatial.vector import Mat3, Vec3, cross


class Kinematics(eqx.Module):
    """Where the bodies are and how they move; world axes, SI units. Rates are None where none were asked for.

    `position`, `velocity` and `acceleration` are of the body-frame origin, `com*` of the centre of mass.
    Accelerations are second derivatives of positions; gravity does not show in them.
    """

    rotation: Float[Array, "nb 3 3"]  # R_WB
    quaternion: Float[Array, "nb 4"]  # (w, x, y, z), continuous in the coordinates
    position: Float[Array, "nb 3"]
    com: Float[Array, "nb 3"]
    angular_velocity: Float[Array, "nb 3"] | None = None
    velocity: Float[Array, "nb 3"] | None = None
    com_velocity: Float[Array, "nb 3"] | None = None
    angular_acceleration: Float[Array, "nb 3"] | None = None
    acceleration: Float[Array, "nb 3"] | None = None
    com_acceleration: Float[Array, "nb 3"] | None = None

    @property
    def angular_velocity_body(self) -> Float[Array, "... 3"] | None:
        """The angular velocity in body axes."""
        if self.angular_velocity is None:
            return None
        return (jnp.swapaxes(self.rotation, -1, -2) * self.angular_velocity[..., None, :]).sum(-1)


class _Attitude(NamedTuple):
    """Constant quaternions of a joint, and its axis frame, for the quaternion of a body."""

    parent: Quaternion  # of F in the parent body
    axis: Mat3  # canonical joint frame to F
    child: Quaternion  # of the body in M


class _Frame(NamedTuple):
    """A body's frame K in the world, and the motion of K's origin, world axes; None where not asked for."""

    pose: Transform
    attitude: Quaternion  # of the body frame, not of K
    rate: Motion | None
    second: Motion | None


def _attitudes(model: Model) -> _Attitude:
    def unit(x):
        return quaternion.normalized(Quaternion(*(x[:, k] for k in range(4))))

    child = quaternion.conjugate(unit(model.child_quaternion))
    turn = mat3(joint_turns(model))
    return materialise(_Attitude(unit(model.parent_quaternion), turn, child))


def _move(joint: type[AbstractJoint], parent: _Frame, x):
    """Outward: a body's frame and its motion from its parent's."""
    row, fixed, q, v, a = x
    at = joint_frame_of(row)
    up = joint_pose(joint, at, q)
    R = materialise(parent.pose.rotation @ up.rotation)
    arm = parent.pose.rotation @ up.translation
    attitude = materialise(_attitude(parent.attitude, fixed, joint.attitude(q, at.travel)))
    frame = _Frame(Transform(R, parent.pose.translation + arm), attitude, None, None)
    if v is not None and parent.rate is not None:
        S = joint.subspace(q, at.travel)
        across = _in_world(R, combine(S, v))
        rate = Motion(
            parent.rate.angular + across.angular,
            parent.rate.linear + cross(parent.rate.angular, arm) + across.linear,
        )
        frame = frame._replace(rate=rate)
        if a is not None and parent.second is not None:
            own = _in_world(R, combine(S, a) + joint.bias(q, v, at.travel))
            frame = frame._replace(second=_second(parent.rate, parent.second, arm, across, own))
    frame = materialise(frame)
    return frame, frame


def _attitude(parent: Quaternion, fixed: _Attitude, turn: Quaternion) -> Quaternion:
    """The quaternion of a body from its parent's, through the joint's frames."""
    about = fixed.axis @ Vec3(turn.x, turn.y, turn.z)
    in_parent = quaternion.product(fixed.parent, Quaternion(turn.w, *about))
    return quaternion.product(parent, quaternion.product(in_parent, fixed.child))


def _in_world(R: Mat3, m: Motion) -> Motion:
    return Motion(R @ m.angular, R @ m.linear)


def _second(rate: Motion, second: Motion, arm: Vec3, across: Motion, own: Motion) -> Motion:
    """The accelerations of K's origin: the time derivative of its velocities, term by term.

    `rate` and `second` are the parent's, `across` the velocity across the joint, `own` its componentwise
    derivative in K.
    """
    w = rate.angular
    turned = cross(
        w + across.angular, across.linear
    )  # the slide is carried round by the body itself
    swept = cross(second.angular, arm) + cross(w, cross(w, arm) + across.linear)
    return Motion(
        second.angular + own.angular + cross(w, across.angular),
        second.linear + own.linear + swept + turned,
    )


def _ground(moving: bool, accelerating: bool) -> _Frame:
    return _Frame(
        NO_TRANSFORM,
        quaternion.IDENTITY,
        NO_MOTION if moving else None,
        NO_MOTION if accelerating else None,
    )


def body_frames(model: Model, q: Array, v: Array | None, a: Array | None) -> list[_Frame]:
    """The frames K of all bodies of the spanning tree, run by run."""
    topology = model.topology

    def lanes(x, slots):
        return [None] * len(topology.runs) if x is None else joint_lanes(topology, x, slots)

    xs = zip(
        body_lanes(topology, constants_of(model).placement),
        body_lanes(topology, _attitudes(model)),
        joint_lanes(topology, q, topology.q_slots),
        lanes(v, topology.v_slots),
        lanes(a, topology.v_slots),
        strict=True,
    )
    ground = _ground(v is not None, a is not None)
    return outward(topology, _move, ground, list(xs), model.dtype)


def matrix(R: Mat3) -> Array:
    """A struct of nine arrays as one array (..., 3, 3)."""
    return jnp.stack(R, axis=-1).reshape(*R.xx.shape, 3, 3)


def kinematics(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"] | None = None,
    a: Float[Array, " nv"] | None = None,
) -> Kinematics:
    """Poses of all bodies, their velocities if v is given, their accelerations if a is given too.

    Args:
        model: the tree.
        q, v, a: coordinates, speeds, rates of the speeds.
    """
    q, v, a = conform(model, q=q, v=v, a=a)
    if v is None and a is not None:
        raise ValueError("Accelerations need speeds: `kinematics` got `a` without `v`.")
    tree = model.tree
    tree_v = None if v is None else model.tree_speeds(q, v)
    tree_a = None if a is None or v is None else model.tree_accelerations(q, v, a)
    frames = body_frames(tree, model.tree_coordinates(q), tree_v, tree_a)
    in_frame = transform_of(constants_of(tree).frame)
    return _of_bodies(tree, _in_body_order(tree, frames), in_frame)


def _in_body_order(model: Model, frames: list[_Frame]) -> _Frame:
    if not frames:  # everything is welded to the ground
        return jax.tree.map(lambda _: jnp.zeros((0,), model.dtype), _ground(True, True))
    return jax.tree.map(lambda *lanes: stack_bodies(model.topology, lanes), *frames)


def _of_bodies(model: Model, frames: _Frame, in_frame: Transform) -> Kinematics:
    """Body frames and centres of mass from the frames K."""
    body = materialise(frames.pose @ in_frame)
    origin_arm = body.translation - frames.pose.translation
    com_arm = body.rotation @ vec3(model.com)
    results: list[Array | None] = []

    def stacked(x: Vec3) -> Array:
        return jnp.stack(x, axis=-1)

    if frames.rate is not None:
        w = frames.rate.angular
        velocity = frames.rate.linear + cross(w, origin_arm)
        results += [stacked(w), stacked(velocity), stacked(velocity + cross(w, com_arm))]
        if frames.second is not None:
            alpha = frames.second.angular

            def swept(arm):
                return cross(alpha, arm) + cross(w, cross(w, arm))

            acceleration = frames.second.linear + swept(origin_arm)
            results += [
                stacked(alpha),
                stacked(acceleration),
                stacked(acceleration + swept(com_arm)),
            ]
    results += [None] * (6 - len(results))
    return Kinematics(
        matrix(body.rotation),
        jnp.stack(frames.attitude, axis=-1),
        stacked(body.translation),
        stacked(body.translation + com_arm),
        *results,
    )

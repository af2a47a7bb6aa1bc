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
from linkax.model import coordinates
from linkax.model.constants import (
    joint_frame_of,
    joint_pose,
    joint_turns,
    mat3,
    packed_constants,
    transform_of,
    vec3,
)
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, joint_lanes, outward, stack_bodies
from linkax.spatial.motion import combine
from linkax.spatial.transform import NO_TRANSFORM, Transform
from linkax.spatial.vector import ZERO, Mat3, Vec3, cross


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
    def angular_velocity_body(self) -> Float[Array, "nb 3"] | None:
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
    """A body's frame K in the world; motion of K's origin. None where not asked for."""

    pose: Transform
    attitude: Quaternion  # of the body frame, not of K
    angular: Vec3 | None
    linear: Vec3 | None
    angular_rate: Vec3 | None
    linear_rate: Vec3 | None


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
    S = joint.subspace(q, at.pitch)
    up = joint_pose(joint, at, q)
    R = materialise(parent.pose.rotation @ up.rotation)
    arm = parent.pose.rotation @ up.translation
    turn = joint.attitude(q)
    about = fixed.axis @ Vec3(turn.x, turn.y, turn.z)
    attitude = quaternion.product(parent.attitude, fixed.parent)
    attitude = quaternion.product(attitude, Quaternion(turn.w, *about))
    attitude = materialise(quaternion.product(attitude, fixed.child))
    frame = _Frame(
        Transform(R, parent.pose.translation + arm), attitude, None, None, None, None
    )
    if v is not None:
        relative = combine(S, v)
        spin, slide = R @ relative.angular, R @ relative.linear
        swept = cross(parent.angular, arm)
        frame = frame._replace(
            angular=parent.angular + spin, linear=parent.linear + swept + slide
        )
        if a is not None:
            own = combine(S, a) + joint.bias(q, v, at.pitch)
            frame = frame._replace(
                angular_rate=parent.angular_rate + R @ own.angular + cross(parent.angular, spin),
                linear_rate=parent.linear_rate
                + cross(parent.angular_rate, arm)
                + cross(parent.angular, swept + slide)
                + R @ own.linear
                + cross(frame.angular, slide),
            )
    frame = materialise(frame)
    return frame, frame


def _ground(model: Model, moving: bool, accelerating: bool) -> _Frame:
    def number(x):
        return jnp.asarray(x, model.dtype)

    still = jax.tree.map(number, ZERO)
    pose = jax.tree.map(number, NO_TRANSFORM)
    attitude = Quaternion(*(number(x) for x in (1, 0, 0, 0)))
    rate, second = (still if moving else None), (still if accelerating else None)
    return _Frame(pose, attitude, rate, rate, second, second)


def body_frames(model: Model, q: Array, v: Array | None, a: Array | None) -> list[_Frame]:
    """The frames K of all bodies of the spanning tree, run by run."""
    topology = model.topology

    def lanes(x, slots):
        return [None] * len(topology.runs) if x is None else joint_lanes(topology, x, slots)

    xs = zip(
        body_lanes(topology, packed_constants(model).placement),
        body_lanes(topology, _attitudes(model)),
        joint_lanes(topology, q, topology.q_slots),
        lanes(v, topology.v_slots),
        lanes(a, topology.v_slots),
        strict=True,
    )
    return outward(topology, _move, _ground(model, v is not None, a is not None), list(xs))


def matrix(R: Mat3) -> Array:
    """A struct of nine arrays as one array (..., 3, 3)."""
    return jnp.stack(R, axis=-1).reshape(*R.xx.shape, 3, 3)


def kinematics(
    model: Model,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"] | None = None,
    a: Float[Array, " nv"] | None = None,
) -> Kinematics:
    """Poses of all bodies, their velocities if v is given, their accelerations if a is given too.

    Args:
        model: the tree.
        q, v, a: coordinates, speeds, rates of the speeds.
    """
    t = model.topology
    if v is None and a is not None:
        raise ValueError("Accelerations need speeds: `kinematics` got `a` without `v`.")
    tree_q = coordinates.expand(t, q, model.ratio, model.offset, "nq")
    tree_v = None if v is None else coordinates.expand(t, v, model.ratio, None, "nv")
    tree_a = None if a is None else coordinates.expand(t, a, model.ratio, None, "nv")
    frames = _in_body_order(model, body_frames(model, tree_q, tree_v, tree_a))
    return _of_bodies(model, frames, transform_of(packed_constants(model).frame))


def _in_body_order(model: Model, frames: list[_Frame]) -> _Frame:
    return jax.tree.map(lambda *lanes: stack_bodies(model.topology, lanes), *frames)


def _of_bodies(model: Model, frames: _Frame, in_frame: Transform) -> Kinematics:
    """Body frames and centres of mass from the frames K."""
    body = materialise(frames.pose @ in_frame)
    origin_arm = body.translation - frames.pose.translation
    com_arm = body.rotation @ vec3(model.com)
    results: list[Array | None] = []

    def stacked(x: Vec3) -> Array:
        return jnp.stack(x, axis=-1)

    if frames.angular is None or frames.linear is None:
        results += [None] * 3
    else:
        w = frames.angular
        velocity = frames.linear + cross(w, origin_arm)
        results += [stacked(w), stacked(velocity), stacked(velocity + cross(w, com_arm))]
        if frames.angular_rate is not None and frames.linear_rate is not None:
            alpha = frames.angular_rate

            def swept(arm):
                return cross(alpha, arm) + cross(w, cross(w, arm))

            acceleration = frames.linear_rate + swept(origin_arm)
            results += [stacked(alpha), stacked(acceleration), stacked(acceleration + swept(com_arm))]
    results += [None] * (6 - len(results))
    return Kinematics(
        matrix(body.rotation),
        jnp.stack(frames.attitude, axis=-1),
        stacked(body.translation),
        stacked(body.translation + com_arm),
        *results,
    )

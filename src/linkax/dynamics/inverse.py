"""Inverse dynamics: the generalised forces of a motion (recursive Newton-Euler)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.joints import AbstractJoint
from linkax.math.materialise import materialise
from linkax.math.scalar import Scalar, add, is_zero, multiply
from linkax.model.abstract import AbstractModel
from linkax.model.constants import (
    Columns,
    Constants,
    JointFrame,
    constants_of,
    entries,
    inertia_of,
    joint_frame_of,
    joint_pose,
    restored_pose,
    transform_of,
    vec3,
)
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, inward, joint_lanes, outward, stack_joints
from linkax.spatial.motion import (
    NO_FORCE,
    NO_MOTION,
    Force,
    Motion,
    combine,
    cross_force,
    cross_motion,
    power,
)
from linkax.spatial.transform import NO_TRANSFORM, Transform
from linkax.spatial.vector import ZERO, Vec3


Scalars = tuple[Scalar, ...]


class JointState(NamedTuple):
    """One joint's numbers; structural zeros where the caller has none."""

    q: Scalars
    v: Scalars
    a: Scalars
    armature: Scalars


class Moving(NamedTuple):
    """What the children of a body need to know of it."""

    velocity: Motion
    acceleration: Motion | None  # less the acceleration of free fall; None where it is not needed
    pose: Transform | None  # X_WK, or None where no world-frame wrench asks for it


def motion_ground(model: Model, gravity: bool, posed: bool) -> Moving:
    """The ground as the outward pass sees it: at rest, accelerating upwards against gravity."""
    rising = Motion(ZERO, -vec3(model.gravity)) if gravity else NO_MOTION
    return Moving(NO_MOTION, rising, NO_TRANSFORM if posed else None)


def stored_pose(
    joint: type[AbstractJoint], at: JointFrame, q: Scalars, parent: Moving
) -> Transform:
    """`joint_pose` with a stored rotation, except on the ground, where it turns gravity only."""
    X = joint_pose(joint, at, q)
    on_ground = is_zero(parent.velocity.angular.x)
    return X if on_ground else X._replace(rotation=materialise(X.rotation))


class Push(NamedTuple):
    """An external wrench on a body, and the frame that it is given at."""

    wrench: Scalars  # [torque about the body-frame origin; force], world axes
    frame: Columns  # `Constants.frame` of the body


def pushed(push: Push, pose: Transform) -> Force:
    """The wrench as a force at K's origin in K's axes, K being at `pose` in the world."""
    back = pose.rotation.transposed
    turned = Force(back @ Vec3(*push.wrench[:3]), back @ Vec3(*push.wrench[3:]))
    origin = transform_of(push.frame).translation
    return Transform(NO_TRANSFORM.rotation, origin).force_to_parent(turned)


def net_force(joint: type[AbstractJoint], parent: Moving, x):
    """Outward: a body's motion from its parent's, and the force that this motion takes."""
    row, body, state, push = x
    at, inertia = joint_frame_of(row), inertia_of(body)
    S = joint.subspace(state.q, at.travel)
    X = stored_pose(joint, at, state.q, parent)
    relative = combine(S, state.v)
    velocity = materialise(X.motion_to_child(parent.velocity) + relative)
    change = joint.bias(state.q, state.v, at.travel) + cross_motion(velocity, relative)
    assert parent.acceleration is not None
    acceleration = X.motion_to_child(parent.acceleration) + combine(S, state.a) + change
    acceleration = materialise(acceleration)
    force = inertia @ acceleration + cross_force(velocity, inertia @ velocity)
    pose = parent.pose
    if push is not None and parent.pose is not None:
        pose = parent.pose @ X
        force = force - pushed(push, pose)
    return Moving(velocity, acceleration, pose), (X.rotation, force)


def _joint_force(joint: type[AbstractJoint], children: Force, x):
    """Inward: what a body and all that it carries ask of the joint."""
    row, state, (rotation, force) = x
    at = joint_frame_of(row)
    force = materialise(force + children)
    X = restored_pose(joint, at, state.q, rotation)
    S = joint.subspace(state.q, at.travel)
    tau = tuple(
        add(power(s, force), multiply(rotor, acceleration))
        for s, rotor, acceleration in zip(S, state.armature, state.a, strict=True)
    )
    return X.force_to_parent(force), tau


def tree_inverse_dynamics(
    model: Model,
    q: Float[Array, " tree_nq"],
    v: Float[Array, " tree_nv"] | None,
    a: Float[Array, " tree_nv"] | None,
    wrenches: Float[Array, "nb 6"] | None,
    gravity: bool = True,
) -> Float[Array, " tree_nv"]:
    """Inverse dynamics on the spanning tree, mimic joints free; `None` is structurally zero."""
    topology = model.topology
    constants = constants_of(model)
    rows, bodies = (
        body_lanes(topology, constants.placement),
        body_lanes(topology, constants.inertia),
    )

    def lanes(x, slots):
        if x is None:
            return [(0,) * run.joint.nv for run in topology.runs]
        return joint_lanes(topology, x, slots)

    parts = (lanes(q, topology.q_slots), lanes(v, topology.v_slots), lanes(a, topology.v_slots))
    rotors = lanes(model.armature, topology.v_slots)
    states = [JointState(*part) for part in zip(*parts, rotors, strict=True)]
    pushes = push_lanes(model, constants, wrenches)
    ground = motion_ground(model, gravity, wrenches is not None)
    xs = list(zip(rows, bodies, states, pushes, strict=True))
    moved = outward(topology, net_force, ground, xs, model.dtype)
    zero = jax.tree.map(lambda _: jnp.zeros((), model.dtype), NO_FORCE)
    tau = inward(topology, _joint_force, zero, list(zip(rows, states, moved, strict=True)))
    return stack_joints(topology, tau, topology.v_slots, model.dtype)


def push_lanes(
    model: Model, constants: Constants, wrenches: Float[Array, "nb 6"] | None
) -> list[Push | None]:
    """External wrenches cut into runs, or None a run."""
    if wrenches is None:
        return [None] * len(model.topology.runs)
    return body_lanes(model.topology, Push(entries(wrenches), constants.frame))


def inverse_dynamics(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> Float[Array, " nv"]:
    """The generalised forces tau that give the model the accelerations a: M a + bias - J^T wrenches.

    Knows inertia, armature and gravity only.

    Args:
        model: the tree.
        q, v, a: coordinates, speeds, rates of the speeds.
        wrenches: on each body, [torque about the body-frame origin; force], world axes [N m, N].

    Source: Luh, Walker, Paul 1980; Featherstone 2008, section 5.3.
    """
    q, v, a, wrenches = conform(model, q=q, v=v, a=a, wrenches=wrenches)
    model = model.at(q)
    tau = tree_inverse_dynamics(
        model.tree,
        model.tree_coordinates(q),
        model.tree_speeds(q, v),
        model.tree_accelerations(q, v, a),
        wrenches,
    )
    return model.project(q, tau)


def bias_force(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> Float[Array, " nv"]:
    """The part of the inverse dynamics without accelerations: velocity terms and gravity."""
    q, v, wrenches = conform(model, q=q, v=v, wrenches=wrenches)
    model = model.at(q)
    # What the dependent joints of an embedded loop do while the independent speeds stay as they are.
    turning = None if model.nodes is None else model.tree_accelerations(q, v, None)
    tau = tree_inverse_dynamics(
        model.tree, model.tree_coordinates(q), model.tree_speeds(q, v), turning, wrenches
    )
    return model.project(q, tau)


def gravity_force(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, " nv"]:
    """The generalised forces that hold the model still at q: `bias_force` at v = 0."""
    (q,) = conform(model, q=q)
    tau = tree_inverse_dynamics(model.tree, model.tree_coordinates(q), None, None, None)
    return model.project(q, tau)

"""Between minimal and maximal coordinates: a Model as a Mechanism, and states both ways."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from linkax.constraints.model_rows import mimic_rows, rows_of
from linkax.constraints.rows import NO_CONSTRAINTS, Constraints, in_order
from linkax.joints import AbstractJoint, Travel
from linkax.kinematics.bodies import (
    Poses,
    State,
    of_bodies,
    poses,
    with_ground,
)
from linkax.math import ldl, quaternion
from linkax.math.quaternion import Quaternion
from linkax.math.scalar import add
from linkax.math.stacks import apply, apply_transposed, cross, product, transposed
from linkax.model import Model, coordinates
from linkax.model.constants import mat3, travels, vec3
from linkax.spatial.motion import Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import dot


def joint_rows(model: Model) -> Constraints:
    """The joints of a model as rows, in the order of the bodies, then the couplings of mimic joints.

    Raises:
        ValueError: for armature, which no body in maximal coordinates carries; where it is traced it
            cannot be seen, and is not acted on.
    """
    _check_armature(model)
    joints = model.topology.joints
    owned = tuple(b for b, joint in enumerate(joints) if joint.locked_rows() > 0)
    if not owned:
        return NO_CONSTRAINTS
    return in_order([rows_of(model, owned), *mimic_rows(model)])


def _check_armature(model: Model) -> None:
    """Refuses what would be lost without a word."""
    if isinstance(model.armature, Tracer):
        return
    armature = np.asarray(model.armature)
    if not armature.any():
        return
    speed = int(np.flatnonzero(armature)[0])
    joint = int(np.searchsorted(model.topology.v_slots.start, speed, side="right")) - 1
    raise ValueError(
        f"Joint `{model.topology.joint_names[joint]}` has armature (reflected rotor inertia) "
        f"{armature[speed]:g}, which no body in maximal coordinates carries; set it to zero, "
        'describe the rotor as a [[drive]], or use formulation="tree".'
    )


def to_tree(
    model: Model, state: State, near: Float[Array, " nq"]
) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """Minimal coordinates and speeds of bodies whose poses and velocities the joints allow.

    Where they do not quite, each joint's coordinates are those of the freedoms that it has: the rest is
    ignored. `near` tells angles that differ by turns and quaternions that differ by sign apart.
    """
    return tree_coordinates(model, state, near), tree_speeds(model, state)


def tree_coordinates(model: Model, state: State, near: Float[Array, " nq"]) -> Float[Array, " nq"]:
    """The first half of `to_tree`."""
    at = with_ground(poses(state.position, state.orientation))
    parts: dict[int, tuple] = {}
    expanded = coordinates.expand(model.topology, near, model.ratio, model.offset, "nq")
    start = model.topology.q_slots.start
    for joint, owned in model.topology.classes:
        between = joint_between(model, joint, owned, at)
        held = [expanded[np.asarray([start[b] + k for b in owned])] for k in range(joint.nq)]
        found = joint.coordinates(between.pose, between.attitude, tuple(held), between.travel)
        for i, body in enumerate(owned):
            parts[body] = tuple(x[i] for x in found)
    return _stacked(model, parts)


def tree_speeds(model: Model, state: State) -> Float[Array, " nv"]:
    """The second half of `to_tree`: of each joint's relative motion, the part along its freedoms."""
    at = with_ground(poses(state.position, state.orientation))
    still = jnp.zeros((1, 3), model.dtype)
    w = jnp.concatenate([apply(at.rotation[:-1], state.angular_velocity), still])
    v = jnp.concatenate([state.velocity, still])
    expected = tree_coordinates(model, state, model.neutral())
    whole = coordinates.expand(model.topology, expected, model.ratio, model.offset, "nq")
    parts: dict[int, tuple] = {}
    for joint, owned in model.topology.classes:
        if joint.nv == 0:
            parts.update(dict.fromkeys(owned, ()))
            continue
        between = joint_between(model, joint, owned, at)
        columns, gram = joint_gram(model, joint, owned, between, whole)
        moving = _relative_motion(between, w, v)
        # Least squares over a joint's freedoms.
        right = [_full(model, owned, power(column, moving)) for column in columns]
        found = ldl.solve(ldl.factor(gram), right)
        for i, body in enumerate(owned):
            parts[body] = tuple(x[i] for x in found)
    return _stacked(model, parts)


class JointBetween(NamedTuple):
    """Joints of one type, and where their frames are."""

    pose: Transform  # X_FM
    attitude: Quaternion
    travel: Travel
    child: np.ndarray  # indices
    parent: np.ndarray
    M: Float[Array, "k 3 3"]  # axes of M in the world
    arm_child: Float[Array, "k 3"]  # from the child's centre of mass to M's origin, world axes
    arm_parent: Float[Array, "k 3"]  # from the parent's centre of mass to M's origin, world axes


def joint_between(model: Model, joint: type[AbstractJoint], owned, at: Poses) -> JointBetween:
    rows = rows_of(model, owned)
    pair = of_bodies(at, rows.bodies)
    F, M, p, r_parent = rows.frames(pair)
    index = np.asarray(owned)
    unit = lambda x: quaternion.normalized(Quaternion(*(x[:, k] for k in range(4))))
    outer = quaternion.product(unit(pair.orientation[:, 0]), unit(model.parent_quaternion[index]))
    inner = quaternion.product(unit(pair.orientation[:, 1]), unit(model.child_quaternion[index]))
    travel = travels(model)[index]
    return JointBetween(
        Transform(mat3(product(transposed(F), M)), vec3(apply_transposed(F, p))),
        quaternion.product(quaternion.conjugate(outer), inner),
        Travel(travel[:, 0], travel[:, 1]),
        index,
        np.asarray([a for a, _ in rows.bodies]),
        M,
        apply(pair.rotation[:, 1], rows.child_point),
        r_parent + p,
    )


def _relative_motion(between: JointBetween, w, v) -> Motion:
    """The motion of M in F, in M's axes."""
    i, j = between.child, between.parent
    turning = w[i] - w[j]
    of_child = v[i] + cross(w[i], between.arm_child)
    of_parent = v[j] + cross(w[j], between.arm_parent)
    inside = lambda x: vec3(apply_transposed(between.M, x))
    return Motion(inside(turning), inside(of_child - of_parent))


def joint_gram(model: Model, joint: type[AbstractJoint], owned, between: JointBetween, q):
    """(columns of S, S^T S) of joints at coordinates q of the whole tree; entries are arrays over them."""
    start = model.topology.q_slots.start
    own = tuple(q[np.asarray([start[b] + k for b in owned])] for k in range(joint.nq))
    columns = joint.subspace(own, between.travel)
    return columns, [[_full(model, owned, power(a, b)) for b in columns] for a in columns]


def power(a: Motion, b: Motion):
    """a . b."""
    return add(dot(a.angular, b.angular), dot(a.linear, b.linear))


def _full(model: Model, owned, x) -> Array:
    return jnp.broadcast_to(jnp.asarray(x, model.dtype), (len(owned),))


def _stacked(model: Model, parts: dict[int, tuple]) -> Array:
    numbers = [x for body in model.topology.free_bodies for x in parts[body]]
    return jnp.stack(numbers) if numbers else jnp.zeros((0,), model.dtype)

"""Bodies side by side in world axes: a few kernels for a whole tree, whatever its joints.

Recursions over bodies (`model.traverse`) are what runs fastest in batches of open trees; but bodies of mixed
joint types cost 60 to 130 kernels each to compile, and a mechanism with loops needs many passes in a program.
Here only the rotations go down the tree, level by level; all other sums over what carries what are products
with constant matrices of zeros and ones. The work grows with the square of the number of bodies, at six
multiply-adds a pair.

Vectors of motion and force are [angular; linear] about the point of reference of each body's tree, the frame
K of its root, so that a machine far from the origin keeps its digits.
"""

import functools as ft
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.joints import Travel
from linkax.kinematics.bodies import Poses
from linkax.math.rotations import matrix_to_quaternion
from linkax.math.scalar import is_zero
from linkax.math.stacks import apply, cross, product
from linkax.model import Model
from linkax.model.constants import constants_of, travels
from linkax.model.topology import Slots, Topology
from linkax.solve.block_sparse import gathered


class Placed(NamedTuple):
    """A tree at one q."""

    rotation: Float[Array, "nb 3 3"]  # R_WB
    com: Float[Array, "nb 3"]  # centres of mass, from the points of reference [m]
    origin: Float[Array, "nb 3"]  # of the body frames, likewise
    reference: Float[Array, "nb 3"]  # the points of reference, in the world [m]
    motions: Float[Array, "tree_nv 6"]  # what each speed gives all that it carries
    joint_rotation: Float[Array, "nb 3 3"]  # of the frames K at the joints
    joint_origin: Float[Array, "nb 3"]  # of K's, from the points of reference [m]

    @property
    def poses(self) -> Poses:
        """Of the centres of mass."""
        return Poses(self.reference + self.com, matrix_to_quaternion(self.rotation), self.rotation)


class Carries(NamedTuple):
    """Constant matrices of a topology."""

    speeds: np.ndarray  # (nb, tree_nv): the speed moves the body
    bodies: np.ndarray  # (nb, nb): the column's body carries the row's, or is it
    own: np.ndarray  # (nb, tree_nv): the speed is of the body's own joint


@ft.lru_cache(maxsize=256)
def carries_of(topology: Topology) -> Carries:
    """Who moves whom."""
    nb, counts = topology.nb, topology.v_slots.width
    bodies = np.zeros((nb, nb))
    for body, path in enumerate(topology.ancestors):
        bodies[body, list(path)] = 1.0
    return Carries(np.repeat(bodies, counts, 1), bodies, np.repeat(np.eye(nb), counts, 1))


def summed(matrix: np.ndarray, x: Float[Array, "n ..."]) -> Float[Array, "m ..."]:
    """A constant matrix of zeros and ones times a stack of vectors."""
    flat = x.reshape(x.shape[0], -1)
    total = jnp.matmul(jnp.asarray(matrix, x.dtype), flat, precision=lax.Precision.HIGHEST)
    return total.reshape(matrix.shape[0], *x.shape[1:])


def place(tree: Model, tree_q: Float[Array, " tree_nq"]) -> Placed:
    """Where the bodies are and what their joints can do."""
    topology, dtype = tree.topology, tree.dtype
    constants = constants_of(tree)
    R_F, p_F = _transforms(constants.placement, dtype)
    joints = _joints(tree, tree_q)
    R_up = product(R_F, joints.rotation)
    p_up = p_F + apply(R_F, joints.translation)
    R, p, first = _down(topology, R_up, p_up)
    R_KB, p_KB = _transforms(constants.frame, dtype)
    rotation = product(R, R_KB)
    origin = p + apply(R, p_KB)
    owner = np.repeat(np.arange(topology.nb), topology.v_slots.width)
    motions = _at_reference(gathered(R, owner), gathered(p, owner), joints.motions)
    com = origin + apply(rotation, tree.com)
    return Placed(rotation, com, origin, first, motions, R, p)


class _Joints(NamedTuple):
    rotation: Float[Array, "nb 3 3"]  # of X_FM
    translation: Float[Array, "nb 3"]
    motions: Float[Array, "tree_nv 6"]  # columns of S, in the joints' frames


def _joints(tree: Model, q: Array) -> _Joints:
    """What each joint class says of its joints, side by side."""
    topology, dtype = tree.topology, tree.dtype
    travel = travels(tree)
    poses, motions, bodies, speeds = [], [], [], []
    for joint, owned in topology.classes:
        index = np.asarray(owned)
        own = Travel(travel[index, 0], travel[index, 1])
        at = _entries(q, topology.q_slots, owned, joint.nq)
        X = joint.transform(at, own)
        poses.append(_side_by_side((*X.rotation, *X.translation), len(owned), dtype))
        bodies += owned
        for k, s in enumerate(joint.subspace(at, own)):
            motions.append(_side_by_side((*s.angular, *s.linear), len(owned), dtype))
            speeds += [topology.v_slots.start[b] + k for b in owned]
    by_body, by_speed = np.argsort(bodies), np.argsort(speeds)
    pose = gathered(jnp.concatenate(poses), by_body)
    columns = jnp.concatenate([jnp.zeros((0, 6), dtype), *motions])
    return _Joints(
        pose[:, :9].reshape(-1, 3, 3),
        pose[:, 9:],
        gathered(columns, by_speed) if len(speeds) else columns,
    )


def _entries(x: Array, slots: Slots, owned, count: int) -> tuple[Float[Array, " k"], ...]:
    """Each entry of some joints, side by side."""
    return tuple(gathered(x, [slots.start[b] + k for b in owned]) for k in range(count))


def _side_by_side(entries, count: int, dtype) -> Float[Array, "k n"]:
    """Numbers and lanes as the columns of an array."""
    full = [jnp.broadcast_to(jnp.asarray(x, dtype), (count,)) for x in entries]
    return jnp.stack(full, axis=-1)


def _changes(tree: Model, at: Placed, q: Array, v: Array) -> Float[Array, "nb 6"]:
    """The accelerations across the joints by the change of their own motion subspaces."""
    topology, dtype = tree.topology, tree.dtype
    total = jnp.zeros((topology.nb, 6), dtype)
    travel = travels(tree)
    for joint, owned in topology.classes:
        index = np.asarray(owned)
        coordinates = _entries(q, topology.q_slots, owned, joint.nq)
        rates = _entries(v, topology.v_slots, owned, joint.nv)
        c = joint.bias(coordinates, rates, Travel(travel[index, 0], travel[index, 1]))
        entries = (*c.angular, *c.linear)
        if all(is_zero(x) for x in entries):
            continue
        own = _side_by_side(entries, len(owned), dtype)
        moved = _at_reference(at.joint_rotation[index], at.joint_origin[index], own)
        total = total.at[index].add(moved)
    return total


def _transforms(columns, dtype) -> tuple[Float[Array, "nb 3 3"], Float[Array, "nb 3"]]:
    whole = jnp.stack([jnp.asarray(c, dtype) for c in columns[:12]], axis=-1)
    return whole[:, :9].reshape(-1, 3, 3), whole[:, 9:]


def _down(topology: Topology, R_up, p_up):
    """(rotations; positions from the root; the root's position), body by body."""
    roots = np.asarray([path[0] for path in topology.ancestors])
    R = p = None
    found, order = [], []
    for own, hung in topology.levels:
        turn, arm = gathered(R_up, own), gathered(p_up, own)
        if R is None or p is None:
            R, p = turn, jnp.zeros_like(arm)
        else:
            R_parent = gathered(R, hung)
            R, p = product(R_parent, turn), gathered(p, hung) + apply(R_parent, arm)
        found.append((R, p))
        order += own
    back = np.argsort(order)
    whole = [gathered(jnp.concatenate([x[i] for x in found]), back) for i in range(2)]
    return whole[0], whole[1], gathered(p_up, roots)


def _at_reference(R: Array, p: Array, motions: Array) -> Array:
    """Motions in the joints' frames, in world axes about the point of reference."""
    angular, linear = apply(R, motions[:, :3]), apply(R, motions[:, 3:])
    return jnp.concatenate([angular, linear + cross(p, angular)], axis=-1)


class Moving(NamedTuple):
    """A tree at one (q, v, a)."""

    velocity: Float[Array, "nb 6"]
    acceleration: Float[
        Array, "nb 6"
    ]  # spatial: the rate of the velocity at the point of reference, held


def move(
    tree: Model,
    at: Placed,
    tree_q: Float[Array, " tree_nq"],
    tree_v: Float[Array, " tree_nv"],
    tree_a: Float[Array, " tree_nv"] | None = None,
) -> Moving:
    """Velocities and accelerations of all bodies; tree_a is zero if None."""
    carries = carries_of(tree.topology)
    across = at.motions * tree_v[:, None]
    velocity = summed(carries.speeds, across)
    change = motion_cross(velocity, summed(carries.own, across)) + _changes(
        tree, at, tree_q, tree_v
    )
    acceleration = summed(carries.bodies, change)
    if tree_a is not None:
        acceleration = acceleration + summed(carries.speeds, at.motions * tree_a[:, None])
    return Moving(velocity, acceleration)


def motion_cross(a: Float[Array, "n 6"], b: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """a x b of motions (Featherstone 2008, equation 2.31)."""
    angular = cross(a[:, :3], b[:, :3])
    linear = cross(a[:, :3], b[:, 3:]) + cross(a[:, 3:], b[:, :3])
    return jnp.concatenate([angular, linear], axis=-1)


def force_cross(a: Float[Array, "n 6"], f: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """a x* f of a motion and a force (Featherstone 2008, equation 2.32)."""
    angular = cross(a[:, :3], f[:, :3]) + cross(a[:, 3:], f[:, 3:])
    return jnp.concatenate([angular, cross(a[:, :3], f[:, 3:])], axis=-1)


def of_centres(at: Placed, moving: Moving):
    """(velocities, accelerations) of the centres of mass, classical ones, world axes: four arrays (nb, 3).

    Angular velocity, velocity, angular acceleration, acceleration.
    """
    w, v0 = moving.velocity[:, :3], moving.velocity[:, 3:]
    alpha, a0 = moving.acceleration[:, :3], moving.acceleration[:, 3:]
    v = v0 + cross(w, at.com)
    return w, v, alpha, a0 + cross(alpha, at.com) + cross(w, v)

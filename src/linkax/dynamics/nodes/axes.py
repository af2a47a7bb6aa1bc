"""All bodies in common axes: the world's, about the root body of each tree.

Motions and forces of different bodies then add up as they are, whatever hangs on what. Bodies of different
trees have points of reference of their own; they meet only on the ground, whose acceleration is the same
everywhere.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.kinematics.frames import body_frames
from linkax.kinematics.jacobians import motion_columns
from linkax.math.materialise import materialise
from linkax.math.stacks import apply, cross
from linkax.model.abstract import AbstractModel
from linkax.model.constants import constants_of, inertia_of, transform_of
from linkax.model.traverse import stack_bodies
from linkax.spatial.inertia import articulated
from linkax.spatial.transform import Transform
from linkax.spatial.vector import Vec3


class Placed(NamedTuple):
    """The bodies of the spanning tree at one q."""

    motions: Float[Array, "tree_nv 6"]  # that each speed gives its body and all that it carries
    inertias: Float[Array, "nb 6 6"]
    arms: Float[Array, "nb 3"]  # joint-frame origins M (K) from the point of reference [m]
    frames: Transform  # body frames, lanes (nb,), measured from the point of reference


class Moving(NamedTuple):
    """The bodies at one (q, v)."""

    velocities: Float[Array, "nb 6"]
    drifts: Float[Array, "nb 6"]  # accelerations while the independent speeds are constant


def placed(model: AbstractModel, q: Float[Array, " nq"]) -> Placed:
    """Motion subspaces, inertias and frames of all bodies."""
    tree = model.tree
    columns = motion_columns(tree, model.tree_coordinates(q))
    poses = jax.tree.map(lambda *lanes: stack_bodies(tree.topology, lanes), *columns.poses)
    constants = constants_of(tree)
    inertia = inertia_of(constants.inertia).to_parent(poses)
    frames = poses @ transform_of(constants.frame)
    motions = jnp.stack([*columns.motions.angular, *columns.motions.linear], axis=-1)
    matrices = _matrices(inertia, tree.nb, tree.dtype)
    return materialise(Placed(motions, matrices, stacked(poses.translation), frames))


def _matrices(inertia, nb: int, dtype) -> Float[Array, "nb 6 6"]:
    angular, coupling, linear = articulated(inertia)
    blocks = (angular.full.rows, coupling.rows, coupling.transposed.rows, linear.full.rows)
    entries = [
        x
        for left, right in (blocks[:2], blocks[2:])
        for row in range(3)
        for x in (*left[row], *right[row])
    ]
    whole = [jnp.full((nb,), x, dtype) if isinstance(x, (int, float)) else x for x in entries]
    return jnp.stack(whole, axis=-1).reshape(nb, 6, 6)


def stacked(x: Vec3) -> Float[Array, "nb 3"]:
    """The lanes of a vector as an array."""
    return jnp.stack(x, axis=-1)


def moving(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"], at: Placed
) -> Moving:
    """Velocities, and the accelerations that they alone cause, (dX/dt) v among them.

    Accelerations are spatial ones (Featherstone 2008, section 2.10): the rate of the velocity at the point
    of reference, held in space, a_K - alpha x r - omega x v_K with r from there to K's origin.
    """
    return Moving(*_motion(model, q, v, at, None))


def accelerated(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    at: Placed,
) -> tuple[Float[Array, "nb 6"], Float[Array, "nb 6"]]:
    """(velocities, accelerations) of all bodies when the independent speeds change at the rates a."""
    return _motion(model, q, v, at, a)


def _motion(model: AbstractModel, q, v, at: Placed, a) -> tuple[Array, Array]:
    tree = model.tree
    tree_v, tree_a = model.tree_speeds(q, v), model.tree_accelerations(q, v, a)
    visited = body_frames(tree, model.tree_coordinates(q), tree_v, tree_a)
    frames = jax.tree.map(lambda *lanes: stack_bodies(tree.topology, lanes), *visited)
    w, v_K = stacked(frames.rate.angular), stacked(frames.rate.linear)
    alpha, a_K = stacked(frames.second.angular), stacked(frames.second.linear)
    velocity = jnp.concatenate([w, v_K - cross(w, at.arms)], axis=-1)
    acceleration = a_K - cross(alpha, at.arms) - cross(w, v_K)
    return velocity, jnp.concatenate([alpha, acceleration], axis=-1)


def velocity_forces(at: Placed, velocities: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """v x* (M v), body by body."""
    momentum = apply(at.inertias, velocities)
    w, v = velocities[:, :3], velocities[:, 3:]
    angular, linear = momentum[:, :3], momentum[:, 3:]
    return jnp.concatenate([cross(w, angular) + cross(v, linear), cross(w, linear)], axis=-1)


def placed_wrenches(at: Placed, wrenches: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Wrenches about the body-frame origins, about the points of reference."""
    torque, force = wrenches[:, :3], wrenches[:, 3:]
    origin = stacked(at.frames.translation)
    return jnp.concatenate([torque + cross(origin, force), force], axis=-1)


def rising(model: AbstractModel) -> Float[Array, "6"]:
    """The ground's acceleration that stands for gravity."""
    gravity = model.tree.gravity
    return jnp.concatenate([jnp.zeros_like(gravity), -gravity])

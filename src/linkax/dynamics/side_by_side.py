"""Mass matrix and inverse dynamics of bodies side by side in world axes, for programs of many small passes.

The same quantities as `mass` and `inverse` give, by sums over what carries what instead of recursions; see
`kinematics.side_by_side` for when that pays.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.kinematics.side_by_side import (
    Moving,
    Placed,
    carries_of,
    force_cross,
    summed,
)
from linkax.math.stacks import apply, cross, dot, product, transposed
from linkax.model import Model


class Inertias(NamedTuple):
    """Rigid bodies about the points of reference, world axes."""

    mass: Float[Array, " n"]
    first: Float[Array, "n 3"]  # mass times centre of mass
    second: Float[Array, "n 3 3"]  # rotational inertia

    def __matmul__(self, v: Float[Array, "n 6"]) -> Float[Array, "n 6"]:  # momenta of motions
        angular, linear = v[:, :3], v[:, 3:]
        turning = apply(self.second, angular) + cross(self.first, linear)
        pushing = self.mass[:, None] * linear - cross(self.first, angular)
        return jnp.concatenate([turning, pushing], axis=-1)


def inertias(tree: Model, at: Placed) -> Inertias:
    """Of all bodies."""
    own = 0.5 * (tree.inertia + transposed(tree.inertia))
    central = product(product(at.rotation, own), transposed(at.rotation))
    c, identity = at.com, jnp.eye(3, dtype=tree.dtype)[None]
    square = dot(c, c)[:, None, None] * identity - c[:, :, None] * c[:, None, :]
    return Inertias(tree.mass, tree.mass[:, None] * c, central + tree.mass[:, None, None] * square)


def mass_matrix_at(tree: Model, at: Placed) -> Float[Array, "tree_nv tree_nv"]:
    """The mass matrix of the tree, armature included, by composite bodies."""
    carries = carries_of(tree.topology)
    body = inertias(tree, at)
    carried = Inertias(*(summed(carries.speeds.T, x) for x in body))
    momenta = carried @ at.motions
    S = at.motions
    upper = sum(S[:, k][:, None] * momenta[:, k][None, :] for k in range(6))
    # The row's joint carries the column's: s_i . F_j; the other triangle is its mirror image.
    owner = np.argmax(carries.own, axis=0) if S.shape[0] else np.zeros((0,), int)
    over = carries.bodies[owner][:, owner].T > 0.0
    once = jnp.where(over, upper, 0.0)
    both = over & over.T
    return jnp.where(both, once, once + once.T) + jnp.diag(tree.armature)


def forces_at(
    tree: Model, at: Placed, moving: Moving, wrenches: Float[Array, "nb 6"] | None = None
) -> Float[Array, "nb 6"]:
    """What each body needs for its motion, beside gravity and wrenches: about the points of reference."""
    body = inertias(tree, at)
    rising = jnp.concatenate([jnp.zeros_like(tree.gravity), -tree.gravity])
    force = body @ (moving.acceleration + rising[None])
    force = force + force_cross(moving.velocity, body @ moving.velocity)
    return force if wrenches is None else force - at_reference(at, wrenches)


def at_reference(at: Placed, wrenches: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Wrenches about the body-frame origins, about the points of reference instead."""
    force = wrenches[:, 3:]
    return jnp.concatenate([wrenches[:, :3] + cross(at.origin, force), force], axis=-1)


def joint_forces_at(
    tree: Model, at: Placed, forces: Float[Array, "nb 6"]
) -> Float[Array, " tree_nv"]:
    """The generalised forces that give the bodies these forces."""
    return jnp.sum(at.motions * summed(carries_of(tree.topology).speeds.T, forces), axis=1)

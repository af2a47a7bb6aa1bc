"""Constraint rows: equations g = 0 that poses must satisfy, in groups of one shape.

A group holds k instances of r rows, each between the same number a of bodies. Everything in it lies side by
side: residuals are (k, r), gradients (k, r, a, 6). A gradient's last axis is [rotation vector in the body's
axes; displacement of the centre of mass in world axes]: the wrench, about the centre of mass, by which a unit
multiplier acts on that body.
"""

import abc
import functools as ft
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from linkax.kinematics.bodies import Poses, of_bodies, poses
from linkax.math.rotations import quaternion_multiply
from linkax.math.stacks import apply, apply_transposed, dot
from linkax.solve.block_sparse import added, gathered


GROUND = -1


class AbstractRows(eqx.Module):
    """One group of constraint rows."""

    bodies: eqx.AbstractVar[
        tuple[tuple[int, ...], ...]
    ]  # of each instance; -1 is the ground; static
    rows: eqx.AbstractVar[int]  # of each instance; static
    # Whether the rows are about poses; those that are not (`VelocityRows`) have gradients only.
    integrable: ClassVar[bool] = True

    @property
    def filled(self) -> tuple[int, ...]:
        """How many of its rows each instance uses: the first ones; the others are zero whatever the poses."""
        return (self.rows,) * len(self.bodies)

    @abc.abstractmethod
    def residual(self, t: Float[Array, ""], at: Poses) -> Float[Array, "k r"]:
        """What must vanish, given the poses (k, a) of the instances' bodies."""

    def gradient(self, t: Float[Array, ""], at: Poses) -> Float[Array, "k r a 6"]:
        """The derivative with respect to small turns and displacements of the bodies, by autodiff."""
        return tangent_gradient(ft.partial(self.residual, t), at)


def tangent_gradient(residual, at: Poses) -> Float[Array, "k r a 6"]:
    """The derivative of residual(poses) with respect to [rotation vector, body axes; displacement]."""
    count, arity = at.position.shape[:2]
    basis = jnp.eye(6 * arity, dtype=at.position.dtype).reshape(-1, 1, arity, 6)
    basis = jnp.broadcast_to(basis, (6 * arity, count, arity, 6))

    def at_tangent(d: Float[Array, "k a 6"]):
        half = 0.5 * d[..., :3]
        turn = jnp.concatenate([jnp.sqrt(1.0 - dot(half, half))[..., None], half], axis=-1)
        q = quaternion_multiply(at.orientation, turn)
        return residual(poses(at.position + d[..., 3:], q))

    zero = jnp.zeros((count, arity, 6), at.position.dtype)
    pushed = jax.vmap(lambda d: jax.jvp(at_tangent, (zero,), (d,))[1])(basis)
    return jnp.moveaxis(pushed.reshape(arity, 6, count, -1), (0, 1), (2, 3))


class FunctionRows(AbstractRows):
    """A user's constraint g(t, position, orientation, params) -> (rows,) on all bodies.

    `jacobian(t, position, orientation, params)` may give its derivative (rows, 6 n) in document 002's form:
    for each body three displacements, then the three components e of the turn q (x) (sqrt(1 - e.e), e).
    """

    function: Callable[..., Any] = eqx.field(static=True)
    jacobian: Callable[..., Any] | None = eqx.field(static=True)
    params: PyTree
    bodies: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    rows: int = eqx.field(static=True)

    def residual(self, t, at):
        """g."""
        return self.function(t, at.position[0], at.orientation[0], self.params)[None]

    def gradient(self, t, at):
        """The user's Jacobian where there is one."""
        if self.jacobian is None:
            return tangent_gradient(ft.partial(self.residual, t), at)
        n = len(self.bodies[0])
        given = self.jacobian(t, at.position[0], at.orientation[0], self.params)
        # A rotation vector is twice the vector part of its quaternion.
        parts = jnp.asarray(given, at.position.dtype).reshape(self.rows, n, 2, 3)
        return jnp.concatenate([0.5 * parts[:, :, 1], parts[:, :, 0]], axis=-1)[None]


class Constraints(eqx.Module):
    """All constraint rows of a mechanism.

    `places` says where each instance's rows lie among the multipliers; -1 stands for an empty row.
    """

    groups: tuple[AbstractRows, ...]
    places: tuple[tuple[tuple[int, ...], ...], ...] = eqx.field(static=True)  # group, instance, row

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(sum(g.filled) for g in self.groups)

    def stacked(self, parts: list[Float[Array, "_k _r"]], dtype: Any) -> Float[Array, " m"]:
        """Numbers of the groups' rows in the order of the multipliers."""
        if not parts:
            return jnp.zeros((0,), dtype)
        flat = jnp.concatenate([x.reshape(-1) for x in parts])
        order = np.concatenate([np.asarray(p, int).reshape(-1) for p in self.places])
        used = np.flatnonzero(order >= 0)
        return gathered(flat, used[np.argsort(order[used])])

    def split(self, x: Float[Array, " m"]) -> list[Float[Array, "_k _r"]]:
        """The inverse of `stacked`, with zeros in empty rows."""
        padded = jnp.concatenate([x, jnp.zeros((1,), x.dtype)])
        return [_taken(padded, np.asarray(places, int)) for places in self.places]

    def residual(self, t, at: Poses) -> list[Float[Array, "_k _r"]]:
        """What must vanish, group by group; `at` ends with the ground."""
        return [g.residual(t, of_bodies(at, g.bodies)) for g in self.groups]

    def gradient(self, t, at: Poses) -> list[Float[Array, "_k _r _a 6"]]:
        """Its derivatives, group by group."""
        return [g.gradient(t, of_bodies(at, g.bodies)) for g in self.groups]


def in_order(groups) -> Constraints:
    """Constraints whose rows come group by group, in the order of the instances."""
    places, start = [], 0
    for g in groups:
        own = []
        for used in g.filled:
            own.append((*range(start, start + used), *(-1,) * (g.rows - used)))
            start += used
        places.append(tuple(own))
    return Constraints(tuple(groups), tuple(places))


NO_CONSTRAINTS = Constraints((), ())


def _taken(x: Array, places: np.ndarray) -> Array:
    flat = np.where(places < 0, x.shape[0] - 1, places).reshape(-1)
    return gathered(x, flat).reshape(places.shape)


# --- rows and bodies ---


def pull(
    constraints: Constraints, gradients, motion: Float[Array, "n 6"]
) -> list[Float[Array, "_k _r"]]:
    """G motion, group by group."""
    still = jnp.concatenate([motion, jnp.zeros((1, 6), motion.dtype)])
    out = []
    for group, g in zip(constraints.groups, gradients, strict=True):
        x = still[np.asarray(group.bodies, int).reshape(len(group.bodies), -1)]
        flat = g.reshape(*g.shape[:2], -1)
        out.append(apply(flat, x.reshape(x.shape[0], -1)))
    return out


def push(
    constraints: Constraints, gradients, impulse: Float[Array, " m"], n: int
) -> Float[Array, "n 6"]:
    """G^T impulse: what the rows do to each body."""
    parts = []
    for g, p in zip(gradients, constraints.split(impulse), strict=True):
        flat = g.reshape(*g.shape[:2], -1)
        parts.append(apply_transposed(flat, p).reshape(-1, 6))
    if not parts:
        return jnp.zeros((n, 6), impulse.dtype)
    each = jnp.concatenate(parts)
    owners = [b for group in constraints.groups for bodies in group.bodies for b in bodies]
    kept = [i for i, b in enumerate(owners) if b >= 0]
    if not kept:
        return jnp.zeros((n, 6), impulse.dtype)
    return added(
        jnp.zeros((n, 6), impulse.dtype),
        [owners[i] for i in kept],
        gathered(each, kept),
    )


def dense_gradient(constraints: Constraints, gradients, n: int) -> Float[Array, "m n 6"]:
    """All rows' gradients as one array, in the order of the multipliers."""
    real = gradients[0].dtype
    whole = jnp.zeros((constraints.count, n + 1, 6), real)
    for group, places, g in zip(constraints.groups, constraints.places, gradients, strict=True):
        bodies = np.asarray(group.bodies, int).reshape(len(group.bodies), 1, -1)
        # Empty rows have no place: they are zero, and are added to row 0.
        rows = np.maximum(np.asarray(places, int), 0)[:, :, None]
        whole = whole.at[rows, bodies % (n + 1)].add(g)
    return whole[:, :n]

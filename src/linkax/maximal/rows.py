"""Constraint rows: equations g = 0 that poses must satisfy, in groups of one shape.

A group holds k instances of r rows, each between the same number a of bodies. Everything in it lies side by
side: residuals are (k, r), gradients (k, r, a, 6). A gradient's last axis is [rotation vector in the body's
axes; displacement of the centre of mass in world axes]: the wrench, about the centre of mass, by which a unit
multiplier acts on that body.
"""

import abc
import functools as ft
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from linkax.math.rotations import quaternion_multiply
from linkax.math.stacks import dot
from linkax.maximal.bodies import Poses, poses


GROUND = -1


class AbstractRows(eqx.Module):
    """One group of constraint rows."""

    bodies: eqx.AbstractVar[
        tuple[tuple[int, ...], ...]
    ]  # of each instance; -1 is the ground; static
    rows: eqx.AbstractVar[int]  # of each instance; static

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
    """All constraint rows of a mechanism; `places` says where each instance's rows lie among them."""

    groups: tuple[AbstractRows, ...]
    places: tuple[tuple[tuple[int, ...], ...], ...] = eqx.field(static=True)  # group, instance, row

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(len(g.bodies) * g.rows for g in self.groups)

    def stacked(self, parts: list[Float[Array, "_ _"]], dtype: Any) -> Float[Array, " m"]:
        """Numbers of the groups' rows in the order of the multipliers."""
        if not parts:
            return jnp.zeros((0,), dtype)
        flat = jnp.concatenate([x.reshape(-1) for x in parts])
        order = np.concatenate([np.asarray(p).reshape(-1) for p in self.places])
        return flat if np.all(np.diff(order) == 1) else flat[np.argsort(order)]

    def split(self, x: Float[Array, " m"]) -> list[Float[Array, "_ _"]]:
        """The inverse of `stacked`."""
        return [_taken(x, np.asarray(places)) for places in self.places]

    def residual(self, t, at: Poses) -> list[Float[Array, "_ _"]]:
        """What must vanish, group by group; `at` ends with the ground."""
        return [g.residual(t, of_bodies(at, g.bodies)) for g in self.groups]

    def gradient(self, t, at: Poses) -> list[Float[Array, "_ _ _ 6"]]:
        """Its derivatives, group by group."""
        return [g.gradient(t, of_bodies(at, g.bodies)) for g in self.groups]


def in_order(groups) -> Constraints:
    """Constraints whose rows come group by group, in the order of the instances."""
    places, start = [], 0
    for g in groups:
        k = len(g.bodies)
        places.append(
            tuple(tuple(range(start + i * g.rows, start + (i + 1) * g.rows)) for i in range(k))
        )
        start += k * g.rows
    return Constraints(tuple(groups), tuple(places))


NO_CONSTRAINTS = Constraints((), ())


def _taken(x: Array, places: np.ndarray) -> Array:
    flat = places.reshape(-1)
    if flat.size and np.all(np.diff(flat) == 1):
        return x[int(flat[0]) : int(flat[-1]) + 1].reshape(places.shape)
    return x[places]


def of_bodies(at: Poses, bodies: tuple[tuple[int, ...], ...]) -> Poses:
    """The poses (k, a) of the instances' bodies; `at` ends with the ground."""
    index = np.asarray(bodies, int).reshape(len(bodies), -1)
    return jax.tree.map(lambda x: x[index], at)


def _bodies_of(n: int) -> tuple[tuple[int, ...], ...]:
    return (tuple(range(n)),)

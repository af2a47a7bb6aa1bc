"""Rigid bodies and their state by one pose a body, that of its centre of mass."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from linkax.kinematics.frames import kinematics
from linkax.math.stacks import rotations, transposed
from linkax.model import AbstractModel


class Bodies(eqx.Module):
    """Masses and inertias of n rigid bodies; every number is a leaf."""

    mass: Float[Array, " n"]  # [kg]
    inertia: Float[Array, "n 3 3"]  # about the centre of mass in body axes [kg m^2]

    def __init__(self, mass, inertia):
        """Numbers become arrays; `inertia` may be a stack of diagonals (n, 3)."""
        self.mass = jnp.asarray(mass)
        full = jnp.asarray(inertia, self.mass.dtype)
        if full.ndim == 2 and full.shape == (*self.mass.shape, 3):
            full = full[:, :, None] * jnp.eye(3, dtype=full.dtype)[None]
        self.inertia = full

    @property
    def n(self) -> int:
        """Number of bodies."""
        return self.mass.shape[0]

    @property
    def dtype(self):
        """The precision of the leaves."""
        return self.mass.dtype


class State(eqx.Module):
    """Where the bodies are at one time, and how they move.

    `velocity` is that of the centre of mass in world axes, `angular_velocity` in body axes. Where `averaged`
    is true they are averages over the interval that ended at t, as a variational step leaves them; else
    they are instantaneous, and the next step starts from their momentum.
    """

    t: Float[Array, ""]  # [s]
    position: Float[Array, "n 3"]  # of the centre of mass, world axes [m]
    orientation: Float[Array, "n 4"]  # (w, x, y, z), body to world
    velocity: Float[Array, "n 3"]  # [m/s]
    angular_velocity: Float[Array, "n 3"]  # [rad/s]
    averaged: Bool[Array, ""]

    def __init__(
        self,
        position: Any,
        orientation: Any,
        velocity: Any = None,
        angular_velocity: Any = None,
        t: Any = 0.0,
        averaged: Any = False,
    ):
        """Numbers become strong arrays of one precision; velocities are zero where none are given."""
        self.position = jnp.asarray(position)
        real = self.position.dtype
        still = jnp.zeros_like(self.position)
        self.orientation = jnp.asarray(orientation, real)
        self.velocity = still if velocity is None else jnp.asarray(velocity, real)
        self.angular_velocity = (
            still if angular_velocity is None else jnp.asarray(angular_velocity, real)
        )
        self.t = jnp.asarray(t, real)
        self.averaged = jnp.asarray(averaged, bool)


class Poses(eqx.Module):
    """Where bodies are, with their rotation matrices; any leading axes."""

    position: Float[Array, "... 3"]
    orientation: Float[Array, "... 4"]
    rotation: Float[Array, "... 3 3"]


def poses(position: Float[Array, "... 3"], orientation: Float[Array, "... 4"]) -> Poses:
    """Positions and unit quaternions with the rotation matrices worked out once."""
    return Poses(position, orientation, rotations(orientation))


def with_ground(p: Poses) -> Poses:
    """The poses with that of the ground, the identity, at the end, where index -1 finds it."""
    real = p.position.dtype
    return Poses(
        jnp.concatenate([p.position, jnp.zeros((1, 3), real)]),
        jnp.concatenate([p.orientation, jnp.asarray([[1.0, 0.0, 0.0, 0.0]], real)]),
        jnp.concatenate([p.rotation, jnp.eye(3, dtype=real)[None]]),
    )


def of_bodies(at: Poses, bodies: tuple[tuple[int, ...], ...]) -> Poses:
    """The poses (k, a) of the instances' bodies; `at` ends with the ground."""
    index = np.asarray(bodies, int).reshape(len(bodies), -1)
    return jax.tree.map(lambda x: x[index], at)


def bodies_of(model: AbstractModel) -> Bodies:
    """The bodies of a model."""
    tree = model.tree
    return Bodies(tree.mass, 0.5 * (tree.inertia + transposed(tree.inertia)))


def body_state(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"] | None = None, t: Any = 0.0
) -> State:
    """Where a model's bodies are and how they move at an instant; at rest if v is None."""
    k = kinematics(model, q, jnp.zeros((model.nv,), model.dtype) if v is None else v)
    return State(k.com, k.quaternion, k.com_velocity, k.angular_velocity_body, t)

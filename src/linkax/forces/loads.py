"""Applied loads: forces at the centres of mass in world axes, torques in body axes."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from linkax.kinematics.bodies import Bodies, State


class AbstractLoad(eqx.Module):
    """Something that acts on the bodies."""

    @abc.abstractmethod
    def wrenches(self, bodies: Bodies, at: State) -> Float[Array, "n 6"]:
        """[torque in body axes; force at the centre of mass in world axes] on each body at a state."""

    def potential_energy(self, bodies: Bodies, at: State) -> Float[Array, ""]:
        """The energy [J] that the load stores; zero for one that does not conserve."""
        del bodies
        return jnp.zeros((), at.position.dtype)


class FunctionLoad(AbstractLoad):
    """A user's load(t, position, orientation, velocity, angular_velocity, params) -> (force, torque)."""

    function: Callable[..., Any] = eqx.field(static=True)
    params: PyTree

    def wrenches(self, bodies, at):
        """The two arrays (n, 3) side by side."""
        force, torque = self.function(
            at.t, at.position, at.orientation, at.velocity, at.angular_velocity, self.params
        )
        shape, real = at.position.shape, at.position.dtype
        full = [jnp.broadcast_to(jnp.asarray(x, real), shape) for x in (torque, force)]
        return jnp.concatenate(full, axis=-1)


class Gravity(AbstractLoad):
    """Uniform gravity: m g at each centre of mass."""

    gravity: Float[Array, "3"]  # [m/s^2]

    def wrenches(self, bodies, at):
        """m g."""
        force = bodies.mass[:, None] * self.gravity[None]
        return jnp.concatenate([jnp.zeros_like(force), force], axis=-1)

    def potential_energy(self, bodies, at):
        """-m g . x, zero with all mass at the world origin."""
        return -jnp.sum(bodies.mass[:, None] * self.gravity[None] * at.position)


class Loads(AbstractLoad):
    """Several loads together."""

    parts: tuple[AbstractLoad, ...]

    def wrenches(self, bodies, at):
        """Their sum."""
        total = jnp.zeros((bodies.n, 6), at.position.dtype)
        for part in self.parts:
            total = total + part.wrenches(bodies, at)
        return total

    def potential_energy(self, bodies, at):
        """Their sum."""
        total = jnp.zeros((), at.position.dtype)
        for part in self.parts:
            total = total + part.potential_energy(bodies, at)
        return total


NO_LOADS = Loads(())

"""What a force element answers: the generalised forces it exerts at a configuration and speeds."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from linkax.model import AbstractModel


class AbstractElement(eqx.Module):
    """A source of generalised forces that belongs to a System, beside the model's inertia and gravity."""

    @abc.abstractmethod
    def generalised_force(
        self, model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
    ) -> Float[Array, " nv"]:
        """The forces on the speeds of the model [N m or N]."""

    @abc.abstractmethod
    def potential_energy(self, model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, ""]:
        """The energy that the element stores at q [J]; zero for a dissipative one."""

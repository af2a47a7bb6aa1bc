"""Linear viscous damping in the joints."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.forces.base import AbstractElement
from linkax.model import Model, coordinates


class JointDamping(AbstractElement):
    """tau = -damping * speed, joint speed by joint speed, followers of mimic joints included."""

    damping: Float[Array, " tree_nv"]  # [N m s/rad or N s/m]

    def generalised_force(
        self, model: Model, q: Float[Array, " nq"], v: Float[Array, " nv"]
    ) -> Float[Array, " nv"]:
        """-damping * v."""
        del q
        tree_v = coordinates.expand(model.topology, v, model.ratio, None, "nv")
        return coordinates.project(model.topology, -self.damping * tree_v, model.ratio)

    def potential_energy(self, model: Model, q: Float[Array, " nq"]) -> Float[Array, ""]:
        """Zero: a damper stores nothing."""
        return jnp.zeros((), q.dtype)

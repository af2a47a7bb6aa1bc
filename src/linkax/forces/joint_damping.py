"""Linear viscous damping in the joints."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.forces.base import AbstractElement
from linkax.model import AbstractModel


class JointDamping(AbstractElement):
    """tau = -damping * speed, joint speed by joint speed, followers of mimic joints included."""

    damping: Float[Array, " tree_nv"]  # [N m s/rad or N s/m]

    def generalised_force(
        self, model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
    ) -> Float[Array, " nv"]:
        """-damping * v."""
        return model.project(q, -self.damping * model.tree_speeds(q, v))

    def potential_energy(self, model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, ""]:
        """Zero: a damper stores nothing."""
        return jnp.zeros((), q.dtype)

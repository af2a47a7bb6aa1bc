"""Rows on velocities only: what rolls or slides on an edge is free to be anywhere (non-holonomic)."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.joint_rows import frames_between, pair_gradient
from linkax.constraints.rows import AbstractRows
from linkax.math.stacks import product, transposed


# Components of the velocity of frame M in frame F, by name.
COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")


class VelocityRows(AbstractRows):
    """Components, in F's axes, of the velocity of M as seen from the parent body are zero.

    It is [angular velocity of the child less the parent's; velocity of M's origin as a point of the child
    less that of the same place as a point of the parent]. A multiplier is a moment or a force on the child at
    M's origin along that axis of F. Positions are not held: `residual` is zero whatever they are.
    """

    integrable: ClassVar[bool] = False

    parent_point: Float[Array, "k 3"]  # as in `JointFrames` [m]
    parent_rotation: Float[Array, "k 3 3"]
    child_point: Float[Array, "k 3"]
    child_rotation: Float[Array, "k 3 3"]
    bodies: tuple[tuple[int, int], ...] = eqx.field(static=True)  # (parent, child) of each
    locked: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # of COMPONENTS, of each

    @property
    def rows(self) -> int:
        """The most components that one instance locks."""
        return max(len(locked) for locked in self.locked)

    @property
    def filled(self) -> tuple[int, ...]:
        """The components that each instance locks."""
        return tuple(len(locked) for locked in self.locked)

    def residual(self, t, at):
        """Zeros: nothing is asked of the poses."""
        return jnp.zeros((len(self.bodies), self.rows), at.position.dtype)

    def gradient(self, t, at):
        """A moment about, or a force along, each locked axis."""
        F, _, p, r_parent = frames_between(
            self.parent_point, self.parent_rotation, self.child_point, self.child_rotation, at
        )
        chosen = np.zeros((len(self.bodies), self.rows, 6))
        for i, locked in enumerate(self.locked):
            for row, component in enumerate(locked):
                chosen[i, row, component] = 1.0
        pick, axes = jnp.asarray(chosen, at.position.dtype), transposed(F)
        turning, pushing = product(pick[..., :3], axes), product(pick[..., 3:], axes)
        return pair_gradient(at, r_parent + p, self.child_point, pushing, turning)

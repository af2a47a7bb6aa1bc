"""Document 002's planar model: bodies kept in the world's x-y plane, joints by what they lock in it.

A joint's frames F, on the parent, and M, on the child, have their axis along z: of a revolute joint it is the
plane's normal, of a prismatic one it lies in the plane.
"""

import enum

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.constraints.joint_rows import frames_between, pair_gradient
from linkax.constraints.rows import AbstractRows, tangent_gradient
from linkax.kinematics.bodies import Poses
from linkax.math.safe import safe_arctan2
from linkax.math.stacks import apply, cross, dot, product, transposed


class PlanarKind(enum.Enum):
    """What a planar joint locks."""

    REVOLUTE = "revolute"  # both displacements
    PRISMATIC = "prismatic"  # the displacement across the axis and the turn
    FIXED = "fixed"  # everything


class PlanarBodyRows(AbstractRows):
    """Bodies stay in the plane: the height of a point fixed in each is zero, and so are R31 and R32."""

    point: Float[Array, "k 3"]  # from the centre of mass, body axes [m]
    bodies: tuple[tuple[int], ...] = eqx.field(static=True)

    @property
    def rows(self) -> int:
        """Three."""
        return 3

    def residual(self, t, at):
        """[z of the point, R31, R32]."""
        R = at.rotation[:, 0]
        height = at.position[:, 0, 2] + apply(R, self.point)[:, 2]
        return jnp.stack([height, R[:, 2, 0], R[:, 2, 1]], axis=-1)

    def gradient(self, t, at):
        """A force along the world's z at the point; moments across it."""
        up = at.rotation[:, 0, 2]  # the world's z in body axes
        zero = jnp.zeros_like(up[:, 0])
        about_x = jnp.stack([zero, -up[:, 2], up[:, 1]], axis=-1)
        about_y = jnp.stack([up[:, 2], zero, -up[:, 0]], axis=-1)
        turn = jnp.stack([cross(self.point, up), about_x, about_y], axis=1)
        push = jnp.zeros_like(turn).at[:, 0, 2].set(1.0)
        return jnp.concatenate([turn, push], axis=-1)[:, :, None, :]


class PlanarJointRows(AbstractRows):
    """Joints of one kind, with the frames of `JointRows`; d points from F's origin to M's in the world.

    The rows are, in world axes, REVOLUTE [dx, dy]; PRISMATIC [d . n, angle], n in the plane across F's
    z axis; FIXED [dx, dy, angle]. The angle is that of M against F about the world's z, in [-pi, pi].
    """

    parent_point: Float[Array, "k 3"]  # [m]
    parent_rotation: Float[Array, "k 3 3"]
    child_point: Float[Array, "k 3"]  # [m]
    child_rotation: Float[Array, "k 3 3"]
    bodies: tuple[tuple[int, int], ...] = eqx.field(static=True)  # (parent, child) of each
    kind: PlanarKind = eqx.field(static=True)

    @property
    def rows(self) -> int:
        """Two, or three where the joint is fixed."""
        return 3 if self.kind is PlanarKind.FIXED else 2

    def residual(self, t, at):
        """The locked displacements and the locked angle."""
        F, M, d, _ = self._frames(at)
        if self.kind is PlanarKind.REVOLUTE:
            return d[:, :2]
        angle = _angle(F, M)[:, None]
        if self.kind is PlanarKind.FIXED:
            return jnp.concatenate([d[:, :2], angle], axis=-1)
        return jnp.concatenate([dot(d, _across(F))[:, None], angle], axis=-1)

    def gradient(self, t, at):
        """Unit forces at the two origins for a hinge; by autodiff for the others."""
        if self.kind is not PlanarKind.REVOLUTE:
            return tangent_gradient(lambda at: self.residual(t, at), at)
        r_parent = apply(at.rotation[:, 0], self.parent_point)
        n = jnp.zeros((len(self.bodies), 2, 3), r_parent.dtype)
        n = n.at[:, 0, 0].set(1.0).at[:, 1, 1].set(1.0)
        return pair_gradient(at, r_parent, self.child_point, n, jnp.zeros_like(n))

    def reaction(self, t, at: Poses, multipliers: Float[Array, "k r"]) -> Float[Array, "k 6"]:
        """[moment about M's origin; force] on the child, world axes; the parent feels the opposite there.

        What holds bodies in the plane is no part of it: forces lie in the plane, moments across it.
        """
        F, *_ = self._frames(at)
        zero = jnp.zeros_like(multipliers[:, 0])
        first, last = multipliers[:, 0], multipliers[:, -1]
        if self.kind is PlanarKind.PRISMATIC:
            force = first[:, None] * _across(F)
        else:
            force = jnp.stack([first, multipliers[:, 1], zero], axis=-1)
        turn = zero if self.kind is PlanarKind.REVOLUTE else last
        return jnp.concatenate([jnp.stack([zero, zero, turn], axis=-1), force], axis=-1)

    def _frames(self, at: Poses):
        parent, child = self.parent_rotation, self.child_rotation
        return frames_between(self.parent_point, parent, self.child_point, child, at)


def _across(F: Float[Array, "k 3 3"]) -> Float[Array, "k 3"]:
    """The world's z cross F's z."""
    a = F[:, :, 2]
    return jnp.stack([-a[:, 1], a[:, 0], jnp.zeros_like(a[:, 2])], axis=-1)


def _angle(F: Float[Array, "k 3 3"], M: Float[Array, "k 3 3"]) -> Float[Array, " k"]:
    """The turn of M against F about the world's z."""
    Q = product(M, transposed(F))
    return safe_arctan2(Q[:, 1, 0] - Q[:, 0, 1], Q[:, 0, 0] + Q[:, 1, 1])

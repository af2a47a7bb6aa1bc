"""Coordinates that are plain numbers, for which the speeds are their rates: shared by most joint types."""

from linkax.joints.base import AbstractJoint, Scalars
from linkax.math.scalar import add, subtract


class AbstractVectorJoint(AbstractJoint):
    """A joint with nq = nv and q_dot = v."""

    @staticmethod
    def rate(q: Scalars, v: Scalars) -> Scalars:
        """q_dot = v."""
        del q
        return v

    @staticmethod
    def integrate(q: Scalars, dv: Scalars) -> Scalars:
        """q + dv."""
        return tuple(add(a, b) for a, b in zip(q, dv, strict=True))

    @staticmethod
    def difference(q0: Scalars, q1: Scalars) -> Scalars:
        """q1 - q0; angles are not wrapped, turns count."""
        return tuple(subtract(b, a) for a, b in zip(q0, q1, strict=True))

"""Spatial motions (twists, accelerations) and forces (wrenches, momenta), angular part first."""

from typing import NamedTuple

from linkax.math.scalar import Scalar, add
from linkax.spatial.vector import ZERO, Vec3, cross, dot


class Motion(NamedTuple):
    """Angular velocity and linear velocity of the frame's origin, in the frame's axes."""

    angular: Vec3
    linear: Vec3

    def __add__(self, other):
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other):
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __mul__(self, scale):  # by a scalar
        return Motion(self.angular * scale, self.linear * scale)


class Force(NamedTuple):
    """Torque about the frame's origin and force, in the frame's axes."""

    angular: Vec3
    linear: Vec3

    def __add__(self, other):
        return Force(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other):
        return Force(self.angular - other.angular, self.linear - other.linear)

    def __mul__(self, scale):  # by a scalar
        return Force(self.angular * scale, self.linear * scale)


NO_MOTION = Motion(ZERO, ZERO)
NO_FORCE = Force(ZERO, ZERO)


def power(motion: Motion, force: Force) -> Scalar:
    """The scalar product of a motion and a force."""
    return add(dot(motion.angular, force.angular), dot(motion.linear, force.linear))


def cross_motion(v: Motion, m: Motion) -> Motion:
    """v x m: the rate of change of a motion m carried along with v (Featherstone 2008, eq. 2.31)."""
    return Motion(
        cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular)
    )


def cross_force(v: Motion, f: Force) -> Force:
    """v x* f: the rate of change of a force f carried along with v (Featherstone 2008, eq. 2.32)."""
    return Force(
        cross(v.angular, f.angular) + cross(v.linear, f.linear), cross(v.angular, f.linear)
    )


def combine(columns: tuple[Motion, ...], weights: tuple[Scalar, ...]) -> Motion:
    """The sum of columns weighted by scalars: a motion subspace times joint speeds."""
    value = NO_MOTION
    for column, weight in zip(columns, weights, strict=True):
        value = value + column * weight
    return value

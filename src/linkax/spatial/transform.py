"""Poses as rotation and translation, and how motions and forces pass between frames."""

from typing import NamedTuple

from linkax.spatial.motion import Force, Motion
from linkax.spatial.vector import IDENTITY, ZERO, Mat3, Vec3, cross


class Transform(NamedTuple):
    """X_AB: the rotation R_AB takes B-components to A, and p_AB is the origin of B in A [m]."""

    rotation: Mat3
    translation: Vec3

    def __matmul__(self, other):  # X_AC = X_AB @ X_BC
        return Transform(
            self.rotation @ other.rotation, self.translation + self.rotation @ other.translation
        )

    @property
    def inverse(self) -> "Transform":
        """X_BA."""
        back = self.rotation.transposed
        return Transform(back, -(back @ self.translation))

    def motion_to_child(self, v: Motion) -> Motion:
        """A motion given at A, in A's axes, seen at B in B's axes."""
        back = self.rotation.transposed
        return Motion(back @ v.angular, back @ (v.linear + cross(v.angular, self.translation)))

    def motion_to_parent(self, v: Motion) -> Motion:
        """A motion given at B, in B's axes, seen at A in A's axes."""
        angular = self.rotation @ v.angular
        return Motion(angular, self.rotation @ v.linear + cross(self.translation, angular))

    def force_to_parent(self, f: Force) -> Force:
        """A force given at B, in B's axes, seen at A in A's axes."""
        linear = self.rotation @ f.linear
        return Force(self.rotation @ f.angular + cross(self.translation, linear), linear)

    def force_to_child(self, f: Force) -> Force:
        """A force given at A, in A's axes, seen at B in B's axes."""
        back = self.rotation.transposed
        return Force(back @ (f.angular - cross(self.translation, f.linear)), back @ f.linear)


NO_TRANSFORM = Transform(IDENTITY, ZERO)

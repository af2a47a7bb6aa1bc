"""How a frame gives way to forces: the inverse of an inertia, a map from forces to accelerations."""

from typing import NamedTuple

from linkax.spatial.inertia import ArticulatedInertia
from linkax.spatial.motion import Force, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import Mat3, Sym3, outer, symmetric_outer


class Compliance(NamedTuple):
    """[[angular, coupling], [coupling^T, linear]]: 21 scalars, symmetric as a 6x6 matrix."""

    angular: Sym3  # [1/(kg m^2)]
    coupling: Mat3  # [1/(kg m)]
    linear: Sym3  # [1/kg]

    def __matmul__(self, f: Force) -> Motion:
        """The acceleration that the force causes."""
        return Motion(
            self.angular @ f.angular + self.coupling @ f.linear,
            self.coupling.transposed @ f.angular + self.linear @ f.linear,
        )

    def minus_outer(self, u: tuple[Motion, ...], w: tuple[Motion, ...]) -> "Compliance":
        """self - sum_i u_i w_i^T, for a sum known to be symmetric."""
        angular, coupling, linear = self
        for a, b in zip(u, w, strict=True):
            angular = angular - symmetric_outer(a.angular, b.angular)
            coupling = coupling - outer(a.angular, b.linear)
            linear = linear - symmetric_outer(a.linear, b.linear)
        return Compliance(angular, coupling, linear)

    def to_child(self, X: Transform) -> "Compliance":
        """The congruence X^-1 Y X*: the same compliance at the child's origin, in the child's axes.

        With the two halves of motions and of forces exchanged it is an inertia's, taken the other way.
        """
        dual = ArticulatedInertia(self.linear, self.coupling.transposed, self.angular)
        moved = dual.to_parent(X.inverse)
        return Compliance(moved.linear, moved.coupling.transposed, moved.angular)


RIGID = Compliance(Sym3(*(0,) * 6), Mat3(*(0,) * 9), Sym3(*(0,) * 6))

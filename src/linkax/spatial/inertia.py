"""Rigid-body and articulated-body inertias as structs of scalars."""

from typing import NamedTuple

from linkax.math.materialise import materialise
from linkax.math.scalar import Scalar, multiply, negative, total
from linkax.spatial.motion import Force, Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import (
    Mat3,
    Sym3,
    Vec3,
    cross,
    cross_matrix_product,
    dot,
    outer,
    symmetric_outer,
    symmetric_product,
)


class RigidInertia(NamedTuple):
    """Mass [kg], first moment m c [kg m] and rotational inertia about the frame's ORIGIN [kg m^2]."""

    mass: Scalar
    moment: Vec3
    rotational: Sym3

    def __add__(self, other):
        return RigidInertia(
            total(self.mass, other.mass),
            self.moment + other.moment,
            self.rotational + other.rotational,
        )

    def __matmul__(self, v: Motion) -> Force:
        """The momentum of the body moving with v."""
        return Force(
            self.rotational @ v.angular + cross(self.moment, v.linear),
            v.linear * self.mass - cross(self.moment, v.angular),
        )

    def to_parent(self, X: Transform) -> "RigidInertia":
        """The same body seen from the parent frame: X takes this frame's components to the parent's."""
        R, p = X
        moment = R @ self.moment
        rotational = symmetric_product(materialise(R @ self.rotational.full), R)
        # Parallel axes for a first moment h about the old origin, p away from the new one:
        # I' = I + 2 (p.h) 1 - (p h^T + h p^T) + m ((p.p) 1 - p p^T)
        shifted = p * self.mass + moment
        return RigidInertia(self.mass, shifted, rotational + parallel_axis(p, moment + shifted))


def parallel_axis(p: Vec3, h: Vec3) -> Sym3:
    """(p.h) 1 - (p h^T + h p^T)/2."""
    d = dot(p, h)

    def entry(a, b, c, e):
        return multiply(-0.5, total(multiply(a, e), multiply(c, b)))

    def diagonal(a, b):
        return total(d, negative(multiply(a, b)))

    return Sym3(
        diagonal(p.x, h.x),
        diagonal(p.y, h.y),
        diagonal(p.z, h.z),
        entry(p.x, h.x, p.y, h.y),
        entry(p.x, h.x, p.z, h.z),
        entry(p.y, h.y, p.z, h.z),
    )


class ArticulatedInertia(NamedTuple):
    """[[angular, coupling], [coupling^T, linear]]: 21 scalars, symmetric as a 6x6 matrix."""

    angular: Sym3
    coupling: Mat3
    linear: Sym3

    def __add__(self, other):
        return ArticulatedInertia(
            self.angular + other.angular, self.coupling + other.coupling, self.linear + other.linear
        )

    def __matmul__(self, v: Motion) -> Force:
        """The force that gives the articulated body the acceleration v."""
        return Force(
            self.angular @ v.angular + self.coupling @ v.linear,
            self.coupling.transposed @ v.angular + self.linear @ v.linear,
        )

    def minus_outer(self, u: tuple[Force, ...], w: tuple[Force, ...]) -> "ArticulatedInertia":
        """self - sum_i u_i w_i^T, for a sum known to be symmetric."""
        angular, coupling, linear = self
        for a, b in zip(u, w, strict=True):
            angular = angular - symmetric_outer(a.angular, b.angular)
            coupling = coupling - outer(a.angular, b.linear)
            linear = linear - symmetric_outer(a.linear, b.linear)
        return ArticulatedInertia(angular, coupling, linear)

    def to_parent(self, X: Transform) -> "ArticulatedInertia":
        """The congruence X* I X^-1: the same inertia at the parent's origin, in the parent's axes.

        Rotation of the three blocks, then translation by p (Featherstone 2008, table 2.2, derived for
        blocks): with C' = C + [p]x M, the angular block becomes A + [p]x C^T - C' [p]x.
        """
        R, p = X
        half = materialise((R @ self.angular.full, R @ self.coupling, R @ self.linear.full))
        angular = symmetric_product(half[0], R)
        coupling = half[1] @ R.transposed
        linear = symmetric_product(half[2], R)
        coupling, linear = materialise((coupling, linear))
        moved = coupling + cross_matrix_product(p, linear.full)
        # C' [p]x = -([p]x C'^T)^T row by row: (C' [p]x)_i = row_i(C') x p
        first = cross_matrix_product(p, coupling.transposed)
        rows = moved.rows
        second = Mat3(*cross(rows[0], p), *cross(rows[1], p), *cross(rows[2], p))
        change = first - second
        shift = Sym3(change.xx, change.yy, change.zz, change.xy, change.xz, change.yz)
        return ArticulatedInertia(angular + shift, moved, linear)


def articulated(body: RigidInertia) -> ArticulatedInertia:
    """A rigid body's inertia in the articulated form."""
    h = body.moment
    return ArticulatedInertia(
        body.rotational,
        Mat3(0, negative(h.z), h.y, h.z, 0, negative(h.x), negative(h.y), h.x, 0),
        Sym3(body.mass, body.mass, body.mass, 0, 0, 0),
    )

"""Vectors and 3x3 matrices as structs of scalars."""

from typing import NamedTuple, overload

from linkax.math.scalar import Scalar, add, multiply, negative, subtract, total


class Vec3(NamedTuple):
    """Three scalars x, y, z."""

    x: Scalar
    y: Scalar
    z: Scalar

    def __add__(self, other):  # vector addition, not tuple concatenation
        return Vec3(add(self.x, other.x), add(self.y, other.y), add(self.z, other.z))

    def __sub__(self, other):
        return Vec3(subtract(self.x, other.x), subtract(self.y, other.y), subtract(self.z, other.z))

    def __neg__(self):
        return Vec3(negative(self.x), negative(self.y), negative(self.z))

    def __mul__(self, scale):  # by a scalar
        return Vec3(multiply(self.x, scale), multiply(self.y, scale), multiply(self.z, scale))


ZERO = Vec3(0, 0, 0)
X, Y, Z = Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1)


def dot(a: Vec3, b: Vec3) -> Scalar:
    """a . b."""
    return total(multiply(a.x, b.x), multiply(a.y, b.y), multiply(a.z, b.z))


def cross(a: Vec3, b: Vec3) -> Vec3:
    """a x b."""
    return Vec3(
        subtract(multiply(a.y, b.z), multiply(a.z, b.y)),
        subtract(multiply(a.z, b.x), multiply(a.x, b.z)),
        subtract(multiply(a.x, b.y), multiply(a.y, b.x)),
    )


class Mat3(NamedTuple):
    """A 3x3 matrix by rows."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yx: Scalar
    yy: Scalar
    yz: Scalar
    zx: Scalar
    zy: Scalar
    zz: Scalar

    @property
    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The three rows."""
        return Vec3(*self[0:3]), Vec3(*self[3:6]), Vec3(*self[6:9])

    @property
    def transposed(self) -> "Mat3":
        """The transpose."""
        return Mat3(*self[0::3], *self[1::3], *self[2::3])

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: "Mat3") -> "Mat3": ...
    def __matmul__(self, other):
        if isinstance(other, Vec3):
            return Vec3(*(dot(row, other) for row in self.rows))
        columns = other.transposed.rows
        return Mat3(*(dot(row, column) for row in self.rows for column in columns))

    def __add__(self, other):
        return Mat3(*(add(a, b) for a, b in zip(self, other, strict=True)))

    def __sub__(self, other):
        return Mat3(*(subtract(a, b) for a, b in zip(self, other, strict=True)))


IDENTITY = Mat3(1, 0, 0, 0, 1, 0, 0, 0, 1)


class Sym3(NamedTuple):
    """A symmetric 3x3 matrix: six scalars."""

    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar

    @property
    def full(self) -> Mat3:
        """All nine entries."""
        return Mat3(self.xx, self.xy, self.xz, self.xy, self.yy, self.yz, self.xz, self.yz, self.zz)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...
    def __matmul__(self, other):
        return self.full @ other

    def __add__(self, other):
        return Sym3(*(add(a, b) for a, b in zip(self, other, strict=True)))

    def __sub__(self, other):
        return Sym3(*(subtract(a, b) for a, b in zip(self, other, strict=True)))


def symmetric_part(m: Mat3) -> Sym3:
    """The symmetric matrix with the upper triangle of m."""
    return Sym3(m.xx, m.yy, m.zz, m.xy, m.xz, m.yz)


def symmetric_product(a: Mat3, b: Mat3) -> Sym3:
    """a b^T for a product known to be symmetric: six dot products instead of nine."""
    (a0, a1, a2), (b0, b1, b2) = a.rows, b.rows
    return Sym3(dot(a0, b0), dot(a1, b1), dot(a2, b2), dot(a0, b1), dot(a0, b2), dot(a1, b2))


def outer(a: Vec3, b: Vec3) -> Mat3:
    """a b^T."""
    return Mat3(*(multiply(x, y) for x in a for y in b))


def symmetric_outer(a: Vec3, b: Vec3) -> Sym3:
    """The upper triangle of a b^T: a term of a sum that is symmetric as a whole."""
    return Sym3(
        multiply(a.x, b.x),
        multiply(a.y, b.y),
        multiply(a.z, b.z),
        multiply(a.x, b.y),
        multiply(a.x, b.z),
        multiply(a.y, b.z),
    )


def cross_matrix_product(a: Vec3, m: Mat3) -> Mat3:
    """[a]x m: the cross product of a with every column of m."""
    columns = m.transposed.rows
    return Mat3(
        *(cross(a, columns[0])), *(cross(a, columns[1])), *(cross(a, columns[2]))
    ).transposed

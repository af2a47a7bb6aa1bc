"""The terms in which descriptions are written: triples, matrices, placements, the name of the ground."""

from dataclasses import dataclass


Triple = tuple[float, float, float]
Matrix3 = tuple[Triple, Triple, Triple]

GROUND = "world"
ZERO: Triple = (0.0, 0.0, 0.0)
ZERO_INERTIA: Matrix3 = (ZERO, ZERO, ZERO)


@dataclass
class Placement:
    """The pose of one frame in another: position of its origin [m] and unit quaternion (w, x, y, z)."""

    position: Triple = ZERO
    quaternion: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)

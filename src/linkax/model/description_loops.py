"""Loops that are no joints, and the drives that stand for geared rotors, as plain data.

As in all of a description nothing is checked on assignment; SI units and radians.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from linkax.model.description_terms import ZERO, Placement, Triple


@dataclass
class DistanceDescription:
    """A loop that keeps two points at a distance, as a massless rod between ball joints does.

    The points are in body axes from the body-frame origins [m]; one of the bodies may be the ground.
    `length` [m] is above zero; `None` means the distance at the initial coordinates.
    """

    type: ClassVar[str] = "distance"
    name: str
    body_a: str
    body_b: str
    point_a: Triple = ZERO
    point_b: Triple = ZERO
    length: float | None = None


@dataclass
class CouplingDescription:
    """A loop that couples coordinates of the tree: sum of coefficient * coordinate, + offset, = 0.

    `joints` names a coordinate each, as the model does: joints of one freedom by their own name, the
    coordinates of a cylindrical joint as `NAME_angle` and `NAME_slide`. The offset is in the unit of
    the terms; `None` means the one that the initial coordinates meet.
    """

    type: ClassVar[str] = "coupling"
    name: str
    joints: tuple[str, ...]
    coefficients: tuple[float, ...]
    offset: float | None = 0.0


VELOCITY_COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")


@dataclass
class VelocityDescription:
    """A loop that locks components of a relative velocity and says nothing of positions (non-holonomic).

    Frame F is fixed on the parent, M on the child. `locked` names what is zero, in the axes of F: of the
    child's angular velocity relative to the parent `wx`, `wy`, `wz`, and of the velocity of M's origin
    relative to the parent, `vx`, `vy`, `vz`.
    """

    type: ClassVar[str] = "velocity"
    name: str
    parent: str
    child: str
    locked: tuple[str, ...]
    parent_frame: Placement = field(default_factory=Placement)
    child_frame: Placement = field(default_factory=Placement)


# The loops that are no joints.
LOOPS: dict[str, type[DistanceDescription | CouplingDescription | VelocityDescription]] = {
    loop.type: loop for loop in (DistanceDescription, CouplingDescription, VelocityDescription)
}


@dataclass
class RotorDescription:
    """A rotor of a drive: moments of inertia about its axis and across it [kg m^2], mass [kg].

    Its centre of mass is the origin of `frame`, which is fixed on the body `carrier`; `axis` is given in
    that frame. `None` means, of `transverse_inertia`, half of `inertia` (a thin disc); of the others, what
    the driven joint has: its parent, its `parent_frame`, the direction of its axis. `damping` is that of
    the rotor's own joint [N m s/rad].
    """

    inertia: float
    mass: float = 0.0
    transverse_inertia: float | None = None
    carrier: str | None = None
    frame: Placement | None = None
    axis: Triple | None = None
    damping: float = 0.0


@dataclass
class GearDescription:
    """A rotor that turns `ratio` times the coordinate of a joint of one freedom.

    The fields of the rotor are those of `RotorDescription`.
    """

    type: ClassVar[str] = "gear"
    name: str
    joint: str
    ratio: float  # [1], or [rad/m] of a joint that slides
    rotor_inertia: float
    rotor_mass: float = 0.0
    transverse_inertia: float | None = None
    carrier: str | None = None
    carrier_frame: Placement | None = None
    axis: Triple | None = None
    damping: float = 0.0


@dataclass
class DifferentialDescription:
    """As many rotors as joints of one freedom: rotor coordinates = `matrix` @ joint coordinates.

    A rotor takes what it does not say from the joint of the same place in the list.
    """

    type: ClassVar[str] = "differential"
    name: str
    joints: tuple[str, ...]
    rotors: tuple[RotorDescription, ...]
    matrix: tuple[tuple[float, ...], ...]


DriveDescription = GearDescription | DifferentialDescription
DRIVES: dict[str, type[DriveDescription]] = {
    drive.type: drive for drive in (GearDescription, DifferentialDescription)
}

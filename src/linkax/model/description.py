"""A mechanism as plain, editable data: what files are read into and models are built from.

Everything here is Python numbers, tuples, lists and strings. Nothing is checked on assignment; `build`
checks the whole and names what is wrong. Angles are radians, lengths metres, masses kilograms.
Poses read `X_PF`: the frame F in its parent P.
"""

from dataclasses import dataclass, field
from typing import Any


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


@dataclass
class BodyDescription:
    """A rigid body: mass [kg], centre of mass in body axes [m], inertia about it in body axes [kg m^2]."""

    name: str
    mass: float = 0.0
    com: Triple = ZERO
    inertia: Matrix3 = ZERO_INERTIA


@dataclass
class MimicDescription:
    """The joint copies another: q = ratio * q_leader + offset, and v = ratio * v_leader, exactly."""

    leader: str
    ratio: float = 1.0
    offset: float = 0.0


@dataclass
class JointDescription:
    """A joint: frame F on the parent (`parent_frame` = X_PF) and frame M on the child (`child_frame` = X_BM).

    `axis` is given in F; `None` means the joint type's own default (z for one axis; for universal the first
    axis x, `axis2` the second, default y). `pitch` is the advance of a helical joint per radian [m/rad].
    Sequences (`armature`, `damping`, `lower`, `upper`, `effort`, `velocity`) have one entry a speed
    (limits: a coordinate), or a single number for all of them, or `None` for none.
    `position` and `speed` are the initial coordinates and speeds; `None` means neutral and zero.
    """

    name: str
    type: str
    parent: str
    child: str
    parent_frame: Placement = field(default_factory=Placement)
    child_frame: Placement = field(default_factory=Placement)
    axis: Triple | None = None
    axis2: Triple | None = None
    pitch: float = 0.0
    armature: float | tuple[float, ...] | None = None
    damping: float | tuple[float, ...] | None = None
    lower: float | tuple[float, ...] | None = None
    upper: float | tuple[float, ...] | None = None
    effort: float | tuple[float, ...] | None = None
    velocity: float | tuple[float, ...] | None = None
    position: float | tuple[float, ...] | None = None
    speed: float | tuple[float, ...] | None = None
    mimic: MimicDescription | None = None


@dataclass
class FrameDescription:
    """A named frame fixed on a body: `placement` = X_BF."""

    name: str
    body: str
    placement: Placement = field(default_factory=Placement)


@dataclass
class MarkerDescription:
    """A named point fixed on a body, in body axes from the body-frame origin [m]."""

    name: str
    body: str
    point: Triple = ZERO


@dataclass
class RunDescription:
    """How `linkax simulate` runs the file unless told otherwise; `None` leaves the choice to the command."""

    duration: float | None = None
    dt: float | None = None
    integrator: str | None = None
    formulation: str | None = None
    save_every: int | None = None
    load_evaluation: str | None = None


@dataclass
class Description:
    """A whole mechanism. Bodies and joints are listed in any order; the ground is called "world".

    `loops`, `elements` and `motions` hold the tables of a file that later formulations read, as plain
    dictionaries. `notes` says, a sentence each, what of the source was not honoured.
    `allow_improper_inertia` turns inertias that break the triangle inequality (no rigid body has them,
    yet published robot files do) from an error into a note.
    """

    name: str = "mechanism"
    bodies: list[BodyDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    frames: list[FrameDescription] = field(default_factory=list)
    markers: list[MarkerDescription] = field(default_factory=list)
    loops: list[dict[str, Any]] = field(default_factory=list)
    elements: list[dict[str, Any]] = field(default_factory=list)
    motions: list[dict[str, Any]] = field(default_factory=list)
    gravity: Triple = (0.0, 0.0, -9.81)
    run: RunDescription = field(default_factory=RunDescription)
    notes: list[str] = field(default_factory=list)
    allow_improper_inertia: bool = False

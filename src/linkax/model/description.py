"""A mechanism as plain, editable data: what files are read into and models are built from.

Everything here is Python numbers, tuples, lists and strings. Nothing is checked on assignment; `build`
checks the whole and names what is wrong. Angles are radians, lengths metres, masses kilograms.
Poses read `X_PF`: the frame F in its parent P.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from linkax.model.description_loops import (
    DRIVES as DRIVES,
    LOOPS as LOOPS,
    VELOCITY_COMPONENTS as VELOCITY_COMPONENTS,
    CouplingDescription as CouplingDescription,
    DifferentialDescription as DifferentialDescription,
    DistanceDescription as DistanceDescription,
    DriveDescription as DriveDescription,
    GearDescription as GearDescription,
    RotorDescription as RotorDescription,
    VelocityDescription as VelocityDescription,
)
from linkax.model.description_terms import (
    GROUND as GROUND,
    ZERO as ZERO,
    ZERO_INERTIA as ZERO_INERTIA,
    Matrix3 as Matrix3,
    Placement as Placement,
    Triple as Triple,
)


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


LoopDescription = JointDescription | DistanceDescription | CouplingDescription | VelocityDescription


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
class LinearSpringDescription:
    """A spring pulls two points together with stiffness * (their distance - `free_length`) [N].

    The points are in body axes from the body-frame origins [m]; one of the bodies may be the ground.
    """

    type: ClassVar[str] = "linear-spring"
    name: str
    body_a: str
    body_b: str
    stiffness: float  # [N/m]
    free_length: float  # [m]
    point_a: Triple = ZERO
    point_b: Triple = ZERO


@dataclass
class LinearDamperDescription:
    """A damper resists the rate at which the distance of two points changes with damping * rate [N].

    The points are in body axes from the body-frame origins [m]; one of the bodies may be the ground.
    """

    type: ClassVar[str] = "linear-damper"
    name: str
    body_a: str
    body_b: str
    damping: float  # [N s/m]
    point_a: Triple = ZERO
    point_b: Triple = ZERO


@dataclass
class TorsionalSpringDescription:
    """A spring on a revolute joint or loop: its torque is -stiffness * (angle - `free_angle`) [N m]."""

    type: ClassVar[str] = "torsional-spring"
    name: str
    joint: str
    stiffness: float  # [N m/rad]
    free_angle: float = 0.0  # [rad]


@dataclass
class TorsionalDamperDescription:
    """A damper on a revolute joint or loop: its torque is -damping * rate [N m]."""

    type: ClassVar[str] = "torsional-damper"
    name: str
    joint: str
    damping: float  # [N m s/rad]


@dataclass
class ForceDescription:
    """A constant force in world axes [N] on a point of a body.

    `point` is in body axes from the body-frame origin [m]; `None` means the body's centre of mass.
    """

    type: ClassVar[str] = "force"
    name: str
    body: str
    force: Triple
    point: Triple | None = None


@dataclass
class TorqueDescription:
    """A torque on a body, constant in the body's axes [N m]."""

    type: ClassVar[str] = "torque"
    name: str
    body: str
    torque: Triple


ElementDescription = (
    LinearSpringDescription
    | LinearDamperDescription
    | TorsionalSpringDescription
    | TorsionalDamperDescription
    | ForceDescription
    | TorqueDescription
)
ELEMENTS: dict[str, type[ElementDescription]] = {
    element.type: element
    for element in (
        LinearSpringDescription,
        LinearDamperDescription,
        TorsionalSpringDescription,
        TorsionalDamperDescription,
        ForceDescription,
        TorqueDescription,
    )
}


@dataclass
class HarmonicDescription:
    """The function amplitude * sin or cos(2 pi frequency t + phase) + offset of the time t [s]."""

    amplitude: float
    frequency: float  # [Hz]
    phase: float = 0.0  # [rad]
    offset: float = 0.0


@dataclass
class ExpressionDescription:
    """The function constant + ramp * t + all sines + all cosines of the time t [s]."""

    constant: float = 0.0
    ramp: float = 0.0  # per second
    sine: list[HarmonicDescription] = field(default_factory=list)
    cosine: list[HarmonicDescription] = field(default_factory=list)


@dataclass
class MotionDescription:
    """One coordinate follows an expression: that of a one-freedom joint, or a body's planar angle.

    Either `joint` or `body` is given. A body's planar angle is atan2(R21, R11) of its rotation R into
    world axes: the direction of its x axis in the world's x-y plane [rad].
    """

    name: str
    expression: ExpressionDescription
    joint: str | None = None
    body: str | None = None


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

    `loops` are conditions on the tree of `joints`: joints that close loops (either end may be the ground;
    of a joint's fields they have only those up to `pitch`), distances, couplings, locked velocities.
    `drives` stand for rotors on geared joints (`expand_drives`). `notes` says, a sentence each, what of
    the source was not honoured.
    `allow_improper_inertia` turns inertias that break the triangle inequality (no rigid body has them,
    yet published robot files do) from an error into a note.
    """

    name: str = "mechanism"
    bodies: list[BodyDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    frames: list[FrameDescription] = field(default_factory=list)
    markers: list[MarkerDescription] = field(default_factory=list)
    loops: list[LoopDescription] = field(default_factory=list)
    drives: list[DriveDescription] = field(default_factory=list)
    elements: list[ElementDescription] = field(default_factory=list)
    motions: list[MotionDescription] = field(default_factory=list)
    gravity: Triple = (0.0, 0.0, -9.81)
    run: RunDescription = field(default_factory=RunDescription)
    notes: list[str] = field(default_factory=list)
    allow_improper_inertia: bool = False

"""What linkages are described with: plain data, checked when a linkage is built."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkax.joints import JOINTS, AbstractJoint
from linkax.model.description import ZERO, ZERO_INERTIA, Placement


class JointType(enum.Enum):
    """A joint's freedoms, all in its two frames: F on the parent, M on the child.

    The joint variables are an angle about z, a slide along z, none, both, the angles about F's x and M's y,
    and the unit quaternion (w, x, y, z) from M to F.
    """

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    FIXED = "fixed"
    CYLINDRICAL = "cylindrical"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"

    @property
    def joint(self) -> type[AbstractJoint]:
        """The joint of this type."""
        return JOINTS[self.value]


@dataclass
class Link:
    """A link: mass [kg], centre of mass [m] and inertia about it [kg m^2] in link axes, and its joint frames.

    `inertia` is 3x3, or three principal moments. `com` and the frames are placed from the link's origin.
    A base link needs its frames only.
    """

    mass: float = 0.0
    com: Any = ZERO
    inertia: Any = ZERO_INERTIA
    frames: Sequence[Placement] = field(default_factory=list)


@dataclass
class Joint:
    """A joint between frame F = `parent_frame` of one link and frame M = `child_frame` of another."""

    type: JointType
    parent_link: int
    parent_frame: int
    child_link: int
    child_frame: int


@dataclass
class DHRow:
    """Denavit and Hartenberg's standard parameters: the link's frame is Rz(theta) Tz(d) Tx(a) Rx(alpha).

    In the frame of the link before it. The joint variable adds to `theta` where the joint is revolute, to `d`
    where it is prismatic. Lengths [m], angles [rad].
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    type: JointType = JointType.REVOLUTE

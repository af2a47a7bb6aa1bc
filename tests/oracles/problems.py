"""Problems with known answers, as objects: the mechanism, its start, and what is right, with its source.

Numbers without a source were computed to at least two digits more than are printed, by an eighth-order
Runge-Kutta method at tolerances of 1e-11 to 1e-13, or follow from the formula beside them.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from linkax.model import Description, library
from linkax.model.description import (
    GROUND,
    BodyDescription,
    JointDescription,
    Placement,
    Triple,
)


O: Triple = (0.0, 0.0, 0.0)
X: Triple = (1.0, 0.0, 0.0)
Y: Triple = (0.0, 1.0, 0.0)
Z: Triple = (0.0, 0.0, 1.0)
UNIT = library.diagonal(1.0, 1.0, 1.0)


# --- accelerations of open chains at rest ---


@dataclass(frozen=True)
class Link:
    """A body on a hinge: the hinge's axis and place on the parent (-1: the ground), mass and its place."""

    parent: int
    axis: Triple
    offset: Triple
    com: Triple
    mass: float = 1.0
    inertia: tuple[Triple, Triple, Triple] = UNIT


@dataclass(frozen=True)
class Chain:
    """Hinged links at rest under gravity (0, -9.81, 0), and their accelerations [rad/s^2].

    `known` counts the accelerations that are given; the others are not checked.
    """

    name: str
    links: tuple[Link, ...]
    accelerations: tuple[float, ...]
    q: tuple[float, ...] = field(default=())

    @property
    def start(self) -> tuple[float, ...]:
        """Joint angles [rad]."""
        return self.q or (0.0,) * len(self.links)


def _row(*offsets: Triple) -> tuple[Link, ...]:
    """Links one on the other about z, the mass of each at (1, 0, 0)."""
    return tuple(Link(i - 1, Z, offset, X) for i, offset in enumerate(offsets))


MASSLESS = library.diagonal(0.0, 0.0, 0.0)
# Source: the test set of RBDL (Felis, Autonomous Robots 41 (2017)); the numbers were computed anew.
CHAINS = (
    Chain("one link", (Link(-1, Z, O, X),), (-4.905,)),
    Chain(
        "one link of three moments",
        (Link(-1, Z, O, (1.5, 1.0, 1.0), inertia=library.diagonal(1.0, 2.0, 3.0)),),
        (-2.3544,),
    ),
    Chain("two links", _row(O, X), (-5.886, 3.924)),
    Chain("three links", _row(O, X, X), (-6.03692307692308, 3.77307692307692, 1.50923076923077)),
    Chain("two axes", (Link(-1, Z, O, X), Link(0, Y, X, Y)), (-3.924, 0.0)),
    Chain(
        "tree of five",
        (
            Link(-1, Z, O, X),
            Link(0, Y, X, Y),
            Link(1, X, Y, Z),
            Link(0, Y, (-0.5, 0.0, 0.0), Y),
            Link(3, X, (0.0, -0.5, 0.0), Z),
        ),
        (
            -1.60319066147860,
            -0.534396887159533,
            4.10340466926070,
            0.267198443579767,
            5.30579766536965,
        ),
    ),
    Chain(
        "three hinges at a point",
        (
            Link(-1, Z, O, O, 0.0, MASSLESS),
            Link(0, Y, O, O, 0.0, MASSLESS),
            Link(1, X, O, (0.0, 0.5, 0.0)),
        ),
        (3.301932144386186,),  # 9.81 * 0.5 sin(1) / (1 + 0.5^2); the others are not given
        (1.0, 0.0, 0.0),
    ),
)


def forest(chains: tuple[Chain, ...]) -> Description:
    """All chains side by side on one ground, so that one compiled function answers for all of them."""
    whole = Description("forest", gravity=(0.0, -9.81, 0.0))
    for chain in chains:
        for i, link in enumerate(chain.links):
            name = f"{chain.name}: {i}"
            parent = f"{chain.name}: {link.parent}" if link.parent >= 0 else GROUND
            whole.bodies.append(BodyDescription(name, link.mass, link.com, link.inertia))
            whole.joints.append(
                JointDescription(
                    *(f"hinge of {name}", "revolute", parent, name),
                    parent_frame=Placement(link.offset),
                    axis=link.axis,
                    position=chain.start[i],
                )
            )
    return whole


@dataclass(frozen=True)
class TwoLinks:
    """Matrices of the chain "two links" at q = 0, checkable by hand."""

    name: str = "two links"
    mass_matrix: tuple[tuple[float, float], ...] = ((7.0, 3.0), (3.0, 2.0))
    inverse: tuple[tuple[float, float], ...] = ((0.4, -0.6), (-0.6, 1.4))
    effective_mass: float = 2.5  # of the second hinge's place along y [kg]
    dynamic_inverse: tuple[float, float] = (1.0, -1.5)  # M^-1 J^T (J M^-1 J^T)^-1 for J = (1, 0)


# --- pendulums ---


@dataclass(frozen=True)
class Pendulum:
    """A point mass on a massless rod, released at rest from `angle` (IFToMM benchmark A01 at a right angle).

    The period is 4 sqrt(L/g) K(sin(angle/2)), K the complete elliptic integral of the first kind.
    """

    length: float = 1.0
    gravity: float = 9.81
    angle: float = math.pi / 2

    @property
    def period(self) -> float:
        """K = pi/(2 M(1, cos(angle/2))), with M the arithmetic-geometric mean."""
        a, b = 1.0, math.cos(0.5 * self.angle)
        while abs(a - b) > 1e-15:
            a, b = 0.5 * (a + b), math.sqrt(a * b)
        return 2.0 * math.pi * math.sqrt(self.length / self.gravity) / a

    @property
    def period_gradient(self) -> tuple[float, float]:
        """(dT/dL, dT/dg): T goes with the root of L/g."""
        return 0.5 * self.period / self.length, -0.5 * self.period / self.gravity


# Amplitude [degrees]: period over the period of small swings.
PERIOD_RATIOS = {90.0: 1.1803405990160962, 60.0: 1.0731820071493645, 30.0: 1.017408797595956}
# From a right angle: time: angle [rad].
PENDULUM_ANGLES = {0.5: 0.40177084980815, 1.0: -1.40502731152479}
PENDULUM_PLACE = (0.9862917511318741, -0.16501085312554867)  # of the bob at t = 1, from (-1, 0)

# Two bars released at 35 and -20 degrees: time: absolute angles [degrees] (`library.double_pendulum`).
DOUBLE_PENDULUM = {
    0.5: (-12.61826372, 48.237754),
    1.0: (-4.71793979, -70.9522736),
    2.0: (12.48590882, 35.87478348),
    4.0: (-7.76623255, 61.52942031),
}
DOUBLE_PENDULUM_RATES = (0.72523948, 2.18791022)  # absolute, at t = 4 [rad/s]


# --- rotation ---


@dataclass(frozen=True)
class FreeRotation:
    """A body of moments (1, 2, 3) kg m^2 that nothing acts on: time: (angular velocity, quaternion)."""

    angular_velocity: Triple
    expected: dict[float, tuple[Triple, tuple[float, float, float, float]]]
    digits: float  # half a unit of the last digit given, doubled
    moments: Triple = (1.0, 2.0, 3.0)

    @property
    def momentum(self) -> np.ndarray:
        """Angular momentum in world axes, from the identity attitude."""
        return np.asarray(self.moments) * np.asarray(self.angular_velocity)

    @property
    def energy(self) -> float:
        """Kinetic [J]."""
        return float(0.5 * self.momentum @ np.asarray(self.angular_velocity))


UNSTABLE_AXIS = FreeRotation(
    (0.01, 1.0, 0.01),
    {
        5.0: (
            (-0.06482962, 0.99794645, 0.03830961),
            (-0.80085621, 0.00882053, 0.59766756, 0.03667441),
        ),
        10.0: (
            (-0.87457344, 0.48499619, 0.50500122),
            (0.24270299, 0.11814413, -0.82272015, -0.50026871),
        ),
    },
    1e-8,
)
TUMBLING = FreeRotation(
    (0.3, 1.0, 0.2),
    {
        1.0: (
            (0.137423342, 1.034946774, 0.1276520987),
            (0.8640600643709, 0.0983836674219, 0.4866504279391, 0.0830193961119),
        ),
        10.0: (
            (-0.4143288053, -0.9582962178, 0.2592735743),
            (0.0363242702, -0.0204213166, -0.0415985777, -0.9982650327),
        ),
    },
    1e-9,
)


@dataclass(frozen=True)
class HeavyTop:
    """The fast top of `library.heavy_top` (Terze, Mueller, Zlatar 2015), started on its side."""

    energy: float = 5435.696790865547  # kinetic and potential [J]
    own_momentum: float = 0.46875 * 150.0  # about the axis of symmetry [N m s]
    vertical_momentum: float = (0.234375 + 15.0) * -4.61538  # about the pivot [N m s]


def two_links_afloat() -> Description:
    """Two unequal links on a hinge, floating at rest without gravity; centres of mass off the hinge."""
    first = BodyDescription("first", 2.0, (0.1, -0.2, 0.3), library.diagonal(0.2, 0.3, 0.4))
    second = BodyDescription("second", 1.0, (0.3, 0.1, -0.1), library.diagonal(0.05, 0.06, 0.07))
    return Description(
        "two_links_afloat",
        [first, second],
        [
            JointDescription("root", "floating", GROUND, "first"),
            JointDescription(
                *("hinge", "revolute", "first", "second"),
                parent_frame=Placement((0.4, 0.2, 0.0)),
                axis=(0.0, 0.6, 0.8),
            ),
        ],
        gravity=O,
    )

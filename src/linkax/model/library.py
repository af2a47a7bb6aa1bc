"""Standard mechanisms as descriptions: to try things on, to test with, and to read as examples.

All hang in gravity along -z unless said otherwise, and every one can be edited before it is built.
"""

import math

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from linkax.joints import JOINTS, Helical, Universal
from linkax.model.description import (
    GROUND,
    ZERO,
    BodyDescription,
    Description,
    JointDescription,
    MarkerDescription,
    Matrix3,
    Placement,
    Triple,
)
from linkax.model.naming import suggestion
from linkax.model.placement import unit_quaternion


X: Triple = (1.0, 0.0, 0.0)
Y: Triple = (0.0, 1.0, 0.0)
# Steps of an additive sequence that fills space evenly: 1/g, 1/g^2, 1/g^3 with g^4 = g + 1.
STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)


def pendulum(
    length: float = 1.0, mass: float = 1.0, angle: float = math.pi / 2, gravity: float = 9.81
) -> Description:
    """A point mass [kg] on a massless rod [m], released `angle` [rad] from hanging; swings in x-z.

    The hinge turns about y, so that the mass is at (-sin, 0, -cos) of the angle times the length.
    Its marker is "bob".
    """
    bob = (0.0, 0.0, -length)
    return Description(
        name="pendulum",
        bodies=[BodyDescription("rod", mass, bob)],
        joints=[JointDescription("hinge", "revolute", GROUND, "rod", axis=Y, position=angle)],
        markers=[MarkerDescription("bob", "rod", bob)],
        gravity=(0.0, 0.0, -gravity),
    )


def double_pendulum(
    lengths: tuple[float, float] = (1.0, 0.8),
    widths: tuple[float, float] = (0.06, 0.05),
    masses: tuple[float, float] = (1.5, 1.0),
    angles: tuple[float, float] = (math.radians(35.0), math.radians(-20.0)),
    gravity: float = 9.80665,
) -> Description:
    """Two bars of square section [m], released at `angles` [rad] from hanging; swings in x-z.

    Angles are absolute here; the second joint's coordinate is the difference.
    """
    upper = _bar("upper", masses[0], lengths[0], widths[0])
    lower = _bar("lower", masses[1], lengths[1], widths[1])
    elbow = Placement((0.0, 0.0, -lengths[0]))
    return Description(
        name="double_pendulum",
        bodies=[upper, lower],
        joints=[
            JointDescription("shoulder", "revolute", GROUND, "upper", axis=Y, position=angles[0]),
            JointDescription(
                *("elbow", "revolute", "upper", "lower"),
                parent_frame=elbow,
                axis=Y,
                position=angles[1] - angles[0],
            ),
        ],
        markers=[MarkerDescription("tip", "lower", (0.0, 0.0, -lengths[1]))],
        gravity=(0.0, 0.0, -gravity),
    )


def _bar(name: str, mass: float, length: float, width: float) -> BodyDescription:
    """A bar hanging from its origin along -z, of square section."""
    across = mass * (length**2 + width**2) / 12.0
    com = (0.0, 0.0, -0.5 * length)
    return BodyDescription(name, mass, com, diagonal(across, across, mass * width**2 / 6.0))


def chain(n: int) -> Description:
    """n bars on hinges, each hinge about its own direction, from a sequence without randomness."""
    if n < 1:
        raise ValueError(f"A chain has n={n} bodies, but it needs at least one.")
    bodies, joints = [], []
    for i in range(n):
        a, b, c = ((0.5 + step * (i + 1)) % 1.0 for step in STEPS)
        length = 0.2 + 0.2 * a
        bodies.append(_bar(f"body{i}", 0.5 + b, length, 0.05))
        joints.append(
            JointDescription(
                f"joint{i}",
                "revolute",
                f"body{i - 1}" if i else GROUND,
                f"body{i}",
                parent_frame=Placement(
                    (0.0, 0.0, bodies[i - 1].com[2] * 2.0 if i else 0.0),
                    unit_quaternion((2.0, a - 0.5, b - 0.5, c - 0.5)),
                ),
                axis=(a - 0.5, 1.0, c - 0.5),
            )
        )
    return Description(name=f"chain{n}", bodies=bodies, joints=joints)


def cart_pole(
    cart_mass: float = 1.0, pole_mass: float = 0.1, length: float = 0.5, angle: float = 0.0
) -> Description:
    """A cart sliding along x with a point mass on a massless pole, `angle` [rad] from upright."""
    top = (0.0, 0.0, length)
    return Description(
        name="cart_pole",
        bodies=[BodyDescription("cart", cart_mass), BodyDescription("pole", pole_mass, top)],
        joints=[
            JointDescription("slide", "prismatic", GROUND, "cart", axis=X),
            JointDescription("hinge", "revolute", "cart", "pole", axis=Y, position=angle),
        ],
        markers=[MarkerDescription("tip", "pole", top)],
    )


def heavy_top() -> Description:
    """The fast top of the Lie-group integrator literature, on a ball joint at the origin.

    The axis of symmetry is the body's y, along which the centre of mass lies 1 m away.
    Source: Z. Terze, A. Mueller, D. Zlatar, Multibody System Dynamics 34 (2015).
    """
    return Description(
        name="heavy_top",
        bodies=[BodyDescription("top", 15.0, Y, diagonal(0.234375, 0.46875, 0.234375))],
        joints=[
            JointDescription("pivot", "spherical", GROUND, "top", speed=(0.0, 150.0, -4.61538))
        ],
        markers=[MarkerDescription("com", "top", Y)],
    )


def free_body(
    inertia: Triple | Matrix3 = (1.0, 2.0, 3.0),
    mass: float = 1.0,
    angular_velocity: Triple = ZERO,
    velocity: Triple = ZERO,
) -> Description:
    """A body that nothing holds and no gravity pulls; `inertia` [kg m^2] or its diagonal.

    Initial velocities [rad/s, m/s] are in body axes; the frame's origin is the centre of mass.
    """
    matrix = np.asarray(inertia, dtype=float)
    (a, b, c), (d, e, f), (g, h, i) = (matrix if matrix.ndim == 2 else np.diag(matrix)).tolist()
    return Description(
        name="free_body",
        bodies=[BodyDescription("body", mass, ZERO, ((a, b, c), (d, e, f), (g, h, i)))],
        joints=[
            JointDescription(
                "root", "floating", GROUND, "body", speed=(*angular_velocity, *velocity)
            )
        ],
        gravity=ZERO,
    )


def diagonal(x: float, y: float, z: float) -> Matrix3:
    """The inertia with principal moments along the body axes [kg m^2]."""
    return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))


# --- random trees ---


def random_tree(
    key: PRNGKeyArray,
    n: int,
    joints: tuple[str, ...] | None = None,
    branching: float = 0.3,
) -> Description:
    """n bodies on joints of the given types (default: all that move), made for tests.

    Inertias are physical and well conditioned, placements and axes random on both sides of every
    joint, about half of the joints have armature. With probability `branching` a body is carried by
    any earlier body or the ground instead of by the last one. With n at least the number of types
    every type appears. The same key gives the same tree.
    """
    types = tuple(name for name in JOINTS if JOINTS[name].nv > 0) if joints is None else joints
    for name in types:
        if name not in JOINTS:
            raise ValueError(f"`{name}` is no joint type;{suggestion(name, JOINTS)}")
    rng = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))).tolist())
    drawn: list[str] = []
    while len(drawn) < n:
        drawn += [types[i] for i in rng.permutation(len(types))]
    tree = Description(name=f"random_tree{n}")
    for i in range(n):
        parent = int(rng.integers(-1, i)) if i and rng.random() < branching else i - 1
        tree.bodies.append(_random_body(rng, f"body{i}"))
        tree.joints.append(
            _random_joint(rng, drawn[i], i, GROUND if parent < 0 else f"body{parent}")
        )
    return tree


def _random_body(rng: np.random.Generator, name: str) -> BodyDescription:
    """Second moments of mass are drawn and turned, so that the triangle inequality holds."""
    mass = float(rng.uniform(0.5, 2.0))
    second = mass * rng.uniform(0.01, 0.04, 3)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inertia = rotation @ np.diag(second.sum() - second) @ rotation.T
    (a, b, c), (_, d, e), (_, _, f) = (0.5 * (inertia + inertia.T)).tolist()
    return BodyDescription(name, mass, _random_point(rng, 0.2), ((a, b, c), (b, d, e), (c, e, f)))


def _random_joint(rng: np.random.Generator, kind: str, i: int, parent: str) -> JointDescription:
    type_class = JOINTS[kind]
    armature = tuple(rng.uniform(0.05, 0.5, type_class.nv).tolist())
    joint = JointDescription(
        *(f"joint{i}", kind, parent, f"body{i}"),
        parent_frame=_random_placement(rng),
        child_frame=_random_placement(rng),
        armature=armature if rng.random() < 0.5 else None,
    )
    first, second, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0].tolist()
    if type_class.uses_axis or type_class is Universal:
        joint.axis = (first[0], first[1], first[2])
    if type_class is Universal:
        joint.axis2 = (second[0], second[1], second[2])
    if type_class is Helical:
        joint.pitch = float(rng.uniform(0.05, 0.3))
    return joint


def _random_placement(rng: np.random.Generator) -> Placement:
    return Placement(_random_point(rng, 0.5), unit_quaternion(rng.normal(size=4)))


def _random_point(rng: np.random.Generator, reach: float) -> Triple:
    x, y, z = rng.uniform(-reach, reach, 3).tolist()
    return (x, y, z)

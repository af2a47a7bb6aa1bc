"""A scene is plain data: what each body looks like in its axes, and where its frame is over time.

Shapes come from frames and inertias alone: the box of uniform density with the body's mass and
inertia, a triad at the body frame, and rods from the body-frame origin to the centre of mass and to
the joints of the body's children, so that a robot reads as a skeleton. Metres, kilograms, seconds.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


Floats = NDArray[np.float64]

# Proportions of a drawing, relative to the reach of a typical body.
ROD = 0.03
TRIAD = 0.2
SPHERE = 0.06
# A box thinner than this fraction of its longest half size is drawn that thick, so that it is seen.
THIN = 0.02
# Rods shorter than this fraction of the typical reach would hide inside the triad.
SHORT = 0.02
# Principal moments may miss the triangle inequality by this fraction of the largest: round-off of
# files that print six digits.
ROUND_OFF = 1e-5


@dataclass(frozen=True)
class Box:
    """A box: `center` in body axes [m], `half` sizes [m] along the columns of `rotation`."""

    center: Floats
    half: Floats
    rotation: Floats


@dataclass(frozen=True)
class Sphere:
    """A ball that marks a centre of mass: `center` in body axes [m], `radius` [m]."""

    center: Floats
    radius: float


@dataclass(frozen=True)
class Rod:
    """A straight rod between two points in body axes, `radius` [m]."""

    start: Floats
    end: Floats
    radius: float


@dataclass(frozen=True)
class Triad:
    """The body frame itself: three arrows of this `length` [m] from its origin."""

    length: float


Shape = Box | Sphere | Rod | Triad


@dataclass(frozen=True)
class BodyGeometry:
    """What a picture needs to know of a mechanism; arrays lead with the body.

    names: one a body. parents: (nb,) body indices, -1 for the ground. mass: (nb,) [kg].
    com: (nb, 3) in body axes [m]. inertia: (nb, 3, 3) about the centre of mass, body axes [kg m^2].
    joint_points: (nb, 3), where each body's joint sits on its PARENT, in the parent's axes
    (world axes on the ground) [m].
    """

    names: tuple[str, ...]
    parents: NDArray[np.integer]
    mass: Floats
    com: Floats
    inertia: Floats
    joint_points: Floats


@dataclass(frozen=True)
class Scene:
    """A motion ready to be drawn: shapes in body axes, and body frames in the world over time.

    names, parents, shapes: one entry a body (parent -1 is the ground). joint_points: (bodies, 3) as
    in `BodyGeometry`. time: (points,) [s]. position: (points, bodies, 3), body-frame origins [m].
    quaternion: (points, bodies, 4), w x y z, body to world.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    shapes: tuple[tuple[Shape, ...], ...]
    joint_points: Floats
    time: Floats
    position: Floats
    quaternion: Floats
    title: str = "linkax"


def scene_of(
    result: Mapping[str, np.ndarray], geometry: BodyGeometry, *, title: str = "linkax"
) -> Scene:
    """The scene of one sample's result: its `t`, `position` and `orientation`.

    `t` (points,) [s]; `position` (points, nb, 3) of the body-frame origins in the world [m];
    `orientation` (points, nb, 4), quaternions w x y z, body to world. Raises ValueError where an
    entry is missing or its shape is wrong. Values may be non-finite: what draws the scene leaves
    those points out.
    """
    _check_geometry(geometry)
    nb = len(geometry.names)
    time = _entry(result, "t")
    if time.ndim != 1 or time.size == 0:
        raise ValueError(
            f"`t` of the result must hold one or more points, (points,), but has shape {time.shape}"
        )
    position = _entry(result, "position")
    quaternion = _entry(result, "orientation")
    for name, value, last in (("position", position, 3), ("orientation", quaternion, 4)):
        expected = (time.size, nb, last)
        if value.shape != expected:
            advice = "; take one sample of the batch" if value.ndim > 3 else ""
            raise ValueError(
                f"`{name}` of the result must have shape (points, bodies, {last}) = {expected}, "
                f"but has {value.shape}{advice}"
            )
    return Scene(
        names=tuple(str(name) for name in geometry.names),
        parents=tuple(int(parent) for parent in geometry.parents),
        shapes=shapes_of(geometry),
        joint_points=np.asarray(geometry.joint_points, float),
        time=time,
        position=position,
        quaternion=quaternion,
        title=title,
    )


def shapes_of(geometry: BodyGeometry) -> tuple[tuple[Shape, ...], ...]:
    """The shapes of every body, in body axes: inertia box (or a ball), triad, rods."""
    nb = len(geometry.names)
    boxes = [uniform_box(geometry.mass[i], geometry.inertia[i]) for i in range(nb)]
    ends: list[list[Floats]] = [[np.asarray(geometry.com[i], float)] for i in range(nb)]
    for child, parent in enumerate(geometry.parents):
        if parent >= 0:
            ends[parent].append(np.asarray(geometry.joint_points[child], float))
    size = _typical_reach(ends, boxes)

    shapes = []
    for i in range(nb):
        com = ends[i][0]
        box = boxes[i]
        if box is not None:
            half, rotation = box
            body: list[Shape] = [Box(com, np.maximum(half, THIN * half.max()), rotation)]
        elif np.isfinite(com).all():
            body = [Sphere(com, SPHERE * size)]
        else:
            body = []
        body.append(Triad(TRIAD * size))
        drawn: list[Floats] = []
        for end in ends[i]:
            known = any(np.linalg.norm(end - other) < SHORT * size for other in drawn)
            if np.linalg.norm(end) > SHORT * size and not known and np.isfinite(end).all():
                drawn.append(end)
                body.append(Rod(np.zeros(3), end, ROD * size))
        shapes.append(tuple(body))
    return tuple(shapes)


def uniform_box(mass: float, inertia: Floats) -> tuple[Floats, Floats] | None:
    """Half sizes (3,) and axes (columns of a rotation) of the uniform box of this mass and inertia.

    Principal moments are I1 = m (b^2 + c^2) / 3 and cyclic, so a^2 = 3 (I2 + I3 - I1) / (2 m).
    `None` where no box has them: no mass, no inertia, or moments against the triangle inequality.
    """
    inertia = np.asarray(inertia, float)
    if not (np.isfinite(mass) and np.isfinite(inertia).all() and mass > 0.0):
        return None
    inertia = 0.5 * (inertia + inertia.T)
    trace = np.trace(inertia)
    if trace <= 0.0:
        return None
    # A body with two equal moments has no axes of its own there: products of inertia that are
    # round-off must not turn its square section.
    off = ~np.eye(3, dtype=bool)
    inertia[off & (np.abs(inertia) < 1e-7 * trace)] = 0.0
    moments, axes = np.linalg.eigh(inertia)
    squares = 1.5 / mass * (moments.sum() - 2.0 * moments)
    if squares.min() < -ROUND_OFF * squares.max():
        return None
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return np.sqrt(np.maximum(squares, 0.0)), axes


def _typical_reach(ends: list[list[Floats]], boxes: list[tuple[Floats, Floats] | None]) -> float:
    """The upper quartile over bodies of the farthest rod end, or half size, or one metre."""
    reaches = np.array([max(np.linalg.norm(end) for end in body) for body in ends])
    halves = np.array([0.0 if box is None else box[0].max() for box in boxes])
    for candidates in (reaches, halves):
        finite = candidates[np.isfinite(candidates)]
        lengths = finite[finite > 1e-3 * finite.max(initial=0.0)]
        if lengths.size:
            return float(np.quantile(lengths, 0.75))
    return 1.0


def _entry(result: Mapping[str, Any], name: str) -> Floats:
    if name not in result:
        near = difflib.get_close_matches(name, list(result), n=3, cutoff=0.5)
        has = ", ".join(near or sorted(result)) or "nothing"
        raise ValueError(f"the result has no entry `{name}`, which a scene needs; it has {has}")
    return np.asarray(result[name], dtype=float)


def _check_geometry(geometry: BodyGeometry) -> None:
    nb = len(geometry.names)
    if nb == 0:
        raise ValueError("the geometry has no bodies; a scene needs one or more")
    expected = {
        "parents": (nb,),
        "mass": (nb,),
        "com": (nb, 3),
        "inertia": (nb, 3, 3),
        "joint_points": (nb, 3),
    }
    for name, shape in expected.items():
        found = np.shape(getattr(geometry, name))
        if found != shape:
            raise ValueError(
                f"`{name}` of the geometry must have shape {shape} for {nb} bodies, but has {found}"
            )
    for name, parent in zip(geometry.names, geometry.parents, strict=True):
        if not -1 <= parent < nb:
            raise ValueError(
                f"body `{name}` has parent index {parent}; "
                f"valid are -1 (the ground) and 0 to {nb - 1}"
            )

"""A random machine with a loop of each type, closed as it is made."""

import jax
import numpy as np

import linkax as lx
from linkax.model import CouplingDescription, DistanceDescription, Placement, library
from linkax.model.description import JointDescription


# Freedoms that each type of loop takes.
LOCKED = {
    **{"fixed": 6, "revolute": 5, "prismatic": 5, "helical": 5, "cylindrical": 4},
    **{"universal": 4, "spherical": 3, "planar": 3, "distance": 1, "coupling": 1},
}


def multiplied(a, b):
    """The product of two quaternions."""
    w, u, x, v = a[0], a[1:], b[0], b[1:]
    return np.array([w * x - u @ v, *(w * v + x * u + np.cross(u, v))])


def turned(q, v):
    """A vector turned by a quaternion."""
    return multiplied(multiplied(q, np.array([0.0, *v])), q * [1, -1, -1, -1])[1:]


def open_tree(types: tuple[str, ...], seed: int):
    """Two chains of hinges on the ground for each type, with one freedom more than the loop will take."""
    counts = [LOCKED[kind] + 1 for kind in types]
    tree = library.random_tree(jax.random.key(seed), sum(counts), ("revolute",), 0.0)
    tips, first = [], 0
    rng = np.random.default_rng(seed)
    for count in counts:
        middle = first + count // 2
        for i in (first, middle):
            tree.joints[i].parent = "world"
        tips.append((middle - 1, first + count - 1))
        first += count
    for joint in tree.joints:
        joint.armature = None  # maximal coordinates have none
        joint.position, joint.speed = map(float, rng.uniform(-1.0, 1.0, 2))
    tree.gravity = (0.3, -0.7, -9.81)
    return tree, tips


def described(types: tuple[str, ...], seed: int) -> lx.Description:
    """The machine, closed at the initial coordinates of its description."""
    tree, tips = open_tree(types, seed)
    opened = lx.build(tree)
    k = lx.kinematics(opened.model, opened.initial_q)
    p, orientation = np.asarray(k.position), np.asarray(k.quaternion)
    rng = np.random.default_rng(seed + 1)
    for kind, (a, b) in zip(types, tips, strict=True):
        names = (f"body{a}", f"body{b}")
        if kind == "distance":
            tree.loops.append(DistanceDescription(kind, *names))
            continue
        if kind == "coupling":
            joints = (f"joint{a}", f"joint{b}")
            tree.loops.append(CouplingDescription(kind, joints, (1.0, -1.7), None))
            continue
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        arm = rng.uniform(-0.5, 0.5, 3)
        back = orientation[b] * [1, -1, -1, -1]
        at = p[a] + turned(orientation[a], arm) - p[b]
        loop = JointDescription(
            *(kind, kind, *names),
            Placement(tuple(arm), tuple(turn)),
            Placement(
                tuple(turned(back, at)), tuple(multiplied(multiplied(back, orientation[a]), turn))
            ),
        )
        x, y, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        if kind not in ("fixed", "spherical"):
            loop.axis = tuple(x)
        if kind == "universal":
            loop.axis2 = tuple(y)
        if kind == "helical":
            loop.pitch = 0.2
        tree.loops.append(loop)
    return tree

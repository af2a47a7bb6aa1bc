"""Linkages built: links placed by the joint variables, what does not fit together refused."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from linkax.constraints.motion_rows import JointFrames
from linkax.joints import AbstractJoint
from linkax.kinematics.bodies import Bodies, State
from linkax.maximal.linkage.checks import (
    check_closed,
    check_satisfied,
    check_type,
    check_variables,
    checked_link,
    placed,
)
from linkax.maximal.linkage.describe import DHRow, Joint, JointType, Link
from linkax.maximal.linkage.linkage import Linkage, at_start
from linkax.model.description import Placement
from linkax.model.placement import compose, inverse, rotation_matrix, turn, unit_quaternion


GROUND = -1
IDENTITY = Placement()
# Singular values of the rows' gradient below this fraction of the largest stand for redundant rows.
RANK = 1e-9
_X, _Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@dataclass
class _Hinge:
    """A joint between two bodies, its frames placed from their origins."""

    type: JointType
    parent: int
    child: int
    F: Placement
    M: Placement


def serial(links: Sequence[Link], joints: Sequence[DHRow | JointType], q, *, dtype=None) -> Linkage:
    """A chain on the ground, at rest with the given joint variables; every link moves.

    Joint i connects link i to the one before it. For a DHRow it acts about or along the z axis of the frame
    of the link before. For a JointType the link's first frame is on that joint and its second on the next
    one; the first joint is at the world's origin. Source: document 002, serial linkages.

    Args:
        links: one a body.
        joints: one a link, revolute or prismatic.
        q: joint variables (n,) [rad or m].
        dtype: precision of the linkage; float64 where that is enabled if None.

    Raises:
        ValueError: naming the link, joint or variable that does not fit.
    """
    links = [checked_link(link, f"Link {i}", moving=True) for i, link in enumerate(links)]
    if not links:
        raise ValueError("`links` is empty, but a linkage has one link at least.")
    if len(joints) != len(links):
        raise ValueError(
            f"`joints` has {len(joints)} entries, but must have one for each of {len(links)} links."
        )
    hinges = []
    for i, joint in enumerate(joints):
        kind = joint.type if isinstance(joint, DHRow) else joint
        if kind not in (JointType.REVOLUTE, JointType.PRISMATIC):
            raise ValueError(
                f"Joint {i} of a serial linkage is {kind!r}, but must be JointType.REVOLUTE or "
                "JointType.PRISMATIC."
            )
        F = IDENTITY
        if isinstance(joint, DHRow):
            M = inverse(_of_row(joint))
        else:
            M = placed(links, i, 0, f"Joint {i}")
            F = placed(links, i - 1, 1, f"Joint {i}") if i else IDENTITY
        hinges.append(_Hinge(kind, i - 1, i, F, M))
    parts = check_variables([h.type.joint for h in hinges], q)
    poses: list[Placement] = []
    for hinge, values in zip(hinges, parts, strict=True):
        below = poses[hinge.parent] if hinge.parent >= 0 else IDENTITY
        poses.append(_child(below, hinge, values))
    return _finished(links, poses, hinges, False, dtype)


def closed(
    links: Sequence[Link],
    joints: Sequence[Joint],
    base: int,
    q,
    *,
    planar: bool = False,
    dtype=None,
) -> Linkage:
    """A linkage with loops, at rest with the given joint variables; its base link is fixed to the ground.

    Bodies are the links in their order without the base, whose frames are placed in the world. A planar
    linkage moves in the world's x-y plane: it has three rows a body and two or three a joint. Source:
    document 002, parallel and planar linkages.

    Args:
        links: the base among them.
        joints: in the order of the variables and of the reactions.
        base: index of the base link.
        q: the variables of all joints, in order, that close every loop [rad or m].
        planar: whether to use the planar model.
        dtype: precision of the linkage; float64 where that is enabled if None.

    Raises:
        ValueError: naming the link, joint or variable that does not fit, or how far a loop is from closed.
    """
    count = len(links)
    if isinstance(base, bool) or not isinstance(base, int) or not 0 <= base < count:
        raise ValueError(f"`base` is {base!r}, but must be the index of one of {count} links.")
    links = [checked_link(link, f"Link {i}", moving=i != base) for i, link in enumerate(links)]
    bodies = [i for i in range(count) if i != base]
    if not bodies:
        raise ValueError("`links` holds the base only, but a linkage has one moving link at least.")
    body = {link: i for i, link in enumerate(bodies)} | {base: GROUND}
    hinges = []
    for i, joint in enumerate(joints):
        where = f"Joint {i}"
        F = placed(links, joint.parent_link, joint.parent_frame, where, "parent")
        M = placed(links, joint.child_link, joint.child_frame, where, "child")
        if joint.parent_link == joint.child_link:
            raise ValueError(
                f"{where} has parent and child link both {joint.child_link}, but must connect two."
            )
        check_type(joint.type, where, planar)
        hinges.append(_Hinge(joint.type, body[joint.parent_link], body[joint.child_link], F, M))
    parts = check_variables([h.type.joint for h in hinges], q)
    poses, ends = _placed_from_base(hinges, parts, bodies)
    check_closed(ends, dtype)
    return _finished([links[i] for i in bodies], poses, hinges, planar, dtype)


def _of_row(row: DHRow) -> Placement:
    """The link's frame in that which the joint's motion leaves: Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    about_z = Placement((0.0, 0.0, float(row.d)), turn(_Z, float(row.theta)))
    return compose(about_z, Placement((float(row.a), 0.0, 0.0), turn(_X, float(row.alpha))))


def _motion(joint: type[AbstractJoint], values: np.ndarray) -> Placement:
    """X_FM."""
    lanes = tuple(jnp.asarray(x) for x in values)
    travel = joint.travel(0.0)
    position = joint.transform(lanes, travel).translation
    x, y, z = (float(p) for p in position)
    a, b, c, d = (float(p) for p in joint.attitude(lanes, travel))
    return Placement((x, y, z), (a, b, c, d))


def _child(parent: Placement, hinge: _Hinge, values) -> Placement:
    """Where the child is when the parent is somewhere."""
    at_joint = compose(compose(parent, hinge.F), _motion(hinge.type.joint, values))
    return compose(at_joint, inverse(hinge.M))


def _parent(child: Placement, hinge: _Hinge, values) -> Placement:
    """Where the parent is when the child is somewhere."""
    at_joint = compose(compose(child, hinge.M), inverse(_motion(hinge.type.joint, values)))
    return compose(at_joint, inverse(hinge.F))


def _placed_from_base(hinges: list[_Hinge], parts, names: list[int]):
    """(pose of each body; the two places of M's frame by every joint that closes a loop)."""
    known = {GROUND: IDENTITY}
    closing = []
    waiting = list(range(len(hinges)))
    while waiting:
        left = []
        for i in waiting:
            h = hinges[i]
            if h.parent in known and h.child in known:
                expected = compose(compose(known[h.parent], h.F), _motion(h.type.joint, parts[i]))
                closing.append((i, compose(known[h.child], h.M), expected))
            elif h.parent in known:
                known[h.child] = _child(known[h.parent], h, parts[i])
            elif h.child in known:
                known[h.parent] = _parent(known[h.child], h, parts[i])
            else:
                left.append(i)
        if len(left) == len(waiting):
            break
        waiting = left
    for i, name in enumerate(names):
        if i not in known:
            raise ValueError(
                f"Link {name} is not connected to the base, but every link must be, through joints."
            )
    return [known[i] for i in range(len(names))], closing


def _finished(
    links: list[Link], poses: list[Placement], hinges: list[_Hinge], planar: bool, dtype
) -> Linkage:
    real = jnp.result_type(float) if dtype is None else dtype
    array = lambda x, *shape: jnp.asarray(np.asarray(x, float).reshape(shape), real)
    n, k = len(links), len(hinges)
    com = np.asarray([link.com for link in links], float)
    turns = np.asarray([rotation_matrix(p.quaternion) for p in poses])
    position = [p.position for p in poses] + np.einsum("nij,nj->ni", turns, com)
    from_com = np.concatenate([com, np.zeros((1, 3))])
    frames = JointFrames(
        array([np.subtract(h.F.position, from_com[h.parent]) for h in hinges], k, 3),
        array([rotation_matrix(h.F.quaternion) for h in hinges], k, 3, 3),
        array([np.subtract(h.M.position, from_com[h.child]) for h in hinges], k, 3),
        array([rotation_matrix(h.M.quaternion) for h in hinges], k, 3, 3),
    )
    linkage = Linkage(
        bodies=Bodies(
            array([link.mass for link in links], n),
            array([link.inertia for link in links], n, 3, 3),
        ),
        initial=State(
            array(position, n, 3), array([unit_quaternion(p.quaternion) for p in poses], n, 4)
        ),
        com=array(com, n, 3),
        frames=frames,
        axial=(),
        torsional=(),
        pairs=tuple((h.parent, h.child) for h in hinges),
        types=tuple(h.type for h in hinges),
        planar=planar,
        redundant=False,
    )
    if not hinges:
        return linkage
    rows, gradient = (np.asarray(x) for x in at_start(linkage))
    check_satisfied(rows, linkage.initial)
    sizes = np.linalg.svd(gradient.reshape(len(rows), -1), compute_uv=False)
    redundant = int(np.sum(sizes > RANK * sizes[0])) < len(rows)
    return dataclasses.replace(linkage, redundant=redundant)

"""A description with loops as a MuJoCo model: the same bodies, joints, springs, dampers and closing points.

A Hooke joint is two hinges, a cylindrical one a hinge and a slide, and every ball joint that closes a loop is
an `equality connect` of two sites, which MuJoCo keeps by a soft constraint. There is no contact. What cannot
be said alike raises.
"""

from typing import NamedTuple

import numpy as np


GROUND = "world"
# The parts of each joint type: MuJoCo's type, and the field of the description that has its axis.
PARTS = {
    "revolute": (("hinge", "axis"),),
    "prismatic": (("slide", "axis"),),
    "cylindrical": (("hinge", "axis"), ("slide", "axis")),
    "universal": (("hinge", "axis"), ("hinge", "axis2")),
    "spherical": (("ball", ""),),
}
AXES = {
    ("universal", "axis"): (1.0, 0.0, 0.0),
    ("universal", "axis2"): (0.0, 1.0, 0.0),
}
STIFF = (
    'solref="{} 1" solimp="0.9999 0.9999 0.001"'  # as hard as steps of half its first number allow
)


class Order(NamedTuple):
    """Where MuJoCo's coordinates and speeds are among ours: theirs = ours[order]."""

    q: np.ndarray
    v: np.ndarray


def order(description, joint_names) -> Order:
    """The order of a model's coordinates and speeds in the text of `mjcf`.

    Args:
        description: the mechanism.
        joint_names: those of the linkax model, in the order of its coordinates.
    """
    by_name = {joint.name: joint for joint in description.joints}
    q_at, v_at, nq, nv = {}, {}, 0, 0
    for name in joint_names:
        wide_q, wide_v = widths(by_name[name])
        q_at[name], v_at[name] = range(nq, nq + wide_q), range(nv, nv + wide_v)
        nq, nv = nq + wide_q, nv + wide_v
    visited = [joint.name for joint in depth_first(description)]
    flat = lambda at: np.array([k for name in visited for k in at[name]], int)
    return Order(flat(q_at), flat(v_at))


def widths(joint) -> tuple[int, int]:
    """Numbers of coordinates and speeds."""
    if joint.type == "spherical":
        return 4, 3
    return len(PARTS[joint.type]), len(PARTS[joint.type])


def depth_first(description, parent: str = GROUND) -> list:
    """The joints of the tree as MuJoCo visits them."""
    found = []
    for joint in description.joints:
        if joint.parent == parent:
            found += [joint, *depth_first(description, joint.child)]
    return found


def mjcf(description, h: float, stiff: bool = False) -> str:
    """The text of the model; `stiff` makes its loops as hard as steps of h [s] allow."""
    _check(description)
    hard = STIFF.format(2.0 * h) if stiff else ""
    loops = "".join(
        f'<connect site1="{loop.name}.parent" site2="{loop.name}.child" {hard}/>'
        for loop in description.loops
    )
    inside = _sites(description, GROUND) + _below(description, GROUND)
    return (
        f'<mujoco model="{description.name}"><compiler angle="radian" autolimits="false"/>'
        f'<option timestep="{h}" gravity="{_words(description.gravity)}">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{inside}</worldbody><equality>{loops}</equality></mujoco>"
    )


def _below(description, parent: str) -> str:
    return "".join(_body(description, j) for j in description.joints if j.parent == parent)


def _body(description, joint) -> str:
    """The body that a joint carries, with all that hangs on it."""
    body = next(b for b in description.bodies if b.name == joint.child)
    F, M = joint.parent_frame, joint.child_frame
    at = np.asarray(F.position) - _turned(F.quaternion, M.position)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia
    return (
        f'<body name="{body.name}" pos="{_words(at)}" quat="{_words(F.quaternion)}">'
        f'<inertial pos="{_words(body.com)}" mass="{body.mass!r}" '
        f'fullinertia="{_words((xx, yy, zz, xy, xz, yz))}"/>'
        f"{_joint(description, joint)}{_sites(description, body.name)}"
        f"{_below(description, body.name)}</body>"
    )


def _joint(description, joint) -> str:
    parts = PARTS[joint.type]
    damping = np.broadcast_to(joint.damping or 0.0, (widths(joint)[1],)).tolist()
    text = ""
    for k, (kind, axis) in enumerate(parts):
        told = ""
        if axis:
            default = AXES.get((joint.type, axis), (0.0, 0.0, 1.0))
            told = f'axis="{_words(getattr(joint, axis) or default)}"'
        text += (
            f'<joint name="{joint.name}.{k}" type="{kind}" {told} damping="{damping[k]!r}" '
            f'pos="{_words(joint.child_frame.position)}" {_spring(description, joint)}/>'
        )
    return text


def _spring(description, joint) -> str:
    own = [e for e in description.elements if e.joint == joint.name]
    return " ".join(f'stiffness="{e.stiffness!r}" springref="{e.free_angle!r}"' for e in own)


def _sites(description, body: str) -> str:
    """The points of a body where loops are closed."""
    ends = [(x.name, side, x) for x in description.loops for side in ("parent", "child")]
    return "".join(
        f'<site name="{name}.{side}" pos="{_words(getattr(loop, f"{side}_frame").position)}"/>'
        for name, side, loop in ends
        if getattr(loop, side) == body
    )


def _check(description) -> None:
    """Refuses what the text would say differently."""
    for joint in description.joints:
        turned = joint.child_frame.quaternion != (1.0, 0.0, 0.0, 0.0)
        if joint.type not in PARTS or turned or joint.mimic or joint.armature:
            raise ValueError(
                f"Joint `{joint.name}` of type {joint.type} cannot be written for MuJoCo; it must be one of "
                f"{', '.join(PARTS)} with a child frame that is not turned, no mimic and no armature."
            )
        if joint.type == "spherical" and np.ndim(joint.damping or 0.0):
            raise ValueError(f"Ball joint `{joint.name}` must have one damping for all its axes.")
    for loop in description.loops:
        if loop.type != "spherical":
            raise ValueError(
                f"Loop `{loop.name}` is {loop.type}, but must be spherical for MuJoCo."
            )
    revolute = {joint.name for joint in description.joints if joint.type == "revolute"}
    held = [getattr(e, "joint", None) for e in description.elements]
    for element, joint in zip(description.elements, held, strict=True):
        if element.type != "torsional-spring" or joint not in revolute or held.count(joint) > 1:
            raise ValueError(
                f"Element `{element.name}` cannot be written for MuJoCo; it must be the only torsional "
                "spring of a revolute joint of the tree."
            )
    if description.motions:
        raise ValueError(f"Motion `{description.motions[0].name}` cannot be written for MuJoCo.")


def _turned(quaternion, vector) -> np.ndarray:
    w, u = quaternion[0], np.asarray(quaternion[1:])
    vector = np.asarray(vector)
    return vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)


def _words(numbers) -> str:
    return " ".join(repr(float(x)) for x in numbers)

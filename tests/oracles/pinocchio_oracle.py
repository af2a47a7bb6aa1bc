"""A robot in both libraries: our model, Pinocchio's, and the exact map between their coordinates.

Joints are matched by name. Pinocchio keeps mimic joints as free ones; with its speeds = G v, G being a
permutation but for the rows of the followers, all of its answers project on ours: M = G^T M' G,
tau = G^T tau', J = J' G.
"""

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import linkax as lx
from linkax.model import Model
from linkax.model.description import GROUND, BodyDescription, Description
from linkax.model.root import with_root
from linkax.model.tree import followings, unattached


# Its names are made at import, where no type checker sees them.
pin: Any = import_module("pinocchio")
# Linear before angular there, angular before linear here.
SWAPPED = (3, 4, 5, 0, 1, 2)


class States(NamedTuple):
    """States and what is asked at them, in our order, lanes first."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


class Robot(NamedTuple):
    """One robot on one root."""

    model: Model
    theirs: Any
    G: np.ndarray  # (their nv, our nv)
    frames: tuple[str, ...]  # whose poses and Jacobians are compared
    welded: tuple[str, ...]  # massless joints held still on both sides


def both(path: Path, root: str) -> Robot:
    """The robot as both libraries read it, on a "fixed" or a "floating" root."""
    description = rooted(lx.describe(path), root)
    model = lx.build(description, massless="weld").model
    base = (pin.JointModelFreeFlyer(),) if root == "floating" else ()
    theirs = pin.buildModelFromUrdf(str(path), *base)
    follow = followings(description)
    welded = [name for name in theirs.names if name not in model.joint_names]
    welded = [name for name in welded if name not in ("universe", "root_joint")]
    if welded:
        theirs = pin.buildReducedModel(
            theirs, [theirs.getJointId(name) for name in welded], _locked(theirs, welded, follow)
        )
    theirs.gravity.linear = np.asarray(model.gravity)
    return Robot(model, theirs, _map(model, theirs), _frames(model, theirs), tuple(welded))


def rooted(description: Description, root: str) -> Description:
    """With a root joint; what a file fixes to a link called "world" gets a body to float on.

    Pinocchio lets such a link float like any other, while here "world" is the ground.
    """
    if root == "fixed" or unattached(description):
        return with_root(description, root)
    base = "link_called_world"
    joints = [
        dataclasses.replace(joint, parent=base) if joint.parent == GROUND else joint
        for joint in description.joints
    ]
    bodies = [BodyDescription(base), *description.bodies]
    frames = [
        dataclasses.replace(frame, body=base) if frame.body == GROUND else frame
        for frame in description.frames
    ]
    floating = dataclasses.replace(description, bodies=bodies, joints=joints, frames=frames)
    return with_root(floating, root)


def _locked(theirs: Any, names: list[str], follow) -> np.ndarray:
    q = pin.neutral(theirs)
    for name in names:
        if name in follow:
            _place(theirs, q, name, follow[name].offset)
    return q


def _place(theirs: Any, q: np.ndarray, name: str, value: float) -> None:
    """One coordinate of theirs; unbounded angles are stored as (cos, sin)."""
    joint = theirs.joints[theirs.getJointId(name)]
    if joint.nq == 2:
        q[joint.idx_q : joint.idx_q + 2] = np.cos(value), np.sin(value)
    else:
        q[joint.idx_q] = value


def _speeds_of(theirs: Any, name: str) -> tuple[int, ...]:
    """Where the speeds of our joint are in theirs."""
    if name == "root":
        start = theirs.joints[1].idx_v
        return tuple(start + k for k in SWAPPED)
    joint = theirs.joints[theirs.getJointId(name)]
    if joint.nv != 1:
        raise ValueError(f"Joint `{name}` has {joint.nv} freedoms, but the sweep knows one or six.")
    return (joint.idx_v,)


def _map(model: Model, theirs: Any) -> np.ndarray:
    """(their nv, our nv): speeds of theirs from ours."""
    t = model.topology
    tree = np.zeros((theirs.nv, t.tree_nv))
    for body, name in enumerate(t.joint_names):
        for k, row in enumerate(_speeds_of(theirs, name)):
            tree[row, t.v_slots.start[body] + k] = 1.0
    if tree.sum() != theirs.nv:
        raise ValueError(f"{int(tree.sum())} of {theirs.nv} speeds were matched by name.")
    return tree @ _spanning(model)


def _spanning(model: Model) -> np.ndarray:
    """(tree_nv, nv): speeds of all our joints from the independent ones."""
    t = model.topology
    G = np.zeros((t.tree_nv, t.nv))
    column = {}
    place = 0
    for body in t.free_bodies:
        column[body] = place
        for k in range(t.joints[body].nv):
            G[t.v_slots.start[body] + k, place + k] = 1.0
        place += t.joints[body].nv
    for (follower, leader), ratio in zip(t.followers, np.asarray(model.ratio), strict=True):
        G[t.v_slots.start[follower], column[leader]] = ratio
    return G


def _frames(model: Model, theirs: Any) -> tuple[str, ...]:
    """A link on the last body and one on the body halfway: merged ones where there are any."""
    t = model.topology
    chosen = []
    for body in (t.nb - 1, t.nb // 2) if t.nb else ():
        carried = [
            name
            for name, carrier in zip(t.frame_names, t.frame_bodies, strict=True)
            if carrier == body and theirs.existFrame(name, pin.FrameType.BODY)
        ]
        merged = [name for name in carried if name != t.body_names[body]]
        chosen.append((merged or carried)[-1])
    return tuple(chosen)


def their_q(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Their coordinates from ours."""
    model, theirs = robot.model, robot.theirs
    t = model.topology
    found = pin.neutral(theirs)
    values, place = {}, 0
    for body in t.free_bodies:
        values[body] = q[place : place + t.joints[body].nq]
        place += t.joints[body].nq
    rules = zip(t.followers, np.asarray(model.ratio), np.asarray(model.offset), strict=True)
    for (follower, leader), ratio, offset in rules:
        values[follower] = ratio * values[leader] + offset
    for body, name in enumerate(t.joint_names):
        if name == "root":
            w, x, y, z, *position = values[body]
            found[theirs.joints[1].idx_q :][:7] = (*position, x, y, z, w)
        else:
            _place(theirs, found, name, values[body].item())
    return found


def states(model: Model, lanes: int, seed: int) -> States:
    """Random states: angles over a turn, slides within 0.2 m, positions within 1 m, the rest of order one."""
    rng = np.random.default_rng(seed)
    t = model.topology
    rows = []
    for _ in range(lanes):
        parts = [np.zeros(0)]
        for body in t.free_bodies:
            kind = t.joints[body].name
            if kind == "floating":
                quaternion = rng.normal(size=4)
                parts += [quaternion / np.linalg.norm(quaternion), rng.uniform(-1.0, 1.0, 3)]
            else:
                reach = 0.2 if kind == "prismatic" else np.pi
                parts.append(rng.uniform(-reach, reach, t.joints[body].nq))
        rows.append(np.concatenate(parts))
    v, a, tau = rng.uniform(-1.0, 1.0, (3, lanes, model.nv))
    return States(np.stack(rows), v, a, tau)


def answers(robot: Robot, q, v, a, tau) -> dict[str, np.ndarray]:
    """What Pinocchio says of one state, projected on our speeds, angular first."""
    theirs, G = robot.theirs, robot.G
    data = theirs.createData()
    at, speeds = their_q(robot, q), G @ v
    found = {
        "inverse dynamics": G.T @ pin.rnea(theirs, data, at, speeds, G @ a),
        "bias force": G.T @ pin.nonLinearEffects(theirs, data, at, speeds),
        "gravity force": G.T @ pin.computeGeneralizedGravity(theirs, data, at),
        "mass matrix": G.T @ _symmetric(pin.crba(theirs, data, at)) @ G,
        "kinetic energy": np.asarray(pin.computeKineticEnergy(theirs, data, at, speeds)),
        "potential energy": np.asarray(pin.computePotentialEnergy(theirs, data, at)),
    }
    if robot.model.topology.followers:
        found["forward dynamics"] = np.linalg.solve(found["mass matrix"], tau - found["bias force"])
    else:
        found["forward dynamics"] = G.T @ pin.aba(theirs, data, at, speeds, G @ tau)
    com = pin.centerOfMass(theirs, data, at).copy()
    centroidal = pin.computeCentroidalMomentum(theirs, data, at, speeds).vector[list(SWAPPED)]
    moved = centroidal.copy()
    moved[:3] += np.cross(com, centroidal[3:])
    found |= {"centre of mass": com, "momentum": moved, "centroidal momentum": centroidal}
    return found | _frame_answers(robot, data, at, speeds)


def _symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


def _frame_answers(robot: Robot, data, q, speeds) -> dict[str, np.ndarray]:
    theirs = robot.theirs
    pin.forwardKinematics(theirs, data, q, speeds, np.zeros(theirs.nv))
    pin.computeJointJacobians(theirs, data, q)
    pin.updateFramePlacements(theirs, data)
    axes, swap = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, list(SWAPPED)
    jacobians, rates = [], []
    for name in robot.frames:
        frame = theirs.getFrameId(name, pin.FrameType.BODY)
        jacobians.append(pin.getFrameJacobian(theirs, data, frame, axes)[swap] @ robot.G)
        rate = pin.getFrameClassicalAcceleration(theirs, data, frame, axes)
        rates.append(rate.vector[swap])
    poses = [data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)] for name in robot.frames]
    nv = robot.model.nv
    return {
        "jacobians": np.asarray(jacobians).reshape(-1, 6, nv),
        "jacobian rates times v": np.asarray(rates).reshape(-1, 6),
        "frame rotations": np.asarray([p.rotation for p in poses]).reshape(-1, 3, 3),
        "frame positions": np.asarray([p.translation for p in poses]).reshape(-1, 3),
    }

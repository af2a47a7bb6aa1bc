"""A description's joints, loops, elements and motions as a Mechanism in maximal coordinates."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from linkax import maximal as mx
from linkax.constraints.expression import Expression
from linkax.constraints.model_rows import rows_of
from linkax.constraints.motion_rows import AngleRows, Coordinate, CoordinateRows
from linkax.joints import JOINTS
from linkax.math.stacks import product, rotations
from linkax.maximal.joint_loads import JointLoads
from linkax.model import (
    ForceDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    Model,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
)
from linkax.model.builder import Assembly
from linkax.model.constants import aligned
from linkax.model.description import GROUND


# Singular values of the rows' gradients below this fraction of the largest mean redundant rows.
REDUNDANT = 1e-9
# How far joints and loops of a description may gape before they are closed by moving the bodies [m or rad],
# and in how many roundings of the precision, where that is more.
GAPE, ROUNDINGS = 1e-10, 1e3


class Built(eqx.Module):
    """A Mechanism, the tree coordinates that it starts from, and what a reader should know."""

    mechanism: mx.Mechanism
    q: jax.Array
    v: jax.Array
    notes: tuple[str, ...] = eqx.field(static=True)


def mechanism_of_parts(parts: Assembly, name: str) -> Built:
    """The Mechanism of an assembled description, closed: bodies are moved where loops gape.

    Raises:
        ValueError: where the loops cannot be closed near the coordinates given, for mimic joints and
            armature, which rows between two bodies cannot express, and for bodies without mass or inertia.
    """
    model = parts.model
    _check_expressible(model, name)
    # Compiled as a whole: operation by operation the rows of a four-bar took 12 s to set up.
    mechanism = jax.jit(lambda: mx.Mechanism(mx.bodies_of(model), _rows(parts), _loads(parts)))()
    q, v = (jnp.asarray(x, model.dtype) for x in (parts.initial_q, parts.initial_v))
    return _closed(mechanism, model, q, v, name)


def _check_expressible(model: Model, name: str) -> None:
    if model.topology.followers:
        joint = model.joint_names[model.topology.followers[0][0]]
        raise ValueError(
            f"Joint `{joint}` of `{name}` mimics another, which maximal coordinates cannot express yet; "
            'use formulation="tree".'
        )
    armature = np.asarray(model.armature)
    if armature.any():
        speed = model.speed_names[int(np.flatnonzero(armature)[0])]
        raise ValueError(
            f"`{speed}` of `{name}` has armature (reflected rotor inertia), which no body in maximal "
            'coordinates carries; set it to zero or use formulation="tree".'
        )
    inertia = np.asarray(model.inertia)
    lowest = np.linalg.eigvalsh(0.5 * (inertia + np.swapaxes(inertia, 1, 2)))[:, 0]
    for body, mass, moment in zip(model.body_names, np.asarray(model.mass), lowest, strict=True):
        if not (mass > 0.0 and moment > 0.0):
            raise ValueError(
                f"Body `{body}` of `{name}` has mass {mass:g} and smallest principal moment {moment:g}, but "
                'in maximal coordinates both must be positive; use formulation="tree".'
            )


# --- rows ---


def _rows(parts: Assembly) -> mx.Constraints:
    """Joint by joint, then loop by loop, then prescribed motions."""
    groups: list[mx.AbstractRows] = list(mx.joint_rows(parts.model).groups)
    if parts.loops:
        loops = [_loop(parts.model, loop) for loop in parts.loops]
        together = [*groups, *loops]
        groups = [jax.tree.map(lambda *x: jnp.concatenate(x), *_alike(together))]
    groups += [_motion(parts.model, motion) for motion in parts.motions]
    return mx.in_order(groups)


def _alike(groups: list[Any]) -> list[mx.JointRows]:
    """Groups of joints as one, on one static side: their numbers can be joined leaf by leaf."""
    bodies = tuple(b for g in groups for b in g.bodies)
    joints = tuple(j for g in groups for j in g.joints)
    return [dataclasses.replace(g, bodies=bodies, joints=joints) for g in groups]


def _body(model: Model, name: str) -> int:
    return -1 if name == GROUND else model.body_index(name)


def _com(model: Model, body: int):
    return jnp.zeros((3,), model.dtype) if body < 0 else model.com[body]


def _frames(model: Model, loop: JointDescription) -> dict[str, Any]:
    """The fields of JointRows for one loop."""
    parent, child = _body(model, loop.parent), _body(model, loop.child)
    array = lambda x: jnp.asarray(x, model.dtype)
    turn = array(_canonical(loop))[None]
    turned = lambda placement: product(rotations(array(placement.quaternion)[None]), turn)
    return {
        "parent_point": (array(loop.parent_frame.position) - _com(model, parent))[None],
        "parent_rotation": turned(loop.parent_frame),
        "child_point": (array(loop.child_frame.position) - _com(model, child))[None],
        "child_rotation": turned(loop.child_frame),
        "bodies": ((parent, child),),
    }


def _canonical(loop: JointDescription) -> jax.Array | np.ndarray:
    """From the type's own frame to F: z onto the axis, or x and y onto a universal joint's two."""
    if loop.axis is not None and loop.axis2 is not None:
        x, y = np.asarray(loop.axis), np.asarray(loop.axis2)
        return np.stack([x, y, np.cross(x, y)], axis=1)
    if not JOINTS[loop.type].uses_axis:
        return np.eye(3)
    axis = (0.0, 0.0, 1.0) if loop.axis is None else loop.axis
    return aligned(jnp.asarray([axis]))[0]


def _loop(model: Model, loop: JointDescription) -> mx.JointRows:
    pitch = jnp.asarray([loop.pitch], model.dtype)
    return mx.JointRows(joints=(JOINTS[loop.type],), pitch=pitch, **_frames(model, loop))  # pyright: ignore[reportCallIssue]


def _motion(model: Model, motion) -> mx.AbstractRows:
    follows = Expression.stacked([motion.expression], model.dtype)
    if motion.body is not None:
        return AngleRows(motion=follows, bodies=((_body(model, motion.body),),))  # pyright: ignore[reportCallIssue]
    index = model.joint_names.index(motion.joint)
    joint = model.topology.joints[index]
    coordinate = Coordinate.SLIDE if joint.turn == 0 else Coordinate.ANGLE
    fields = _joint_frames(model, index)
    return CoordinateRows(motion=follows, coordinate=coordinate, **fields)  # pyright: ignore[reportCallIssue]


def _joint_frames(model: Model, index: int) -> dict[str, Any]:
    """The fields of JointRows for one joint of the tree."""
    rows = rows_of(model, (index,))
    names = ("parent_point", "parent_rotation", "child_point", "child_rotation", "bodies")
    return {name: getattr(rows, name) for name in names}


# --- loads ---


def _loads(parts: Assembly) -> mx.Loads:
    model = parts.model
    found: list[mx.AbstractLoad] = [mx.Gravity(model.gravity)]
    if parts.damping.any():
        still = jnp.zeros((model.nv,), model.dtype)
        found.append(JointLoads(model, still, jnp.asarray(parts.damping, model.dtype)))
    for kind, make in _MAKERS.items():
        elements = [e for e in parts.elements if isinstance(e, kind)]
        if elements:
            found.append(make(parts, elements))
    return mx.Loads(tuple(found))


def _stack(model: Model, rows: Sequence[Any]):
    return jnp.asarray(np.asarray(rows, float), model.dtype)


def _ends(parts: Assembly, elements) -> dict[str, Any]:
    model = parts.model
    bodies = tuple((_body(model, e.body_a), _body(model, e.body_b)) for e in elements)
    coms = jnp.stack([jnp.stack([_com(model, a), _com(model, b)]) for a, b in bodies])
    return {
        "point_a": _stack(model, [e.point_a for e in elements]) - coms[:, 0],
        "point_b": _stack(model, [e.point_b for e in elements]) - coms[:, 1],
        "bodies": bodies,
    }


def _hinges(parts: Assembly, elements) -> dict[str, Any]:
    """Frames of the revolute joints or loops that torsional elements act on."""
    loops = {loop.name: loop for loop in parts.loops}
    names = parts.model.joint_names
    frames = [
        _frames(parts.model, loops[e.joint])
        if e.joint in loops
        else _joint_frames(parts.model, names.index(e.joint))
        for e in elements
    ]
    stacked = lambda key: jnp.concatenate([f[key] for f in frames])
    return {
        "parent_rotation": stacked("parent_rotation"),
        "child_rotation": stacked("child_rotation"),
        "bodies": tuple(f["bodies"][0] for f in frames),
    }


def _numbers(parts: Assembly, elements, name: str):
    return _stack(parts.model, [getattr(e, name) for e in elements])


def _springs(parts, elements):
    return mx.LinearSprings(
        stiffness=_numbers(parts, elements, "stiffness"),
        free_length=_numbers(parts, elements, "free_length"),
        **_ends(parts, elements),
    )


def _dampers(parts, elements):
    return mx.LinearDampers(damping=_numbers(parts, elements, "damping"), **_ends(parts, elements))


def _torsional_springs(parts, elements):
    return mx.TorsionalSprings(
        stiffness=_numbers(parts, elements, "stiffness"),
        free_angle=_numbers(parts, elements, "free_angle"),
        **_hinges(parts, elements),
    )


def _torsional_dampers(parts, elements):
    return mx.TorsionalDampers(
        damping=_numbers(parts, elements, "damping"), **_hinges(parts, elements)
    )


def _forces(parts, elements):
    bodies = tuple(_body(parts.model, e.body) for e in elements)
    coms = jnp.stack([_com(parts.model, b) for b in bodies])
    point = _numbers(parts, elements, "point") - coms
    return mx.PointForces(point=point, force=_numbers(parts, elements, "force"), bodies=bodies)


def _torques(parts, elements):
    bodies = tuple(_body(parts.model, e.body) for e in elements)
    return mx.BodyTorques(torque=_numbers(parts, elements, "torque"), bodies=bodies)


_MAKERS: dict[type, Callable[[Assembly, list[Any]], mx.AbstractLoad]] = {
    LinearSpringDescription: _springs,
    LinearDamperDescription: _dampers,
    TorsionalSpringDescription: _torsional_springs,
    TorsionalDamperDescription: _torsional_dampers,
    ForceDescription: _forces,
    TorqueDescription: _torques,
}


# --- the start ---


def _closed(mechanism: mx.Mechanism, model: Model, q, v, name: str) -> Built:
    """The mechanism with a start that its rows allow, and whether rows are redundant there."""
    start = jax.jit(mx.to_maximal)(model, q, v)
    notes: list[str] = []
    gaps, speeds, gradient = _survey(mechanism, start)
    gape = _largest(gaps)
    allowed = max(GAPE, ROUNDINGS * float(jnp.finfo(model.dtype).eps))
    if gape > allowed:
        found = mx.assemble(mechanism, start)
        if not bool(found.converged):
            raise ValueError(
                f"The loops of `{name}` gape by {gape:.3g} at the initial coordinates and cannot be closed "
                "near them; give initial positions that are nearer to a closed one."
            )
        start = found.state
        _, speeds, gradient = _survey(mechanism, start)
        notes.append(
            f"The loops gape by {gape:.2g} at the initial coordinates; the run starts from the nearest "
            "closed configuration."
        )
    unmet = _largest(speeds)
    speed = 1.0 + _largest(start.velocity) + _largest(start.angular_velocity)
    if unmet > allowed * speed:
        start = mx.project_velocities(mechanism, start)
        notes.append(
            f"The initial speeds open the loops at {unmet:.2g} m/s (or rad/s); the run starts from the "
            "nearest ones that do not, in the sense of kinetic energy."
        )
    if notes:
        q, v = jax.jit(mx.to_tree)(model, start, q)
    redundant = mx.redundant(mechanism.bodies, gradient, REDUNDANT)
    mechanism = mx.Mechanism(mechanism.bodies, mechanism.constraints, mechanism.loads, redundant)
    return Built(mechanism, q, v, tuple(notes))


@jax.jit
def _survey(mechanism: mx.Mechanism, state: mx.State):
    """(gaps, the rates at which they open, the rows' gradient)."""
    return (
        mechanism.closure(state),
        mx.velocity_residual(mechanism, state),
        mechanism.gradient(state),
    )


def _largest(x) -> float:
    return float(np.max(np.abs(np.asarray(x)), initial=0.0))

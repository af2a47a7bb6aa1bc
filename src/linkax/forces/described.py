"""Described elements as loads on the bodies of a model."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from linkax.forces.elements import (
    BodyTorques,
    LinearDampers,
    LinearSprings,
    PointForces,
    TorsionalDampers,
    TorsionalSprings,
)
from linkax.forces.loads import AbstractLoad
from linkax.kinematics.joint_frames import com_of, frames_of_joints, frames_of_loop, named_body
from linkax.model import (
    ElementDescription,
    ForceDescription,
    JointDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    LoopDescription,
    Model,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
)


def loads_of(
    model: Model, elements: Sequence[ElementDescription], loops: Sequence[LoopDescription] = ()
) -> tuple[AbstractLoad, ...]:
    """The elements, those of a kind side by side; torsional ones may act on loops, found by name."""
    found: list[AbstractLoad] = []
    for kind, make in _MAKERS.items():
        own = [e for e in elements if isinstance(e, kind)]
        if own:
            found.append(make(model, own, loops))
    return tuple(found)


def _stack(model: Model, rows: Sequence[Any]):
    return jnp.asarray(np.asarray(rows, float), model.dtype)


def _ends(model: Model, elements) -> dict[str, Any]:
    bodies = tuple((named_body(model, e.body_a), named_body(model, e.body_b)) for e in elements)
    coms = jnp.stack([jnp.stack([com_of(model, a), com_of(model, b)]) for a, b in bodies])
    return {
        "point_a": _stack(model, [e.point_a for e in elements]) - coms[:, 0],
        "point_b": _stack(model, [e.point_b for e in elements]) - coms[:, 1],
        "bodies": bodies,
    }


def _hinges(model: Model, elements, loops) -> dict[str, Any]:
    """Frames of the revolute joints or loops that torsional elements act on."""
    by_name = {loop.name: loop for loop in loops if isinstance(loop, JointDescription)}
    found = [
        frames_of_loop(model, by_name[e.joint])
        if e.joint in by_name
        else frames_of_joints(model, (model.joint_names.index(e.joint),))
        for e in elements
    ]
    frames = [frame for frame, _ in found]
    return {
        "parent_rotation": jnp.concatenate([f.parent_rotation for f in frames]),
        "child_rotation": jnp.concatenate([f.child_rotation for f in frames]),
        "bodies": tuple(bodies[0] for _, bodies in found),
    }


def _numbers(model: Model, elements, name: str):
    return _stack(model, [getattr(e, name) for e in elements])


def _springs(model, elements, loops):
    return LinearSprings(
        stiffness=_numbers(model, elements, "stiffness"),
        free_length=_numbers(model, elements, "free_length"),
        **_ends(model, elements),
    )


def _dampers(model, elements, loops):
    return LinearDampers(damping=_numbers(model, elements, "damping"), **_ends(model, elements))


def _torsional_springs(model, elements, loops):
    return TorsionalSprings(
        stiffness=_numbers(model, elements, "stiffness"),
        free_angle=_numbers(model, elements, "free_angle"),
        **_hinges(model, elements, loops),
    )


def _torsional_dampers(model, elements, loops):
    return TorsionalDampers(
        damping=_numbers(model, elements, "damping"), **_hinges(model, elements, loops)
    )


def _forces(model, elements, loops):
    bodies = tuple(named_body(model, e.body) for e in elements)
    coms = jnp.stack([com_of(model, b) for b in bodies])
    point = _numbers(model, elements, "point") - coms
    return PointForces(point=point, force=_numbers(model, elements, "force"), bodies=bodies)


def _torques(model, elements, loops):
    bodies = tuple(named_body(model, e.body) for e in elements)
    return BodyTorques(torque=_numbers(model, elements, "torque"), bodies=bodies)


_MAKERS: dict[type, Callable[[Model, list[Any], Any], AbstractLoad]] = {
    LinearSpringDescription: _springs,
    LinearDamperDescription: _dampers,
    TorsionalSpringDescription: _torsional_springs,
    TorsionalDamperDescription: _torsional_dampers,
    ForceDescription: _forces,
    TorqueDescription: _torques,
}

"""A description becomes a model: checked, fixed joints merged, bodies sorted, numbers placed.

All of it happens in float64 NumPy; the last step converts to the model's precision.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from linkax.model.carry import Carried, carry
from linkax.model.check import checked
from linkax.model.check_values import every
from linkax.model.description import (
    Description,
    ElementDescription,
    JointDescription,
    LoopDescription,
    MotionDescription,
    Placement,
    Triple,
)
from linkax.model.drives import expand_drives
from linkax.model.merge import Merged, MovingBody, merge
from linkax.model.mobility import Mobility, mobility, weld
from linkax.model.model import Model
from linkax.model.naming import suggestion
from linkax.model.placement import compose, transform_point
from linkax.model.start import completed
from linkax.model.topology import Topology
from linkax.model.tree import Following, check_attached, followings


MASSLESS = ("error", "weld")
# An initial value typed for a follower may repeat what its leader implies, to the digits of a file.
CONSISTENT = 1e-6


class Marker(NamedTuple):
    """A named point fixed on a moving body (-1: the ground), in its axes from its origin [m]."""

    name: str
    body: int
    point: Triple


class Assembly(NamedTuple):
    """A model and what its description says beside it, as float64 NumPy arrays.

    `damping` [N m s/rad or N s/m] is per speed of the whole tree, followers included; the initial
    state and the limits of effort [N m or N] and speed [rad/s or m/s], infinite where none, are per
    independent one. Loops, elements and motions name moving bodies (or the ground), in whose axes
    they are given; the point of every force, the length of every distance and the offset of every coupling
    is told.
    """

    model: Model
    damping: np.ndarray  # (tree_nv,)
    initial_q: np.ndarray  # (nq,)
    initial_v: np.ndarray  # (nv,)
    effort: np.ndarray  # (nv,)
    velocity_limit: np.ndarray  # (nv,)
    markers: tuple[Marker, ...]
    loops: tuple[LoopDescription, ...]
    elements: tuple[ElementDescription, ...]
    motions: tuple[MotionDescription, ...]
    notes: tuple[str, ...]


def assemble(
    description: Description, massless: str = "error", dtype: Any = None, unroll: int = 1
) -> Assembly:
    """The model of a description whose every body is attached to the ground (see `with_root`).

    Drives are expanded to rotors and couplings first (`expand_drives`).
    A joint that moves no inertia at all is an error, or with massless="weld" is held at its neutral
    position, its bodies staying findable as frames. `dtype` defaults to JAX's default float. A
    `ValueError` names the first fault of the description.
    """
    if massless not in MASSLESS:
        raise ValueError(f"massless is `{massless}`;{suggestion(massless, MASSLESS)}")
    description = checked(expand_drives(description))
    check_attached(description)
    following = followings(description)
    if idle := [j.name for j in description.joints if j.mimic and j.name not in following]:
        description.notes.append(f"A mimic on a fixed joint has no effect: {', '.join(idle)}.")
    # Joints are asked for their freedoms here, with numbers, even where building is traced.
    with jax.ensure_compile_time_eval():
        merged = merge(description, {})
        found = mobility(merged.bodies, following)
        if found.dead:
            if massless == "error":
                raise ValueError(_dead_sentence(found.dead, merged.bodies))
            welds = _welds(found.dead, merged.bodies, following)
            description.notes.append(_weld_sentence(welds))
            merged = merge(description, welds)
        if found.singular:
            raise ValueError(_singular_sentence(found, merged.bodies))
    carried = carry(description, merged)
    if carried.idle:
        listed = ", ".join(f"`{name}`" for name in carried.idle)
        description.notes.append(f"Elements on parts that hold still have no effect: {listed}.")
    return _assembly(description, merged, carried, following, dtype, unroll)


# --- joints that cannot be accelerated ---


def _body_of(joint: str, bodies: list[MovingBody]) -> MovingBody:
    return next(body for body in bodies if body.joint.name == joint)


def _dead_sentence(dead: list[str], bodies: list[MovingBody]) -> str:
    first = _body_of(dead[0], bodies)
    others = f" (nor do {', '.join(f'`{name}`' for name in dead[1:4])})" if dead[1:] else ""
    return (
        f"Joint `{first.joint.name}` moves no inertia{others}: body `{first.name}` and what it "
        "carries have none that the joint could accelerate; give them mass or inertia, give the "
        'joint an armature, or use massless="weld".'
    )


def _singular_sentence(found: Mobility, bodies: list[MovingBody]) -> str:
    first = _body_of(found.singular[0], bodies)
    return (
        f"Joint `{first.joint.name}` makes the mass matrix singular: one of its freedoms moves no "
        "inertia that the joints beyond it do not move as well; give body "
        f"`{first.name}` inertia, give the joint an armature, or choose one with fewer freedoms."
    )


def _weld_sentence(welds) -> str:
    listed = ", ".join(f"`{joint}`" for joint in welds)
    return f"Joints that move no inertia are welded at their neutral position: {listed}."


def _welds(dead: list[str], bodies: list[MovingBody], following) -> dict[str, Placement]:
    """X_FM of each dead joint; a follower stands where its leader's neutral position puts it."""
    offsets = {name: follow.offset for name, follow in following.items()}
    return {
        body.joint.name: weld(body.kind, body, offsets.get(body.joint.name, 0.0))
        for body in bodies
        if body.joint.name in dead
    }


# --- arrays ---


class _Parts(NamedTuple):
    """What the arrays are filled from, each list in the order of its array."""

    bodies: list[MovingBody]
    free: list[JointDescription]
    followers: list[int]
    rules: list[Following]
    frames: list[tuple[str, int, Placement]]


def _parts(description: Description, merged: Merged, following: dict[str, Following]) -> _Parts:
    names = [body.joint.name for body in merged.bodies]
    followers = [i for i, name in enumerate(names) if name in following]
    return _Parts(
        merged.bodies,
        [body.joint for body in merged.bodies if body.joint.name not in following],
        followers,
        [following[names[i]] for i in followers],
        _frames(description, merged),
    )


def _assembly(
    description: Description,
    merged: Merged,
    carried: Carried,
    following: dict[str, Following],
    dtype,
    unroll: int,
) -> Assembly:
    parts = _parts(description, merged, following)
    bodies, free = parts.bodies, parts.free
    initial = {body.joint.name: _initial(body) for body in bodies}
    for i, rule in zip(parts.followers, parts.rules, strict=True):
        _check_follower(bodies[i].joint, rule, initial)
    index = {body.joint.name: i for i, body in enumerate(bodies)}
    leaders = [index[rule.leader] for rule in parts.rules]
    loops = completed(carried.loops, bodies, _coordinates(parts, initial))
    topology = Topology(
        body_names=tuple(body.name for body in bodies),
        joint_names=tuple(index),
        joints=tuple(body.kind for body in bodies),
        parents=tuple(body.parent for body in bodies),
        frame_names=tuple(name for name, _, _ in parts.frames),
        frame_bodies=tuple(body for _, body, _ in parts.frames),
        followers=tuple(zip(parts.followers, leaders, strict=True)),
        unroll=unroll,
    )
    precision = jnp.result_type(float) if dtype is None else dtype
    return Assembly(
        _model(topology, parts, description.gravity, precision),
        damping=_stacked(body.joint.damping for body in bodies),
        initial_q=_stacked(initial[joint.name][0] for joint in free),
        initial_v=_stacked(initial[joint.name][1] for joint in free),
        effort=_stacked(joint.effort for joint in free),
        velocity_limit=_stacked(joint.velocity for joint in free),
        markers=_markers(description, merged),
        loops=loops,
        elements=carried.elements,
        motions=carried.motions,
        notes=tuple(description.notes),
    )


def _model(topology: Topology, parts: _Parts, gravity: Triple, dtype) -> Model:
    def leaf(values, *shape):
        return jnp.asarray(np.asarray(values, dtype=float).reshape(shape), dtype)

    bodies, free, rules = parts.bodies, parts.free, parts.rules
    frames = [place for _, _, place in parts.frames]
    nb, nf = len(bodies), len(frames)
    return Model(
        mass=leaf([body.inertia.mass for body in bodies], nb),
        com=leaf([body.inertia.com for body in bodies], nb, 3),
        inertia=leaf([body.inertia.inertia for body in bodies], nb, 3, 3),
        parent_position=leaf([body.parent_frame.position for body in bodies], nb, 3),
        parent_quaternion=leaf([body.parent_frame.quaternion for body in bodies], nb, 4),
        child_position=leaf([body.child_frame.position for body in bodies], nb, 3),
        child_quaternion=leaf([body.child_frame.quaternion for body in bodies], nb, 4),
        axis=leaf([body.axis for body in bodies], nb, 3),
        pitch=leaf([body.joint.pitch for body in bodies], nb),
        armature=leaf(_stacked(body.joint.armature for body in bodies), -1),
        lower=leaf(_stacked(joint.lower for joint in free), -1),
        upper=leaf(_stacked(joint.upper for joint in free), -1),
        gravity=leaf(gravity, 3),
        frame_position=leaf([place.position for place in frames], nf, 3),
        frame_quaternion=leaf([place.quaternion for place in frames], nf, 4),
        ratio=leaf([rule.ratio for rule in rules], -1),
        offset=leaf([rule.offset for rule in rules], -1),
        topology=topology,
    )


def _stacked(sequences) -> np.ndarray:
    return np.asarray([value for sequence in sequences for value in every(sequence)], dtype=float)


def _initial(body: MovingBody):
    """Initial coordinates and speeds of a joint; neutral and zero where nothing is said."""
    position, speed = body.joint.position, body.joint.speed
    return (
        body.kind.neutral() if position is None else every(position),
        (0.0,) * body.kind.nv if speed is None else every(speed),
    )


def _coordinates(parts: _Parts, initial) -> dict[str, tuple[float, ...]]:
    """Initial coordinates of all joints, a follower's being those its leader implies."""
    found = {name: tuple(float(x) for x in position) for name, (position, _) in initial.items()}
    for i, rule in zip(parts.followers, parts.rules, strict=True):
        (leading,) = found[rule.leader]
        found[parts.bodies[i].joint.name] = (rule.ratio * leading + rule.offset,)
    return found


def _check_follower(joint: JointDescription, rule: Following, initial):
    """A follower's initial values, if given at all, are those its leader implies."""
    (leading_q,), (leading_v,) = initial[rule.leader]
    implied = {"position": rule.ratio * leading_q + rule.offset, "speed": rule.ratio * leading_v}
    for key, value in implied.items():
        given = getattr(joint, key)
        if given is not None and not math.isclose(
            given[0], value, rel_tol=CONSISTENT, abs_tol=CONSISTENT
        ):
            raise ValueError(
                f"Joint `{joint.name}` has initial {key}={given[0]:g}, but it follows "
                f"`{rule.leader}`, which implies {value:g}; leave it out."
            )


def _frames(description: Description, merged: Merged) -> list[tuple[str, int, Placement]]:
    """(name, moving body, X_BF) of every body of the description, then of its named frames."""
    found = [(body.name, *merged.places[body.name]) for body in description.bodies]
    for frame in description.frames:
        body, place = merged.places[frame.body]
        found.append((frame.name, body, compose(place, frame.placement)))
    return found


def _markers(description: Description, merged: Merged) -> tuple[Marker, ...]:
    places = [(marker, *merged.places[marker.body]) for marker in description.markers]
    return tuple(Marker(m.name, body, transform_point(place, m.point)) for m, body, place in places)

"""The trees that operational space and joint forces are asked of, and dense answers to compare with."""

import functools as ft
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import linkax as lx
from linkax import library
from linkax.model import Description
from linkax.model.description import (
    GROUND,
    BodyDescription,
    FrameDescription,
    JointDescription,
    MimicDescription,
    Placement,
)


LANES = 2
# Evaluated once: LLVM's optimisations would cost a third more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}
POINTS = ((0.3, -0.2, 0.1), (0.0, 0.5, -0.4), (0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (0.0, 0.0, 0.0))


def with_hand(tree: Description, body: str) -> Description:
    """The tree with a tilted frame on a body and another on the ground."""
    tilted = Placement((0.1, -0.2, 0.3), (0.8, 0.0, -0.6, 0.0))
    tree.frames.append(FrameDescription("hand", body, tilted))
    tree.frames.append(FrameDescription("wall", GROUND, tilted))
    return tree


def mixed() -> lx.Model:
    """A branching tree of all joint types, one part of it on a floating base, another on the ground."""
    tree = library.random_tree(jax.random.key(3), 8, branching=0.5)
    base = BodyDescription("base", 3.0, (0.1, -0.2, 0.05), library.diagonal(0.2, 0.3, 0.35))
    rooted = [joint for joint in tree.joints if joint.parent == GROUND]
    rooted[0].parent = "base"
    tree.bodies.insert(0, base)
    tree.joints.insert(0, JointDescription("root", "floating", GROUND, "base"))
    tree.gravity = (0.3, -0.7, -9.81)
    return lx.build(with_hand(tree, "body7")).model


def hinges(dtype=jnp.float64) -> lx.Model:
    """A branching tree of hinges, two of its bodies on the ground: every recursion is one scan."""
    tree = library.random_tree(jax.random.key(5), 6, ("revolute",), 0.6)
    return lx.build(with_hand(tree, "body5"), dtype=dtype).model


def mimics() -> lx.Model:
    """Three hinges, the last of which follows the first."""
    tree = library.random_tree(jax.random.key(2), 3, ("revolute",), 0.0)
    tree.joints[2].mimic = MimicDescription(tree.joints[0].name, -1.5, 0.2)
    return lx.build(with_hand(tree, "body2")).model


def asked_of(model: lx.Model) -> list[str | int]:
    """Five places: the tip, a frame, the ground, a body given twice."""
    return [model.nb - 1, "hand", "wall", model.body_names[2], 2]


def twists(model: lx.Model, q) -> jax.Array:
    """(nb, 6, nv): the Jacobians of all body frames, as the twists of unit speeds."""

    def of(v):
        k = lx.kinematics(model, q, v)
        return jnp.concatenate([k.angular_velocity, k.velocity], axis=-1)

    return jnp.moveaxis(jax.vmap(of)(jnp.eye(model.nv, dtype=model.dtype)), 0, -1)


# The rotation of the tilted frame, (0.8, 0, -0.6, 0): about y by the angle of cosine 0.28 and sine -0.96.
_TILT = np.array([[0.28, 0.0, -0.96], [0.0, 1.0, 0.0], [0.96, 0.0, 0.28]])


class State(NamedTuple):
    """One state, and what acts."""

    q: Any
    v: Any
    a: Any
    wrenches: Any


def states(model: lx.Model, lanes: int = LANES) -> State:
    """Random states, lanes first."""
    rng = np.random.default_rng(11)
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(1), lanes))
    v, a = rng.normal(size=(2, lanes, model.nv))
    wrenches = 5.0 * rng.normal(size=(lanes, model.nb, 6))
    return State(q, *(jnp.asarray(x, model.dtype) for x in (v, a, wrenches)))


def results(model: lx.Model, state: State) -> dict[str, Any]:
    """The services of one state that are recursions of their own."""
    q, v, a, wrenches = state
    forces = lx.joint_forces(model, q, v, a, wrenches)
    return {
        "bodies": lx.body_compliances(model, q),
        "compliance": lx.operational_space_compliance(model, q, asked_of(model), POINTS),
        "child": forces.child,
        "parent": forces.parent,
    }


def _answers(model: lx.Model, state: State) -> dict[str, Any]:
    k = lx.kinematics(model, state.q, state.v, state.a)
    return results(model, state) | {"twists": twists(model, state.q), "kinematics": k}


@ft.cache
def answers(make) -> tuple[lx.Model, State, dict[str, Any]]:
    """(model, states, answers), lanes first, of one of the trees above; one compilation each.

    "M" and "J", the mass matrix and the Jacobians of the places asked, stacked, are made of the twists.
    """
    model = make()
    at = states(model)
    compiled = jax.jit(jax.vmap(_answers, in_axes=(None, 0)), compiler_options=CHEAPLY)
    found = jax.device_get(compiled(model, at))
    return model, at, found | {"M": _mass_matrices(model, found), "J": _jacobians(model, found)}


def _moved(J, arm):
    """The Jacobian of a point at an arm in world axes from the frame's; axes (lanes, ...)."""
    linear = J[..., 3:, :] - np.cross(arm[..., None, :], J[..., :3, :].swapaxes(-1, -2)).swapaxes(
        -1, -2
    )
    return np.concatenate([J[..., :3, :], linear], axis=-2)


def _mass_matrices(model: lx.Model, found) -> np.ndarray:
    """The sum over the bodies of J^T I J at their centres of mass, and the armature."""
    k, t = found["kinematics"], model.topology
    J = _moved(found["twists"], k.com - k.position)
    inertia = k.rotation @ np.asarray(model.inertia) @ k.rotation.swapaxes(-1, -2)
    angular, linear = J[..., :3, :], J[..., 3:, :] * np.sqrt(np.asarray(model.mass))[:, None, None]
    each = angular.swapaxes(-1, -2) @ inertia @ angular + linear.swapaxes(-1, -2) @ linear
    spread = np.eye(t.tree_nv) if not t.followers else np.asarray(speeds_of_joints(model))
    return each.sum(axis=1) + spread.T @ np.diag(np.asarray(model.armature)) @ spread


def speeds_of_joints(model: lx.Model) -> jax.Array:
    """(tree_nv, nv): the speeds of all joints from the independent ones."""
    still = model.neutral()
    return jax.vmap(lambda v: model.tree_speeds(still, v), out_axes=1)(jnp.eye(model.nv))


def _jacobians(model: lx.Model, found) -> np.ndarray:
    k = found["kinematics"]
    rows = []
    for place, point in zip(asked_of(model), POINTS, strict=True):
        if place == "wall":
            rows.append(np.zeros_like(found["twists"][:, 0]))
            continue
        body = model.nb - 1 if place == "hand" else model.body_index(place)
        offset = np.asarray(point)
        if place == "hand":
            offset = np.array([0.1, -0.2, 0.3]) + _TILT @ offset
        rows.append(_moved(found["twists"][:, body], k.rotation[:, body] @ offset))
    return np.concatenate(rows, axis=1)

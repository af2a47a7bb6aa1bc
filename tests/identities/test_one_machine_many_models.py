"""The same machine gives the same answers however its model is written, batched, compiled or rounded."""

import copy
import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import library
from linkax.dynamics.forward import articulated_body, solve_tree
from linkax.dynamics.mass import by_entry, by_product
from linkax.joints import Fixed
from linkax.model import Description, Model
from linkax.model.description import GROUND, JointDescription, MimicDescription


BODIES, LANES = 6, 4
# Evaluated once each: LLVM's optimisations would cost more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}


def hinges(n: int = BODIES) -> Description:
    """A branching tree of one joint class, whose recursions are scans with waiting branches."""
    return library.random_tree(jax.random.key(5), n, ("revolute",), 0.6)


def dynamics(model: Model, q, v, tau):
    """(forward dynamics, inverse dynamics with tau for accelerations, mass matrix)."""
    return (
        lx.forward_dynamics(model, q, v, tau),
        lx.inverse_dynamics(model, q, v, tau),
        lx.mass_matrix(model, q),
    )


def states(model: Model, seed: int = 11):
    """(q, v, tau) of several states, in the model's precision."""
    rng = np.random.default_rng(seed)
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(seed), LANES))
    v, tau = rng.uniform(-1.0, 1.0, (2, LANES, model.nv)).astype(model.dtype)
    return np.asarray(q), v, tau


def batch(model: Model, at, f=dynamics):
    """f of all states, compiled for the purpose."""
    lanes = jax.jit(jax.vmap(f, in_axes=(None, 0, 0, 0)), compiler_options=CHEAPLY)
    return jax.device_get(lanes(model, *at))


@ft.cache
def reference():
    """(model, states, answers) of the tree as the builder makes it, in one batch."""
    model = lx.build(hinges()).model
    at = states(model)
    return model, at, batch(model, at)


def close(found, expected, digits):
    """Equal to `digits` of the largest entry of each answer."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=digits * np.abs(b).max())


def test_the_tree_branches_and_is_scanned():
    (run,) = reference()[0].topology.runs
    assert len(run.bodies) == BODIES
    assert max(run.keep) >= 0  # a branch waits


@pytest.mark.parametrize("unroll", [0, 4])
def test_scanned_and_written_out_recursions_agree(unroll):
    model, at, expected = reference()
    close(batch(model.with_unroll(unroll), at), expected, 1e-13)


def test_the_derivative_rule_is_the_derivative_of_the_recursion():
    """Through inverse dynamics and a solve, or straight through the three passes: the same gradient."""
    model, at, _ = reference()
    weights = np.random.default_rng(3).normal(size=model.nv)

    def gradient(accelerations):
        return jax.grad(lambda *x: accelerations(*x, None)[0] @ weights, argnums=(1, 2, 3))

    found, expected = (batch(model, at, gradient(f)) for f in (solve_tree, articulated_body))
    close(found, expected, 1e-11)


def test_both_forms_of_the_mass_matrix_agree():
    """One product, for trees of a single scan, or entry by entry."""
    S, F = np.random.default_rng(4).normal(size=(2, 6, 5))
    found, expected = (
        form(tuple(map(jnp.asarray, S)), tuple(map(jnp.asarray, F)))
        for form in (by_product, by_entry)
    )
    close(found, expected, 1e-14)
    np.testing.assert_allclose(expected[0], S.T @ F, rtol=1e-13)


def test_a_batch_is_a_loop():
    model, at, expected = reference()
    alone = jax.jit(dynamics, compiler_options=CHEAPLY)
    found = [jax.device_get(alone(model, *(x[lane] for x in at))) for lane in range(LANES)]
    close(jax.tree.map(lambda *rows: np.stack(rows), *found), expected, 1e-13)


def test_a_batch_of_models_is_a_loop_over_them():
    model, at, expected = reference()
    scale = np.linspace(1.0, 2.0, LANES)

    def scaled(factor, *state):
        heavier = eqx.tree_at(
            lambda m: (m.mass, m.inertia, m.armature), model, replace_fn=lambda x: factor * x
        )
        return dynamics(heavier, *state)

    lanes = jax.jit(jax.vmap(scaled), compiler_options=CHEAPLY)
    _, forces, matrices = jax.device_get(lanes(scale, *at))
    # Dynamics are linear in the inertias, so the loop need not be run.
    close(forces, scale[:, None] * expected[1], 1e-12)
    close(matrices, scale[:, None, None] * expected[2], 1e-13)


def test_single_precision_is_double_precision_rounded():
    _, at, expected = reference()
    model = lx.build(hinges(), dtype=jnp.float32).model
    found = batch(model, [x.astype(np.float32) for x in at])
    assert all(x.dtype == np.float32 for x in found)
    close(found, expected, 1e-5)


def test_names_and_order_do_not_matter():
    model, at, expected = reference()
    description = hinges()
    names = {body.name: f"link {i * i}" for i, body in enumerate(description.bodies)} | {
        GROUND: GROUND
    }
    for body in description.bodies:
        body.name = names[body.name]
    for joint in description.joints:
        joint.parent, joint.child = names[joint.parent], names[joint.child]
    description.bodies.reverse()
    description.joints.reverse()
    other = lx.build(description).model
    place = [other.joint_names.index(name) for name in model.joint_names]
    assert place != sorted(place)
    moved = [np.empty_like(x) for x in at]
    for new, old in zip(moved, at, strict=True):
        new[:, place] = old
    forward, inverse, M = batch(other, moved)
    close((forward[:, place], inverse[:, place], M[:, place][:, :, place]), expected, 1e-12)


# --- merging and mimicking ---


def _fixed_at(k: int) -> Description:
    description = hinges()
    joint = description.joints[k]
    joint.type, joint.axis, joint.armature = "fixed", None, None
    return description


def _without(x, places):
    return np.delete(np.asarray(x), places, axis=0)


def test_a_merged_body_moves_as_one_fixed_to_its_carrier():
    k = 2
    merged = lx.build(_fixed_at(k)).model
    whole = reference()[0]
    t = whole.topology
    topology = dataclasses.replace(
        t, joints=tuple(Fixed if i == k else joint for i, joint in enumerate(t.joints))
    )
    assert k in t.parents  # it carries others
    apart = dataclasses.replace(
        whole,
        topology=topology,
        **{
            name: jnp.asarray(_without(getattr(whole, name), k))
            for name in ("armature", "lower", "upper")
        },
    )
    assert (merged.nb, apart.nb) == (BODIES - 1, BODIES)
    at = states(merged)

    def all_of_it(model, q, v, tau):
        energies = lx.kinetic_energy(model, q, v), lx.potential_energy(model, q)
        poses = lx.frame_poses(model, q)
        return dynamics(model, q, v, tau), energies, poses, lx.momentum(model, q, v)

    assert merged.frame_names == apart.frame_names
    close(batch(apart, at, all_of_it), batch(merged, at, all_of_it), 1e-12)


MIMICS = {2: (1, -0.7, 0.3), 4: (0, 1.5, -0.2)}  # follower: (leader, ratio, offset)


def test_a_mimic_model_is_the_free_model_projected():
    """With speeds G v: M = G^T M' G, tau = G^T tau', and q' = G q + offset."""
    free, _, _ = reference()
    description = hinges()
    G, offset = np.eye(BODIES), np.zeros(BODIES)
    for follower, (leader, ratio, shift) in MIMICS.items():
        joint = description.joints[follower]
        joint.mimic = MimicDescription(description.joints[leader].name, ratio, shift)
        G[follower, leader], offset[follower] = ratio, shift
    G = np.delete(G, list(MIMICS), axis=1)
    model = lx.build(description).model
    assert model.nv == BODIES - len(MIMICS)
    q, v, tau = states(model)
    a, forces, M = batch(model, (q, v, tau))
    spanning = (q @ G.T + offset, v @ G.T, tau @ G.T)
    _, their_forces, their_M = batch(free, spanning)
    close(forces, their_forces @ G, 1e-12)
    close(M, G.T @ their_M @ G, 1e-12)
    bias = forces - np.einsum("lij,lj->li", M, tau)
    close(np.einsum("lij,lj->li", M, a) + bias, tau, 1e-11)


# --- another root ---

LOOSE = 4  # bodies


def loose() -> Description:
    """A floating tree of hinges: body0 carries the others."""
    description = library.random_tree(jax.random.key(6), LOOSE, ("revolute",), 0.7)
    for i, joint in enumerate(description.joints):
        joint.armature = None  # of a joint, whichever side it is seen from; but of the root none
        if i and joint.parent == GROUND:
            joint.parent = "body0"
    description.joints[0] = JointDescription("root", "floating", GROUND, "body0")
    return description


def rerooted(description: Description, root: str) -> Description:
    """The same machine floating on another body: the joints on the way there are seen from their other side.

    A hinge seen from its child turns about the opposite axis, by the same angle.
    """
    turned = copy.deepcopy(description)
    carrier = {joint.child: joint for joint in turned.joints}
    path = [root]
    while carrier[path[-1]].parent != GROUND:
        path.append(carrier[path[-1]].parent)
    for name in path[:-1]:
        joint = carrier[name]
        joint.parent, joint.child = joint.child, joint.parent
        joint.parent_frame, joint.child_frame = joint.child_frame, joint.parent_frame
        x, y, z = joint.axis or (0.0, 0.0, 1.0)
        joint.axis = (-x, -y, -z)
    carrier[path[-1]].child = root
    return turned


def free_motion(model: Model, q, v, tau):
    """(accelerations, motion of all bodies under them, energies, momentum)."""
    a = lx.forward_dynamics(model, q, v, tau)
    energies = lx.kinetic_energy(model, q, v), lx.potential_energy(model, q)
    return a, vars(lx.kinematics(model, q, v, a)), energies, lx.momentum(model, q, v)


def test_a_floating_machine_is_the_same_from_any_root():
    description = loose()
    model = lx.build(description).model
    root = f"body{LOOSE - 1}"
    other = lx.build(rerooted(description, root)).model
    assert other.body_names[0] == root
    q, v, tau = states(model)
    tau[:, :6] = 0.0  # nothing holds the machine: the roots' own forces act on different bodies
    a, k, energies, momentum = batch(model, (q, v, tau), free_motion)
    at = model.body_index(root)

    def in_body(x):
        return np.einsum("lij,li->lj", k["rotation"][:, at], x[:, at])

    joints = [model.joint_names.index(name) + 5 for name in other.joint_names[1:]]  # speeds
    q_root = np.concatenate([k["quaternion"][:, at], k["position"][:, at]], axis=-1)
    v_root = np.concatenate([in_body(k["angular_velocity"]), in_body(k["velocity"])], axis=-1)
    moved = (
        np.concatenate([q_root, q[:, [j + 1 for j in joints]]], axis=-1),
        np.concatenate([v_root, v[:, joints]], axis=-1),
        np.concatenate([np.zeros((LANES, 6)), tau[:, joints]], axis=-1),
    )
    other_a, other_k, other_energies, other_momentum = batch(other, moved, free_motion)
    close(other_a[:, 6:], a[:, joints], 1e-11)
    same = [other.body_index(name) for name in model.body_names]
    for name in sorted(set(k) - {"quaternion"}):  # whose sign depends on the way to the body
        close(other_k[name][:, same], k[name], 1e-11)
    close((other_energies, other_momentum), (energies, momentum), 1e-12)

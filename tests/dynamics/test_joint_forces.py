"""The forces across the joints move every body as it moves, and their shares along the joints drive it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from operational_trees import CHEAPLY, answers, hinges, mimics, mixed, speeds_of_joints

import linkax as lx
from linkax.model.description import BodyDescription, JointDescription
from linkax.model.topology import GROUND


TREES = pytest.mark.parametrize(
    "make",
    [pytest.param(mixed, marks=pytest.mark.slow), hinges, mimics],
    ids=lambda make: make.__name__,
)


UNIT = lx.library.diagonal(1.0, 1.0, 1.0)


def apply(R, x):
    return np.einsum("...ij,...j->...i", R, x)


def origins(model, k):
    """Where the frames M (on the bodies) and F (on their parents) are in the world; (lanes, nb, 3) each."""
    on_child = k.position + apply(k.rotation, np.asarray(model.child_position))
    on_parent = np.empty_like(on_child)
    for body, parent in enumerate(model.topology.parents):
        place = np.asarray(model.parent_position)[body]
        on_parent[:, body] = (
            place
            if parent == GROUND
            else k.position[:, parent] + apply(k.rotation[:, parent], place)
        )
    return on_child, on_parent


@TREES
def test_all_that_acts_on_a_body_makes_its_motion(make):
    """Newton and Euler, body by body, of accelerations that kinematics knows."""
    model, at, found = answers(make)
    k = found["kinematics"]
    mass, wrenches = np.asarray(model.mass), np.asarray(at.wrenches)
    on_child, on_parent = origins(model, k)
    force = wrenches[..., 3:] + mass[:, None] * np.asarray(model.gravity)
    moment = wrenches[..., :3] + np.cross(k.position - k.com, wrenches[..., 3:])
    for body, parent in enumerate(model.topology.parents):
        given = found["child"][:, body]
        force[:, body] += given[:, 3:]
        moment[:, body] += given[:, :3] + np.cross(on_child[:, body] - k.com[:, body], given[:, 3:])
        if parent != GROUND:
            taken = found["parent"][:, body]
            force[:, parent] -= taken[:, 3:]
            arm = on_parent[:, body] - k.com[:, parent]
            moment[:, parent] -= taken[:, :3] + np.cross(arm, taken[:, 3:])
    inertia = k.rotation @ np.asarray(model.inertia) @ k.rotation.swapaxes(-1, -2)
    w = k.angular_velocity
    turning = apply(inertia, k.angular_acceleration) + np.cross(w, apply(inertia, w))
    scale = np.abs(found["child"]).max()
    np.testing.assert_allclose(force, mass[:, None] * k.com_acceleration, atol=1e-12 * scale)
    np.testing.assert_allclose(moment, turning, atol=1e-12 * scale)


@TREES
def test_both_are_one_force_with_moments_about_two_points(make):
    model, _, found = answers(make)
    on_child, on_parent = origins(model, found["kinematics"])
    child, parent = found["child"], found["parent"]
    np.testing.assert_array_equal(child[..., 3:], parent[..., 3:])
    shift = np.cross(on_child - on_parent, child[..., 3:])
    scale = np.abs(child).max()
    np.testing.assert_allclose(parent[..., :3] - child[..., :3], shift, atol=1e-12 * scale)


@pytest.mark.parametrize("make", [hinges, mimics], ids=lambda make: make.__name__)
def test_the_share_along_a_joint_drives_it_apart_from_the_armature(make):
    model, at, found = answers(make)
    k, t = found["kinematics"], model.topology
    spread = np.asarray(speeds_of_joints(model))
    # A hinge's axis in the world; the moment about it does not depend on the point along it.
    axis = apply(
        k.rotation, np.einsum("bij,bj->bi", rotation(model.child_quaternion), unit(model.axis))
    )
    share = np.einsum("lbi,lbi->lb", axis, found["child"][..., :3])
    rotors = np.asarray(model.armature) * (np.asarray(at.a) @ spread.T)
    lanes = jax.vmap(lx.inverse_dynamics, in_axes=(None, 0, 0, 0, 0))
    tau = jax.jit(lanes, compiler_options=CHEAPLY)(model, *at)
    assert t.nb == t.tree_nv
    np.testing.assert_allclose((share + rotors) @ spread, tau, atol=1e-11)


def unit(x):
    x = np.asarray(x)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def rotation(quaternion):
    return np.asarray(lx.math.stacks.rotations(jnp.asarray(quaternion)))


def test_without_wrenches_none_act():
    model, at, _ = answers(hinges)
    q, v, a, wrenches = (x[0] for x in at)
    function = jax.jit(lx.joint_forces, compiler_options=CHEAPLY)
    none = function(model, q, v, a, jnp.zeros_like(wrenches))
    np.testing.assert_allclose(function(model, q, v, a).child, none.child, rtol=0.0, atol=1e-12)


def test_a_hanging_weight_pulls_at_its_hinge():
    model = lx.build(lx.library.pendulum(2.0, 3.0, 0.0)).model
    still = jnp.zeros(1)
    assert model.topology.parents == (GROUND,)

    found = lx.joint_forces(model, still, still, still)
    np.testing.assert_allclose(found.child, [[0, 0, 0, 0, 0, 3.0 * 9.81]], atol=1e-14)
    aside = lx.joint_forces(model, jnp.asarray([np.pi / 2]), still, still)
    # The bob is at (-2, 0, 0): holding it takes the moment (-2, 0, 0) x (0, 0, m g) = (0, 2 m g, 0).
    np.testing.assert_allclose(aside.parent, [[0, 6.0 * 9.81, 0, 0, 0, 3.0 * 9.81]], atol=1e-13)


def test_a_weight_on_a_slide_turns_the_rail_about_its_own_end():
    description = lx.Description("slide")
    description.bodies = [BodyDescription("cart", 3.0, (0.0, 0.0, 0.0), UNIT)]
    description.joints = [
        JointDescription("rail", "prismatic", "world", "cart", axis=(1.0, 0.0, 0.0))
    ]
    model = lx.build(description).model
    found = lx.joint_forces(model, jnp.asarray([2.0]), jnp.zeros(1), jnp.asarray([0.5]))
    weight = 3.0 * 9.81
    np.testing.assert_allclose(found.child, [[0, 0, 0, 1.5, 0, weight]], atol=1e-14)
    # (2, 0, 0) x (1.5, 0, m g) = (0, -2 m g, 0).
    np.testing.assert_allclose(found.parent, [[0, -2.0 * weight, 0, 1.5, 0, weight]], atol=1e-13)

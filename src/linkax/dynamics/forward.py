"""Forward dynamics: the accelerations under given forces (articulated-body recursion), and M^-1 b."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from linkax.dynamics.articulated import factor_body, filter_body, smooth_body
from linkax.dynamics.factor import FULL_INERTIA, TreeFactor, factor_tree, zeros
from linkax.dynamics.inverse import (
    Moving,
    motion_ground,
    push_lanes,
    pushed,
    stored_pose,
    tree_inverse_dynamics,
)
from linkax.dynamics.nodes import forward_over_nodes, solve_over_nodes
from linkax.dynamics.reduced import reduced_forward_dynamics, reduced_solve
from linkax.joints import AbstractJoint, Travel
from linkax.math.materialise import materialise
from linkax.model.abstract import AbstractModel
from linkax.model.constants import (
    constants_of,
    inertia_of,
    joint_frame_of,
    restored_pose,
)
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, inward, joint_lanes, outward, stack_joints
from linkax.spatial.inertia import ArticulatedInertia, articulated
from linkax.spatial.motion import (
    NO_FORCE,
    NO_MOTION,
    Force,
    Motion,
    combine,
    cross_force,
    cross_motion,
)


class _Carried(NamedTuple):
    """What a body hands to its parent: its inertia and bias force as felt across the joint."""

    inertia: ArticulatedInertia
    bias: Force


def _velocity_terms(joint: type[AbstractJoint], parent: Moving, x):
    """Outward: the velocity, and the external wrench as a force at the body's frame K."""
    row, q, v, push = x
    at = joint_frame_of(row)
    X = stored_pose(joint, at, q, parent)
    relative = combine(joint.subspace(q, at.travel), v)
    velocity = materialise(X.motion_to_child(parent.velocity) + relative)
    pose, force = parent.pose, None
    if push is not None and parent.pose is not None:
        pose = parent.pose @ X
        force = pushed(push, pose)
    return Moving(velocity, None, pose), (X.rotation, velocity, force)


def _velocity_change(joint: type[AbstractJoint], travel: Travel, q, v, velocity) -> Motion:
    """The acceleration across the joint that the speeds alone cause."""
    relative = combine(joint.subspace(q, travel), v)
    return joint.bias(q, v, travel) + cross_motion(velocity, relative)


def _factor_and_filter(joint: type[AbstractJoint], children: _Carried, x):
    """Inward: the articulated inertia and bias force of a body with all that it carries."""
    row, body, q, v, (rotation, velocity, push), armature, tau = x
    at, own = joint_frame_of(row), inertia_of(body)
    X = restored_pose(joint, at, q, rotation)
    S = joint.subspace(q, at.travel)
    inertia = articulated(own) + children.inertia
    f, felt = factor_body(inertia, S, armature)
    # Each entry feeds three rows of the first half of the congruence: storing the 21 of them made the
    # recursion half again as fast (0.5 to 0.8 M/s, 7 bodies, float64, B = 1024) at equal compile time.
    felt = materialise(felt)
    # Recomputed from the velocity rather than stored by the pass before: 60 operations against twelve
    # memory accesses and six kernels.
    bias = children.bias + cross_force(velocity, own @ velocity)
    bias = materialise(bias if push is None else bias - push)
    excess, passed = filter_body(f, S, tau, bias)
    passed = materialise(passed + felt @ _velocity_change(joint, at.travel, q, v, velocity))
    return _Carried(felt.to_parent(X), X.force_to_parent(passed)), (f, excess)


def _accelerate(joint: type[AbstractJoint], parent: Motion, x):
    """Outward: accelerations from the ground to the tips."""
    row, q, v, (rotation, velocity, _), (f, excess) = x
    at = joint_frame_of(row)
    X = restored_pose(joint, at, q, rotation)
    carried = X.motion_to_child(parent) + _velocity_change(joint, at.travel, q, v, velocity)
    qdd, acceleration = smooth_body(f, joint.subspace(q, at.travel), excess, materialise(carried))
    return acceleration, qdd


def articulated_body(
    model: Model,
    q: Float[Array, " tree_nq"],
    v: Float[Array, " tree_nv"],
    tau: Float[Array, " tree_nv"],
    wrenches: Float[Array, "nb 6"] | None,
) -> tuple[Float[Array, " tree_nv"], TreeFactor]:
    """The accelerations of the tree and the factorised mass matrix they came from."""
    topology, dtype = model.topology, model.dtype
    constants = constants_of(model)
    rows, bodies = (
        body_lanes(topology, constants.placement),
        body_lanes(topology, constants.inertia),
    )
    qs = joint_lanes(topology, q, topology.q_slots)
    vs, taus, rotors = (
        joint_lanes(topology, x, topology.v_slots) for x in (v, tau, model.armature)
    )
    ground = motion_ground(model, gravity=True, posed=wrenches is not None)
    xs = zip(rows, qs, vs, push_lanes(model, constants, wrenches), strict=True)
    moved = outward(topology, _velocity_terms, ground._replace(acceleration=None), list(xs), dtype)
    like = zeros(_Carried(FULL_INERTIA, NO_FORCE), dtype)
    xs = zip(rows, bodies, qs, vs, moved, rotors, taus, strict=True)
    factored = inward(topology, _factor_and_filter, like, list(xs))
    xs = zip(rows, qs, vs, moved, factored, strict=True)
    qdd = outward(topology, _accelerate, ground.acceleration, list(xs), dtype)
    factor = TreeFactor([rotation for rotation, _, _ in moved], [f for f, _ in factored])
    return stack_joints(topology, qdd, topology.v_slots, dtype), factor


def _filter(joint: type[AbstractJoint], children: Force, x):
    """Inward: forces through the factor; the joints take what they can turn into acceleration."""
    row, q, rotation, f, b = x
    at = joint_frame_of(row)
    excess, passed = filter_body(f, joint.subspace(q, at.travel), b, children)
    return restored_pose(joint, at, q, rotation).force_to_parent(passed), excess


def _smooth(joint: type[AbstractJoint], parent: Motion, x):
    """Outward: accelerations through the factor."""
    row, q, rotation, f, excess = x
    at = joint_frame_of(row)
    carried = restored_pose(joint, at, q, rotation).motion_to_child(parent)
    qdd, acceleration = smooth_body(f, joint.subspace(q, at.travel), excess, materialise(carried))
    return acceleration, qdd


def solve_with(
    model: Model, q: Float[Array, " tree_nq"], factor: TreeFactor, b: Float[Array, " tree_nv"]
) -> Float[Array, " tree_nv"]:
    """M^-1 b of the tree by the filter and smoother passes: a third of a forward dynamics."""
    topology = model.topology
    rows = body_lanes(topology, constants_of(model).placement)
    qs = joint_lanes(topology, q, topology.q_slots)
    bs = joint_lanes(topology, b, topology.v_slots)
    xs = zip(rows, qs, factor.rotations, factor.bodies, bs, strict=True)
    excesses = inward(topology, _filter, zeros(NO_FORCE, model.dtype), list(xs))
    xs = zip(rows, qs, factor.rotations, factor.bodies, excesses, strict=True)
    x = outward(topology, _smooth, NO_MOTION, list(xs), model.dtype)
    return stack_joints(topology, x, topology.v_slots, model.dtype)


def _differentiable_solve(model: Model, q: Array, factor: TreeFactor, b: Array) -> Array:
    """`solve_with`, differentiable in b, q and every leaf through M x = b instead of through the factor."""
    still, still_q, factor = lax.stop_gradient((model, q, factor))

    def times_mass(x):
        return tree_inverse_dynamics(model, q, None, x, None, gravity=False)

    def solve(_, rhs):
        return solve_with(still, still_q, factor, rhs)

    return lax.custom_linear_solve(times_mass, b, solve, symmetric=True)


@jax.custom_jvp
def solve_tree(model, q, v, tau, wrenches):
    """`articulated_body` with the derivative of its accelerations; the factor counts as constant."""
    return articulated_body(model, q, v, tau, wrenches)


@solve_tree.defjvp
def _solve_tree_jvp(primals, tangents):
    """The implicit function theorem on inverse_dynamics(q, v, a) = tau.

    da = M^-1 (dtau - d inverse_dynamics at fixed a), with the factor that the value just used. Reverse mode
    transposes these two linear maps: about 2.5 times the value, against 3.4 to 4.2 straight through the
    recursion, at half its compile time.
    """
    model, q, v, tau, wrenches = primals
    d_model, d_q, d_v, d_tau, d_wrenches = tangents
    a, factor = solve_tree(model, q, v, tau, wrenches)

    def needed(model, q, v, wrenches):
        return tree_inverse_dynamics(model, q, v, a, wrenches)

    _, d_needed = jax.jvp(needed, (model, q, v, wrenches), (d_model, d_q, d_v, d_wrenches))
    d_a = _differentiable_solve(model, q, factor, d_tau - d_needed)
    return (a, factor), (d_a, jax.tree.map(jnp.zeros_like, factor))


def forward_dynamics(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> Float[Array, " nv"]:
    """The rates of the speeds under the generalised forces tau, gravity and the wrenches.

    Knows inertia, armature and gravity only; elements act in `accelerations(system, ...)`. The cost is
    linear in the number of bodies (with mimic joints: cubic in the independent speeds; with compound bodies:
    linear in their number, cubic in the speeds of each).

    Args:
        model: the tree.
        q, v: coordinates and speeds.
        tau: generalised forces [N m or N].
        wrenches: on each body, [torque about the body-frame origin; force], world axes [N m, N].

    Source: Featherstone 2008, section 7.3; Jain 2011, chapter 7.
    """
    q, v, tau, wrenches = conform(model, q=q, v=v, tau=tau, wrenches=wrenches)
    if model.nodes is not None:
        return forward_over_nodes(model, q, v, tau, wrenches)
    if model.tree.topology.followers:
        return reduced_forward_dynamics(model, q, v, tau, wrenches)
    return solve_tree(model.tree, q, v, tau, wrenches)[0]


def solve_mass_matrix(
    model: AbstractModel, q: Float[Array, " nq"], b: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """M^-1 b without forming M; cost as for `forward_dynamics`."""
    q, b = conform(model, q=q, b=b)
    if model.nodes is not None:
        return solve_over_nodes(model, q, b)
    if model.tree.topology.followers:
        return reduced_solve(model, q, b)
    tree, tree_q = model.tree, model.tree_coordinates(q)
    factor = factor_tree(*lax.stop_gradient((tree, tree_q)))
    return _differentiable_solve(tree, tree_q, factor, b)

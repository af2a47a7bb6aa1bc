"""What the joints transmit: inverse dynamics with the forces kept, not only their shares along the joints."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.dynamics.factor import zeros
from linkax.dynamics.inverse import JointState, Moving, motion_ground, net_force, push_lanes
from linkax.joints import AbstractJoint
from linkax.math import ldl
from linkax.math.materialise import materialise
from linkax.model.abstract import AbstractModel
from linkax.model.constants import constants_of, joint_frame_of, restored_pose
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, inward, joint_lanes, outward, stack_bodies
from linkax.spatial.motion import NO_FORCE, Force, Motion, combine, power
from linkax.spatial.vector import cross


class JointForces(eqx.Module):
    """The force that each joint's parent exerts on its child, [moment; force] in world axes [N m, N].

    One force, its moment taken about the origins of the joint's two frames. Joint i moves body i. `locked` is
    what is left of `child` without the wrench along the joint's motions S that drives it, S (S^T S)^-1 S^T
    child: the reaction of the bearing, which does no work.
    """

    child: Float[Array, "nb 6"]  # about the origin of M, which is fixed on the child
    parent: Float[Array, "nb 6"]  # about the origin of F, which is fixed on the parent
    locked: Float[Array, "nb 6"]  # about the origin of M


def _posed_force(joint: type[AbstractJoint], parent: Moving, x):
    """Outward: the force that a body's motion takes, and the axes that it is given in."""
    moving, (rotation, force) = net_force(joint, parent, x)
    assert moving.pose is not None
    return moving, (moving.pose.rotation, rotation, force)


def _transmitted(joint: type[AbstractJoint], children: Force, x):
    """Inward: the force across the joint, at M's origin and at F's, in world axes."""
    row, q, (R, rotation, force) = x
    at = joint_frame_of(row)
    force = materialise(force + children)
    across = joint.transform(q, at.travel)
    arm = across.rotation.transposed @ across.translation  # from F to M, in K's axes
    moment = force.angular + cross(arm, force.linear)
    locked = force - _along(joint.subspace(q, at.travel), force)
    world = (R @ force.angular, R @ moment, R @ force.linear)
    world = (*world, R @ locked.angular, R @ locked.linear)
    return restored_pose(joint, at, q, rotation).force_to_parent(force), world


def _along(subspace: tuple[Motion, ...], force: Force) -> Force:
    """The wrench along a joint's motions of the same power as a force."""
    if not subspace:
        return NO_FORCE
    gram = [[power(a, Force(*b)) for b in subspace] for a in subspace]
    shares = ldl.solve(ldl.factor(gram), [power(s, force) for s in subspace])
    return Force(*combine(subspace, shares))


def _tree_joint_forces(
    model: Model,
    q: Float[Array, " tree_nq"],
    v: Float[Array, " tree_nv"],
    a: Float[Array, " tree_nv"],
    wrenches: Float[Array, "nb 6"],
) -> JointForces:
    topology, constants = model.topology, constants_of(model)
    rows = body_lanes(topology, constants.placement)
    bodies = body_lanes(topology, constants.inertia)
    qs = joint_lanes(topology, q, topology.q_slots)
    vs, accelerations, rotors = (
        joint_lanes(topology, x, topology.v_slots) for x in (v, a, model.armature)
    )
    states = [JointState(*x) for x in zip(qs, vs, accelerations, rotors, strict=True)]
    pushes = push_lanes(model, constants, wrenches)
    ground = motion_ground(model, gravity=True, posed=True)
    xs = list(zip(rows, bodies, states, pushes, strict=True))
    moved = outward(topology, _posed_force, ground, xs, model.dtype)
    like = zeros(NO_FORCE, model.dtype)
    found = inward(topology, _transmitted, like, list(zip(rows, qs, moved, strict=True)))
    stacked = jax.tree.map(lambda *lanes: stack_bodies(topology, lanes), *found)
    at_child, at_parent, force, moment, bearing = (jnp.stack(x, axis=-1) for x in stacked)
    six = lambda angular, linear: jnp.concatenate([angular, linear], axis=-1)
    return JointForces(six(at_child, force), six(at_parent, force), six(moment, bearing))


def joint_forces(
    model: AbstractModel,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> JointForces:
    """The forces that the joints of the tree transmit during a motion, those that drive and that constrain.

    Their shares along the joints' freedoms are the generalised forces of `inverse_dynamics` less what the
    armatures take. Of a closed mechanism they are the tree's: what holds a loop closed acts on its two bodies
    beside them, and is counted only as far as it is among `wrenches`.

    Args:
        model: the tree.
        q, v, a: coordinates, speeds, rates of the speeds.
        wrenches: on each body, [torque about the body-frame origin; force], world axes [N m, N].

    Source: Luh, Walker, Paul 1980; Featherstone 2008, section 5.3.
    """
    q, v, a, wrenches = conform(model, q=q, v=v, a=a, wrenches=wrenches)
    if model.nb == 0:
        nothing = jnp.zeros((0, 6), model.dtype)
        return JointForces(nothing, nothing, nothing)
    none = jnp.zeros((model.nb, 6), model.dtype)
    return _tree_joint_forces(
        model.tree,
        model.tree_coordinates(q),
        model.tree_speeds(q, v),
        model.tree_accelerations(q, v, a),
        none if wrenches is None else wrenches,
    )

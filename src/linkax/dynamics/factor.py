"""The factorised mass matrix of a tree: the matrix part of the articulated-body recursion, of q alone."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.dynamics.articulated import BodyFactor, factor_body
from linkax.joints import AbstractJoint
from linkax.math.materialise import materialise
from linkax.model.constants import constants_of, inertia_of, joint_frame_of, joint_pose
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, inward, joint_lanes
from linkax.spatial.inertia import ArticulatedInertia, articulated
from linkax.spatial.vector import Mat3, Sym3


FULL_INERTIA = ArticulatedInertia(Sym3(*range(6)), Mat3(*range(9)), Sym3(*range(6)))


class TreeFactor(NamedTuple):
    """The factorised mass matrix of a tree at one q, run by run."""

    rotations: list[Mat3]  # of X_up
    bodies: list[BodyFactor]


def zeros(tree, dtype):
    """A tree of scalars of the same form, all zero."""
    return jax.tree.map(lambda _: jnp.zeros((), dtype), tree)


def _factor(joint: type[AbstractJoint], children: ArticulatedInertia, x):
    """Inward: the factor of a body, from its inertia with all that it carries."""
    row, body, q, armature = x
    at = joint_frame_of(row)
    X = joint_pose(joint, at, q)
    X = X._replace(rotation=materialise(X.rotation))
    inertia = articulated(inertia_of(body)) + children
    f, felt = factor_body(inertia, joint.subspace(q, at.travel), armature)
    return materialise(felt).to_parent(X), (X.rotation, f)


def factor_tree(model: Model, q: Float[Array, " tree_nq"]) -> TreeFactor:
    """The factor of a tree's mass matrix in one inward pass, without speeds, gravity and forces.

    It serves any number of right-hand sides.

    Source: Featherstone 2008, section 7.3; Jain 2011, chapter 6.
    """
    topology = model.topology
    constants = constants_of(model)
    xs = zip(
        body_lanes(topology, constants.placement),
        body_lanes(topology, constants.inertia),
        joint_lanes(topology, q, topology.q_slots),
        joint_lanes(topology, model.armature, topology.v_slots),
        strict=True,
    )
    factored = inward(topology, _factor, zeros(FULL_INERTIA, model.dtype), list(xs))
    return TreeFactor([rotation for rotation, _ in factored], [f for _, f in factored])

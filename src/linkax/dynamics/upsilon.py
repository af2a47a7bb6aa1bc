"""Each body's own compliance, by one pass from the ground to the tips (Jain's operator Upsilon)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.dynamics.articulated import BodyFactor, weights
from linkax.dynamics.factor import TreeFactor, factor_tree
from linkax.dynamics.forward import solve_mass_matrix
from linkax.dynamics.nodes import node_body_compliances
from linkax.joints import AbstractJoint
from linkax.kinematics.frames import kinematics
from linkax.math import ldl
from linkax.math.materialise import materialise
from linkax.math.scalar import add, multiply
from linkax.math.stacks import product, transposed
from linkax.model.abstract import AbstractModel
from linkax.model.constants import constants_of, joint_frame_of, restored_pose, transform_of
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.traverse import body_lanes, joint_lanes, outward, stack_bodies
from linkax.spatial.compliance import RIGID, Compliance
from linkax.spatial.motion import Motion, combine, power
from linkax.spatial.transform import Transform
from linkax.spatial.vector import IDENTITY, Mat3


class Support(NamedTuple):
    """How a body is held at its frame K."""

    rotation: Mat3  # R_WK
    compliance: Compliance  # at K's origin in K's axes


def compliance_body(f: BodyFactor, subspace: tuple[Motion, ...], carried: Compliance) -> Compliance:
    """A body's compliance, given that with which it is carried: tau-bar^T Z tau-bar + S D^-1 S^T.

    tau-bar = 1 - W S^T with W = U D^-1, so that the whole is Z - sum_i (s_i y_i^T + y_i s_i^T) with
    y = Z W - S (W^T Z W + D^-1)/2.
    """
    n = len(subspace)
    W = weights(f)
    Z = tuple(carried @ w for w in W)
    inverse = [ldl.solve(f.D, tuple(int(i == j) for i in range(n))) for j in range(n)]
    half = [
        [multiply(0.5, add(power(Z[j], W[i]), inverse[i][j])) for i in range(n)] for j in range(n)
    ]
    y = tuple(z - combine(subspace, tuple(row)) for z, row in zip(Z, half, strict=True))
    y = materialise(y)
    return carried.minus_outer((*subspace, *y), (*y, *subspace))


def _support(joint: type[AbstractJoint], parent: Support, x):
    """Outward: a body's support from its parent's."""
    row, q, rotation, f = x
    at = joint_frame_of(row)
    X = restored_pose(joint, at, q, rotation)
    carried = materialise(parent.compliance.to_child(X))
    own = compliance_body(f, joint.subspace(q, at.travel), carried)
    value = materialise(Support(parent.rotation @ X.rotation, own))
    return value, value


def supports(model: Model, q: Float[Array, " tree_nq"], factor: TreeFactor) -> Support:
    """The supports of all bodies, leaves (nb,): Y = psi^T Y(parent) psi + S D^-1 S^T."""
    topology = model.topology
    xs = zip(
        body_lanes(topology, constants_of(model).placement),
        joint_lanes(topology, q, topology.q_slots),
        factor.rotations,
        factor.bodies,
        strict=True,
    )
    visited = outward(topology, _support, Support(IDENTITY, RIGID), list(xs), model.dtype)
    return jax.tree.map(lambda *lanes: stack_bodies(topology, lanes), *visited)


def body_compliances(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "nb 6 6"]:
    """J M^-1 J^T of every body by itself, all in two passes over the tree.

    The acceleration [angular; linear] of a body's frame origin for each entry of a wrench [torque; force]
    there, beside that of gravity and speeds; world axes, J as `jacobian` gives it for the body. Symmetric
    and positive semidefinite, of full rank where the body can move in all directions. Linear in the number
    of bodies; with mimic joints on a plain tree it is by the Jacobians.

    Source: Kreutz-Delgado, Jain, Rodriguez 1992; Jain 2011, chapter 10.
    """
    (q,) = conform(model, q=q)
    if model.nb == 0:
        return jnp.zeros((0, 6, 6), model.dtype)
    if model.nodes is not None:
        return node_body_compliances(model, q)
    if model.tree.topology.followers:
        return _by_jacobians(model, q)
    tree = model.tree
    tree_q = model.tree_coordinates(q)
    held = supports(tree, tree_q, factor_tree(tree, tree_q))
    origin = transform_of(constants_of(tree).frame).translation
    Y = held.compliance.to_child(Transform(held.rotation.transposed, origin))
    A, C, L = Y.angular.full, Y.coupling, Y.linear.full
    rows = [(*a, *c) for a, c in zip(A.rows, C.rows, strict=True)]
    rows += [(*c, *l) for c, l in zip(C.transposed.rows, L.rows, strict=True)]
    return jnp.stack([x for row in rows for x in row], axis=-1).reshape(-1, 6, 6)


def _by_jacobians(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "nb 6 6"]:
    """The same for any model, through its Jacobians: those of all bodies are the twists of unit speeds."""

    def twists(v):
        k = kinematics(model, q, v)
        assert k.angular_velocity is not None
        assert k.velocity is not None
        return jnp.concatenate([k.angular_velocity, k.velocity], axis=-1)

    J = jnp.moveaxis(jax.vmap(twists)(jnp.eye(model.nv, dtype=model.dtype)), 0, -1)
    solve = jax.vmap(lambda row: solve_mass_matrix(model, q, row))
    solved = solve(J.reshape(-1, model.nv)).reshape(J.shape)
    full = product(J, transposed(solved))
    return 0.5 * (full + transposed(full))

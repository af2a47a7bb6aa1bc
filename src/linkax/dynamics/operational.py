"""What several bodies or points feel of one another: compliances and masses in operational space."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.dynamics.articulated import filter_body, smooth_body
from linkax.dynamics.factor import TreeFactor, factor_tree, zeros
from linkax.dynamics.forward import solve_mass_matrix
from linkax.dynamics.nodes import node_compliance
from linkax.joints import AbstractJoint
from linkax.kinematics.frames import matrix
from linkax.kinematics.jacobians import Point, body_point, jacobian, resolve
from linkax.math.materialise import materialise
from linkax.math.stacks import product, skew, transposed
from linkax.model.abstract import AbstractModel
from linkax.model.constants import (
    constants_of,
    entries,
    joint_frame_of,
    restored_pose,
    transform_of,
)
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.model.topology import GROUND
from linkax.model.traverse import (
    body_lanes,
    inward,
    joint_lanes,
    outward,
    stack_bodies,
    take,
)
from linkax.solve.pseudo_inverse import pseudo_inverse
from linkax.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from linkax.spatial.vector import IDENTITY, Mat3, Vec3


Bodies = Sequence[str | int]
Points = Sequence[Point] | Float[Array, "k 3"] | Float[np.ndarray, "k 3"] | None


def _filter(joint: type[AbstractJoint], children: Force, x):
    """Inward: forces on bodies through the factor, nothing acting at the joints."""
    row, q, rotation, f, push = x
    at = joint_frame_of(row)
    bias = materialise(children - Force(Vec3(*push[:3]), Vec3(*push[3:])))
    excess, passed = filter_body(f, joint.subspace(q, at.travel), (0,) * joint.nv, bias)
    return restored_pose(joint, at, q, rotation).force_to_parent(passed), excess


class _Turned(NamedTuple):
    rotation: Mat3  # R_WK
    acceleration: Motion  # of K, in K's axes


def _smooth(joint: type[AbstractJoint], parent: _Turned, x):
    """Outward: accelerations through the factor, and the axes that they are given in."""
    row, q, rotation, f, excess = x
    at = joint_frame_of(row)
    X = restored_pose(joint, at, q, rotation)
    carried = materialise(X.motion_to_child(parent.acceleration))
    _, acceleration = smooth_body(f, joint.subspace(q, at.travel), excess, carried)
    value = _Turned(materialise(parent.rotation @ X.rotation), acceleration)
    return value, value


def _responses(
    model: Model, q: Float[Array, " tree_nq"], factor: TreeFactor, bodies: tuple[int, ...]
) -> tuple[Float[Array, "k 3 3"], Float[Array, "k k 6 6"]]:
    """(R_WK of the bodies, what each feels of a unit force on each), at and in the frames K."""
    topology, k = model.topology, len(bodies)
    rows = body_lanes(topology, constants_of(model).placement)
    qs = joint_lanes(topology, q, topology.q_slots)
    parts = (rows, qs, factor.rotations, factor.bodies)

    def response(push: Float[Array, "nb 6"]):
        pushes = body_lanes(topology, entries(push))
        like = zeros(NO_FORCE, model.dtype)
        excesses = inward(topology, _filter, like, list(zip(*parts, pushes, strict=True)))
        xs = list(zip(*parts, excesses, strict=True))
        visited = outward(topology, _smooth, _Turned(IDENTITY, NO_MOTION), xs, model.dtype)
        felt = jax.tree.map(lambda *lanes: take(stack_bodies(topology, lanes), bodies), *visited)
        six = (*felt.acceleration.angular, *felt.acceleration.linear)
        return matrix(felt.rotation), jnp.stack(six, axis=-1)

    on = jnp.asarray(np.equal.outer(bodies, range(topology.nb)), model.dtype)
    six = jnp.eye(6, dtype=model.dtype)
    units = (on[:, None, :, None] * six[None, :, None, :]).reshape(6 * k, topology.nb, 6)
    turned, felt = jax.vmap(response, out_axes=(None, 0))(units)
    return turned, felt.reshape(k, 6, k, 6).transpose(2, 0, 3, 1)


def _checked(model: AbstractModel, bodies: Bodies, points: Points) -> list[Point]:
    """The points, one a body; a `ValueError` where they do not match."""
    if isinstance(bodies, (str, int)):
        raise ValueError(f"`bodies` lists bodies or frames, but is {bodies!r}; put it in a list.")
    if points is None:
        return [(0.0, 0.0, 0.0)] * len(bodies)
    if len(points) != len(bodies):
        raise ValueError(
            f"`points` has {len(points)} entries for {len(bodies)} bodies; give one point a body."
        )
    return list(points)


def operational_space_compliance(
    model: AbstractModel, q: Float[Array, " nq"], bodies: Bodies, points: Points = None
) -> Float[Array, "n n"]:
    """J M^-1 J^T of k bodies at once, (6k, 6k): what each gives way where forces act on each.

    Block (i, j) takes a wrench [torque; force] on body j, given at its point, to the acceleration
    [angular; linear] of body i's point, beside that of gravity and speeds; world axes. J stacks the
    `jacobian` of each. Symmetric, positive semidefinite; rows of the ground and of what it holds are zero.
    Linear in the number of bodies of the model: unit forces pass inward through the factorised mass
    matrix, and the accelerations that they cause outward. With compound bodies the recursion goes over
    them; with mimic joints on a plain tree it is by J.

    Args:
        model: the tree.
        q: coordinates.
        bodies: names of bodies or frames, or indices of bodies.
        points: one a body, in the axes of that body or frame, from its origin [m]; by default the origins.

    Source: Kreutz-Delgado, Jain, Rodriguez 1992; Jain 2011, chapter 10 (Omega).
    """
    (q,) = conform(model, q=q)
    places = _checked(model, bodies, points)
    tree, tree_q, k = model.tree, model.tree_coordinates(q), len(bodies)
    found = [resolve(model, body) for body in bodies]
    moves = np.asarray([body != GROUND for body, _ in found], bool)
    if not moves.any():
        return jnp.zeros((6 * k, 6 * k), model.dtype)
    offsets = [body_point(tree, frame, p) for (_, frame), p in zip(found, places, strict=True)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *offsets)
    if model.nodes is not None:
        own = [body if body == GROUND else tree.body_names[body] for body, _ in found]
        return node_compliance(model, q, own, jnp.stack(stacked, axis=-1))
    if tree.topology.followers:
        return _by_jacobians(model, q, bodies, places)
    # The ground's rows are those of any body, times zero.
    carriers = tuple(max(body, 0) for body, _ in found)
    at = transform_of(tuple(take(c, carriers) for c in constants_of(tree).frame))
    arms = jnp.stack(at.translation + at.rotation @ stacked, axis=-1)
    turned, felt = _responses(tree, tree_q, factor_tree(tree, tree_q), carriers)
    A = _placed(jnp.where(moves[:, None, None], turned, 0.0), arms)
    blocks = product(product(A[:, None], felt), transposed(A)[None])
    full = blocks.transpose(0, 2, 1, 3).reshape(6 * k, 6 * k)
    return 0.5 * (full + full.T)


def _placed(R: Float[Array, "k 3 3"], arms: Float[Array, "k 3"]) -> Float[Array, "k 6 6"]:
    """From the motion of a frame K, in its axes, to that of the point at the arm, in the axes of R."""
    lower = -product(R, skew(arms))
    return jnp.concatenate(
        [
            jnp.concatenate([R, jnp.zeros_like(R)], axis=2),
            jnp.concatenate([lower, R], axis=2),
        ],
        axis=1,
    )


def _by_jacobians(
    model: AbstractModel, q: Float[Array, " nq"], bodies: Bodies, places: list[Point]
) -> Float[Array, "n n"]:
    """The same for any model."""
    J = [jacobian(model, q, body, p) for body, p in zip(bodies, places, strict=True)]
    return _compliance_along(model, q, jnp.concatenate(J))[1]


def _compliance_along(
    model: AbstractModel, q: Float[Array, " nq"], J: Float[Array, "r nv"]
) -> tuple[Float[Array, "r nv"], Float[Array, "r r"]]:
    """(J M^-1, J M^-1 J^T), a solve a row."""
    solved = jax.vmap(lambda row: solve_mass_matrix(model, q, row))(J)
    full = jnp.matmul(J, solved.T, precision=lax.Precision.HIGHEST)
    return solved, 0.5 * (full + full.T)


Rows = Sequence[int] | Float[Array, "r _n"] | Float[np.ndarray, "r _n"] | None


def effective_mass_matrix(
    model: AbstractModel,
    q: Float[Array, " nq"],
    bodies: Bodies,
    rows: Rows = None,
    points: Points = None,
) -> Float[Array, "r r"]:
    """(B J M^-1 J^T B^T)^-1: the inertia that a task feels, forces on it against its accelerations.

    At configurations where the rows of B J depend on one another (a singular arm, redundant rows) it is a
    pseudo-inverse, zero along what the joints cannot move, where no finite mass would be right; which
    directions count is judged with every row of the task scaled to unit compliance, so not by units.
    Derivatives are those at constant rank.

    Args:
        model: the tree.
        q: coordinates.
        bodies, points: as for `operational_space_compliance`; their twists stacked are (6k,).
        rows: indices of entries of the stacked twist, or B itself, (r, 6k); by default all entries.

    Source: Khatib 1987; Jain 2011, chapter 10.
    """
    B = _task(6 * len(bodies), rows)
    omega = operational_space_compliance(model, q, bodies, points)
    return pseudo_inverse(_along(omega, B))


def _task(n: int, rows: Rows) -> np.ndarray | Array:
    """Indices of rows, or a matrix of n columns; a `ValueError` for anything else."""
    if rows is None:
        return np.arange(n)
    if np.ndim(rows) == 2:
        if np.shape(rows)[1] != n:
            raise ValueError(f"`rows` has shape {np.shape(rows)}; as a matrix it has {n} columns.")
        return jnp.asarray(rows)
    chosen = np.asarray(rows)
    if chosen.size and not (chosen.dtype.kind in "iu" and 0 <= chosen.min() <= chosen.max() < n):
        raise ValueError(f"`rows` is {chosen.tolist()}; entries of the twist are 0 to {n - 1}.")
    return chosen.astype(int)


def _along(omega: Float[Array, "n n"], B: np.ndarray | Array) -> Float[Array, "r r"]:
    """B omega B^T."""
    if B.ndim == 1:
        return omega[B][:, B]
    B = B.astype(omega.dtype)
    half = jnp.matmul(B, omega, precision=lax.Precision.HIGHEST)
    full = jnp.matmul(half, B.T, precision=lax.Precision.HIGHEST)
    return 0.5 * (full + full.T)


def consistent_inverse(
    model: AbstractModel, q: Float[Array, " nq"], J: Float[Array, "r nv"]
) -> Float[Array, "nv r"]:
    """M^-1 J^T (J M^-1 J^T)^-1, the generalised inverse of a Jacobian that takes least kinetic energy.

    J times it is the identity; speeds x = (it) y are of all with J x = y those of the least energy, and
    forces tau - J^T (it)^T tau leave J's motion as it is. Where rows of J depend on one another the inner
    inverse is the pseudo-inverse of `effective_mass_matrix`, and J (it) J = J still holds. A solve with the
    factorised mass matrix a row.

    Args:
        model: the tree.
        q: coordinates.
        J: rows of a Jacobian; whatever point or combination they belong to.

    Source: Khatib 1987, section III.
    """
    (q,) = conform(model, q=q)
    if J.shape[1] != model.nv:
        raise ValueError(f"`J` has shape {J.shape}; it has one column a speed, {model.nv} here.")
    solved, omega = _compliance_along(model, q, jnp.asarray(J, model.dtype))
    return jnp.matmul(solved.T, pseudo_inverse(omega), precision=lax.Precision.HIGHEST)

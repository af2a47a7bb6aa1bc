"""The spatial operators of a compound body: Phi, E, psi, articulated inertia, Upsilon (document 004).

Members are stacked parents first (`Compound.bodies`), six rows each, [angular; linear], world axes, at their
*pnodes*: the origins of the joints' frames M on the bodies. phi(a, b) = [[1, [b - a]x], [0, 1]] moves a force
from the point b to the point a, its transpose a motion from a to b.

`linkax.dynamics.nodes` does without these matrices: it works about one point, where phi is the identity.

Source: Jain 2011, chapters 8 and 14; Jain 2012, Nonlinear Dynamics 67.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.compounds import base_bodies, compound_of, node_of, physical_parent
from linkax.dynamics.nodes import (
    Placed,
    factor_nodes,
    motion_shift,
    placed,
    steps_of,
    times,
    upsilon_of,
)
from linkax.kinematics import frame_poses, kinematics
from linkax.kinematics.jacobians import resolve
from linkax.math import definite
from linkax.math.stacks import apply, skew
from linkax.model import AbstractModel, Compound
from linkax.model.topology import GROUND


def pnodes(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "nb 3"]:
    """The origins of all joints' frames M on the bodies that they move, in the world [m]."""
    k = kinematics(model, q)
    return k.position + apply(k.rotation, model.tree.child_position)


def onodes(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "nb 3"]:
    """The origins of all joints' frames F on the bodies that carry them, in the world [m]."""
    k, parents = kinematics(model, q), np.asarray(model.tree.topology.parents)
    position = jnp.concatenate([k.position, jnp.zeros((1, 3), model.dtype)])[parents]
    rotation = jnp.concatenate([k.rotation, jnp.eye(3, dtype=model.dtype)[None]])[parents]
    return position + apply(rotation, model.tree.parent_position)


def phi_between(a: Float[Array, "... 3"], b: Float[Array, "... 3"]) -> Float[Array, "... 6 6"]:
    """phi(a, b): a force at b, [torque about b; force], as a force at a."""
    arm = skew(b - a)
    eye = jnp.broadcast_to(jnp.eye(3, dtype=arm.dtype), arm.shape)
    upper = jnp.concatenate([eye, arm], axis=-1)
    return jnp.concatenate([upper, jnp.concatenate([jnp.zeros_like(eye), eye], axis=-1)], axis=-2)


class _Group(NamedTuple):
    """The members of a compound body at their pnodes."""

    bodies: tuple[int, ...]
    points: Float[Array, "n 3"]
    hangs: np.ndarray  # (n, n) truth of: the column's member hangs on the row's
    carries: np.ndarray  # (n, n) truth of: the row's member carries the column's, or is it
    based: np.ndarray  # (n,) truth of: the member hangs on the parent outside
    origin: Float[Array, "3"]  # of the parent's pnode, or of the world


def _group(model: AbstractModel, q: Array, compound: str | Compound) -> _Group:
    found = compound_of(model, compound)
    bodies, topology, points = found.bodies, model.tree.topology, pnodes(model, q)
    base, parent = base_bodies(model, found), physical_parent(model, found)
    return _Group(
        bodies,
        points[np.asarray(bodies)],
        np.array([[a == topology.parents[b] for b in bodies] for a in bodies]),
        np.array([[a in topology.ancestors[b] for b in bodies] for a in bodies]),
        np.array([b in base for b in bodies]),
        jnp.zeros((3,), model.dtype) if parent == GROUND else points[parent],
    )


def _blocks(phi: Float[Array, "n m 6 6"], where: np.ndarray) -> Float[Array, "_rows _columns"]:
    """Blocks where the truth says so, zeros elsewhere, as a matrix."""
    kept = jnp.where(where[:, :, None, None], phi, 0.0)
    return jnp.swapaxes(kept, 1, 2).reshape(6 * phi.shape[0], 6 * phi.shape[1])


def _pairs(points: Float[Array, "n 3"]) -> Float[Array, "n n 6 6"]:
    n = points.shape[0]
    first = jnp.broadcast_to(points[:, None], (n, n, 3))
    return phi_between(first, jnp.swapaxes(first, 0, 1))


def phi_in(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "_rows _rows"]:
    """E_phi: block (parent, child) is phi(parent, child) where both are members, zero elsewhere."""
    group = _group(model, q, compound)
    return _blocks(_pairs(group.points), group.hangs)


def phi(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "_rows _rows"]:
    """Phi = (1 - E_phi)^-1 = 1 + E_phi + E_phi^2 + ...: forces at the members gathered within the group.

    The sum is finite, and its products along a path are known: phi(a, b) phi(b, c) = phi(a, c).
    """
    group = _group(model, q, compound)
    return _blocks(_pairs(group.points), group.carries)


def parent_pickup(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "6 _rows"]:
    """E: forces on the base bodies as forces at the parent's pnode, or at the world's origin.

    Block phi(parent, base) for each base body, zero elsewhere.
    """
    group = _group(model, q, compound)
    return _blocks(phi_between(group.origin[None], group.points)[None], group.based[None])


def oframe_to_pframe_phi(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "6 _rows"]:
    """phi(p, S) = E Phi: forces at the members as forces at the parent's pnode, or the world's origin."""
    group = _group(model, q, compound)
    everywhere = np.ones((1, len(group.bodies)), bool)
    return _blocks(phi_between(group.origin[None], group.points)[None], everywhere)


def pframe_to_other_phi(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound, other: str | int
) -> Float[Array, "_rows 6"]:
    """A force at the origin of another frame as a force at the member that carries it: phi(member, other).

    Zero in all other rows; Phi takes it further down. `other` is a body or frame carried by a member itself.
    """
    found, (body, frame) = compound_of(model, compound), resolve(model, other)
    if body not in found.bodies:
        raise ValueError(
            f"`{other}` is on no member of the compound body `{found.name}`; its members are "
            f"{', '.join(f'`{model.body_names[b]}`' for b in found.bodies)}."
        )
    group = _group(model, q, found)
    position = (
        kinematics(model, q).position[body] if frame is None else frame_poses(model, q)[1][frame]
    )
    blocks = phi_between(group.points, position[None])[:, None]
    return _blocks(blocks, np.asarray(group.bodies)[:, None] == body)


# --- with articulated inertias ---


class NodeOperators(NamedTuple):
    """The articulated quantities of a compound body of n members with i independent speeds.

    D = H P H^T (with armature), G = P H^T D^-1, tau_bar = 1 - G H, P+ = tau_bar P.
    """

    H: Float[Array, "_i _rows"]  # transposed: what the independent speeds give the members
    P: Float[
        Array, "_rows _rows"
    ]  # block diagonal: each member with what hangs on it outside the group
    D: Float[Array, "_i _i"]
    G: Float[Array, "_rows _i"]
    tau_bar: Float[Array, "_rows _rows"]
    P_plus: Float[Array, "_rows _rows"]


def node_operators(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> NodeOperators:
    """P, D, G, tau-bar and P+ of an outermost compound body."""
    k, at = node_of(model, compound), placed(model, q)
    step, node = steps_of(model)[k], factor_nodes(model, q, at)[k]
    n = len(step.bodies)
    shift = motion_shift(at.arms[np.asarray(step.bodies)])
    H = _at_pnodes(shift, node.motions).reshape(6 * n, -1).T
    inertias = _congruent(_force_shift(at, step.bodies), node.inertias)
    zero = jnp.zeros((n, n, 6, 6), H.dtype)
    P = _blocks(zero.at[np.arange(n), np.arange(n)].set(inertias), np.eye(n, dtype=bool))
    X = _spread(model, q, k)
    armature = jnp.diag(model.tree.armature[np.asarray(step.speeds)])
    armature = armature if X is None else times(X.T, times(armature, X))
    momenta = times(P, H.T)
    D = times(H, momenta) + armature
    G = definite.solve(node.weight, momenta.T).T if H.shape[0] else momenta
    tau_bar = jnp.eye(6 * n, dtype=H.dtype) - times(G, H)
    return NodeOperators(H, P, D, G, tau_bar, times(tau_bar, P))


def _spread(model: AbstractModel, q: Array, k: int) -> Array | None:
    spread = model.spread(q)
    return None if spread is None else spread[k]


def _force_shift(at: Placed, bodies: tuple[int, ...]) -> Float[Array, "n 6 6"]:
    """From forces about the points of reference to forces about the pnodes."""
    r = at.arms[np.asarray(bodies)]
    return phi_between(r, jnp.zeros_like(r))


def _at_pnodes(shift: Float[Array, "n 6 6"], x: Float[Array, "n 6 _k"]) -> Float[Array, "n 6 _k"]:
    return jnp.matmul(shift, x, precision=lax.Precision.HIGHEST)


def _congruent(a: Float[Array, "n 6 6"], m: Float[Array, "n 6 6"]) -> Float[Array, "n 6 6"]:
    half = jnp.matmul(a, m, precision=lax.Precision.HIGHEST)
    return jnp.matmul(half, jnp.swapaxes(a, 1, 2), precision=lax.Precision.HIGHEST)


def oframe_to_pframe_psi(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "6 _rows"]:
    """psi(p, S) = E Phi tau-bar: what the parent feels of forces at the members, all speeds being free."""
    articulated = node_operators(model, q, compound)
    return times(oframe_to_pframe_phi(model, q, compound), articulated.tau_bar)


def upsilon(
    model: AbstractModel, q: Float[Array, " nq"], compound: str | Compound
) -> Float[Array, "_rows _rows"]:
    """Upsilon = J M^-1 J^T of the members at their pnodes, by recursion from the ground.

    For an inner compound body it is the part of the outermost one's.
    """
    found, nodes = compound_of(model, compound), model.nodes or ()
    k = next(i for i, node in enumerate(nodes) if set(found.bodies) <= set(node.bodies))
    steps, at = steps_of(model), placed(model, q)
    whole = upsilon_of(steps, factor_nodes(model, q, at), [k])[k]
    rows = np.asarray([steps[k].bodies.index(b) for b in found.bodies])
    part = whole[rows][:, :, rows]
    shift = motion_shift(at.arms[np.asarray(found.bodies)])
    n = len(rows)
    left = _at_pnodes(shift, part.reshape(n, 6, 6 * n)).reshape(6 * n, n, 6)
    moved = _at_pnodes(shift, jnp.transpose(left, (1, 2, 0)))
    return moved.reshape(6 * n, 6 * n).T

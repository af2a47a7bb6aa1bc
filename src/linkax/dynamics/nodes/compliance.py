"""J M^-1 J^T of bodies by the recursion over nodes: Upsilon of every node, Omega between any two bodies.

Source: Jain 2011, sections 10.3 and 14.5 (operational-space compliance matrix); document 004, upsilon cache.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.dynamics.nodes.axes import Placed, placed, stacked
from linkax.dynamics.nodes.layout import Step, steps_of
from linkax.dynamics.nodes.matrix import NodeFactor, factor_nodes, times
from linkax.kinematics.jacobians import resolve
from linkax.math import definite
from linkax.math.materialise import materialise
from linkax.math.stacks import apply, product, skew
from linkax.model.abstract import AbstractModel
from linkax.model.inputs import conform
from linkax.model.topology import GROUND


Path = list[tuple[int, int]]  # (position of a node, row of a member), from a body to the ground
Upsilons = dict[int, Array]


def upsilon_of(
    steps: Sequence[Step], factors: Sequence[NodeFactor], wanted: Sequence[int]
) -> Upsilons:
    """Upsilon (n, 6, n, 6) in the common axes of the wanted nodes and of all that carry them.

    Block (k, l) is psi_k^T Y psi_l + S_k D^-1 S_l^T, with Y the block of the body that the node hangs on.
    """
    known: Upsilons = {}
    needed = {node for k in wanted for node in _inboard(steps, k)}
    for k in sorted(needed):
        step, node = steps[k], factors[k]
        n = len(step.bodies)
        S = node.motions.reshape(6 * n, -1)
        Y = jnp.zeros((6 * n, 6 * n), S.dtype)
        if S.shape[1]:
            Y = Y + times(S, definite.solve(node.weight, S.T))
        if step.parent is not None:
            parent, row = step.parent
            psi = node.transmitted.reshape(6 * n, 6)
            Y = Y + times(product(psi, known[parent][row, :, row]), psi.T)
        known[k] = materialise(0.5 * (Y + Y.T)).reshape(n, 6, n, 6)
    return known


def _inboard(steps: Sequence[Step], k: int) -> list[int]:
    """A node and all that carry it."""
    path, at = [k], steps[k].parent
    while at is not None:
        path.append(at[0])
        at = steps[at[0]].parent
    return path


def body_path(steps: Sequence[Step], body: int) -> Path:
    """The bodies through which a body hangs on the ground, node by node, itself first."""
    at = next((k, s.bodies.index(body)) for k, s in enumerate(steps) if body in s.bodies)
    path = [at]
    while (parent := steps[path[-1][0]].parent) is not None:
        path.append(parent)
    return path


def between(
    steps: Sequence[Step],
    factors: Sequence[NodeFactor],
    upsilon: Upsilons,
    first: Path,
    second: Path,
) -> Float[Array, "6 6"]:
    """Omega of two bodies in the common axes: the acceleration of the first under a force on the second."""
    common = next((node for node, _ in first if node in [k for k, _ in second]), None)
    if common is None:
        return jnp.zeros((6, 6), factors[0].gain.dtype)
    (left, e), (right, f) = (_down_to(factors, common, path) for path in (first, second))
    return product(product(left, upsilon[common][e, :, f]), right.T)


def _down_to(factors: Sequence[NodeFactor], common: int, path: Path) -> tuple[Array, int]:
    """psi^T along a path from its body down to a common node, and the row of the member it ends at."""
    along = jnp.eye(6, dtype=factors[0].gain.dtype)
    for node, row in path:
        if node == common:
            return materialise(along), row
        along = product(along, factors[node].transmitted[row])
    raise AssertionError("the common node is on both paths")


def node_compliance(
    model: AbstractModel,
    q: Float[Array, " nq"],
    bodies: Sequence[str | int],
    points: Float[Array, "k 3"] | None = None,
) -> Float[Array, "_rows _rows"]:
    """J M^-1 J^T of k bodies by the recursion over nodes: linear in the number of nodes.

    The accelerations [angular; of the point] that wrenches [torque about the point; force] on the bodies
    cause; world axes.

    Args:
        model: any model; compound bodies are one step each.
        q: coordinates.
        bodies: names or indices of bodies, or names of frames (their bodies are meant).
        points: one a body, from the body-frame origin in body axes [m]; by default that origin.

    Source: Jain 2011, section 10.3.
    """
    (q,) = conform(model, q=q)
    indices = [resolve(model, body)[0] for body in bodies]
    steps, at = steps_of(model), placed(model, q)
    factors = factor_nodes(model, q, at)
    paths = {b: body_path(steps, b) for b in indices if b != GROUND}
    upsilon = upsilon_of(steps, factors, [k for path in paths.values() for k, _ in path])
    zero = jnp.zeros((6, 6), model.dtype)
    blocks: list[list[Array]] = [[zero] * len(indices) for _ in indices]
    for i, a in enumerate(indices):
        for j, b in enumerate(indices[: i + 1]):
            if GROUND not in (a, b):
                blocks[i][j] = between(steps, factors, upsilon, paths[a], paths[b])
                blocks[j][i] = blocks[i][j].T
    shift = _shifts(at, indices, points)
    omega = jnp.stack([jnp.stack(row) for row in blocks])
    left = product(jnp.broadcast_to(shift[:, None], omega.shape), omega)
    moved = product(left, jnp.broadcast_to(jnp.swapaxes(shift, 1, 2)[None], omega.shape))
    return jnp.swapaxes(moved, 1, 2).reshape(6 * len(indices), 6 * len(indices))


def node_body_compliances(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "nb 6 6"]:
    """J M^-1 J^T of every body by itself, at its frame origin, by one pass over the nodes.

    Rows and columns as in `node_compliance`.
    """
    (q,) = conform(model, q=q)
    steps, at = steps_of(model), placed(model, q)
    upsilon = upsilon_of(steps, factor_nodes(model, q, at), range(len(steps)))
    found = {
        body: upsilon[k][row, :, row]
        for k, step in enumerate(steps)
        for row, body in enumerate(step.bodies)
    }
    omega = jnp.stack([found[body] for body in range(model.nb)])
    shift = _shifts(at, range(model.nb), None)
    return product(product(shift, omega), jnp.swapaxes(shift, 1, 2))


def _shifts(at: Placed, indices: Sequence[int], points) -> Float[Array, "k 6 6"]:
    """From motions about the points of reference to motions of the points; anything for the ground."""
    arms = stacked(at.frames.translation)
    if points is not None:
        R = jnp.stack(at.frames.rotation, axis=-1).reshape(-1, 3, 3)[np.asarray(indices)]
        return motion_shift(arms[np.asarray(indices)] + apply(R, jnp.asarray(points, R.dtype)))
    return motion_shift(arms[np.asarray(indices)])


def motion_shift(r: Float[Array, "k 3"]) -> Float[Array, "k 6 6"]:
    """Matrices [[1, 0], [-[r]x, 1]]: motions at a point to motions at points r away from it."""
    eye = jnp.broadcast_to(jnp.eye(3, dtype=r.dtype), (r.shape[0], 3, 3))
    upper = jnp.concatenate([eye, jnp.zeros_like(eye)], axis=2)
    return jnp.concatenate([upper, jnp.concatenate([-skew(r), eye], axis=2)], axis=1)

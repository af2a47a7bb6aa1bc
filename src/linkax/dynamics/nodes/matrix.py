"""The articulated-body recursion over nodes, matrix part: what depends on the coordinates alone.

Written out node by node, in the common axes of `axes`, where the operators phi that carry motions and forces
between bodies are identities. Source: Jain 2011, chapters 7 and 14; Jain 2012 (constraint embedding), II.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.dynamics.nodes.axes import Placed, placed
from linkax.dynamics.nodes.layout import Step, steps_of
from linkax.math import definite
from linkax.math.materialise import materialise
from linkax.math.stacks import product, transposed
from linkax.model.abstract import AbstractModel


Spread = Float[Array, "_d _i"] | None
Spreads = Sequence[Spread] | None


class NodeFactor(NamedTuple):
    """One node of n members and i independent speeds, seen from its parent."""

    inertias: Float[Array, "n 6 6"]  # P: of each member with all that hangs on it outside the node
    motions: Float[Array, "n 6 _i"]  # H_G^T: what the independent speeds give each member
    momenta: Float[Array, "6 _i"]  # U = sum of P H_G^T over the members: E Phi P H^T
    weight: definite.Definite  # D = H_G P H_G^T with armature, factored
    gain: Float[Array, "6 _i"]  # U D^-1

    @property
    def transmitted(self) -> Float[Array, "n 6 6"]:
        """psi^T of each member: its acceleration under the parent's when the node's speeds are free."""
        eye = jnp.eye(6, dtype=self.gain.dtype)[None]
        if self.gain.shape[1] == 0:
            return jnp.broadcast_to(eye, self.inertias.shape)
        return eye - product(
            self.motions, jnp.broadcast_to(self.gain.T[None], transposed(self.motions).shape)
        )


def factor_nodes(
    model: AbstractModel, q: Float[Array, " nq"], at: Placed | None = None
) -> list[NodeFactor]:
    """The factors of all nodes of a model, parents first."""
    at = placed(model, q) if at is None else at
    return factor_steps(steps_of(model), at, model.tree.armature, model.spread(q))


def factor_steps(
    steps: Sequence[Step], at: Placed, armature: Float[Array, " tree_nv"], spreads: Spreads
) -> list[NodeFactor]:
    """The same for given nodes; `spreads` are the matrices X of each, None for the identity."""
    carried: list[dict[int, Array]] = [{} for _ in steps]
    factors: list[NodeFactor] = []
    for k, step in reversed(list(enumerate(steps))):
        own = at.inertias[np.asarray(step.bodies)]
        P = materialise(own + _gathered(carried[k], own)) if carried[k] else own
        speeds = np.asarray(step.speeds)
        node = _factor(
            step, P, at.motions[speeds], armature[speeds], None if spreads is None else spreads[k]
        )
        factors.insert(0, node)
        if step.parent is not None:
            parent, row = step.parent
            before = carried[parent].get(row)
            felt = _felt(node)
            carried[parent][row] = felt if before is None else before + felt
    return factors


def _gathered(rows: dict[int, Array], like: Array) -> Array:
    """What hangs on the members, zero where nothing does."""
    zero = jnp.zeros_like(like[0])
    return jnp.stack([rows.get(row, zero) for row in range(like.shape[0])])


def _factor(step: Step, P: Array, s: Array, armature: Array, X: Spread) -> NodeFactor:
    """P (n, 6, 6), the tree's speeds' motions s (d, 6) and armature (d,) to the factor."""
    joints = np.asarray(step.joints)
    composite = P
    if len(step.bodies) > 1:
        # (n, n) sums over what each member carries inside the node, itself included.
        sums = jnp.asarray(step.carries, P.dtype)
        composite = times(sums, P.reshape(-1, 36)).reshape(P.shape)
    momenta = product(composite[joints], s[:, :, None])[:, :, 0]
    # The joint of the row carries that of the column: s_j . C_l s_l; the other triangle is its mirror image.
    upper = product(s, momenta.T)
    carries = step.carries[joints][:, joints]
    later = np.arange(len(joints))[:, None] < np.arange(len(joints))[None, :]
    upper = jnp.where(carries & later, upper, 0.0)
    diagonal = jnp.sum(s * momenta, axis=1) + armature
    D = upper + upper.T + jnp.diag(diagonal)
    reached = jnp.asarray(step.carries[joints].T, P.dtype)  # (n, d)
    S = reached[:, None, :] * s.T[None]
    if X is not None:
        S = times(S.reshape(-1, s.shape[0]), X).reshape(*S.shape[:2], X.shape[1])
        D = times(X.T, times(D, X))
    U = momenta.T if X is None else times(momenta.T, X)
    S, U, D = materialise((S, U, D))
    weight = definite.factor(D)
    gain = materialise(definite.solve(weight, U.T).T)
    return NodeFactor(P, S, U, weight, gain)


def times(a: Float[Array, "_m _k"], b: Float[Array, "_k _n"]) -> Float[Array, "_m _n"]:
    """a b for matrices whose size goes with the node's."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def _felt(node: NodeFactor) -> Float[Array, "6 6"]:
    """P+: what the parent feels of a node whose speeds are free; symmetric to the bit."""
    total = jnp.sum(node.inertias, axis=0)
    if node.gain.shape[1]:
        total = total - product(node.gain, node.momenta.T)
    return materialise(0.5 * (total + total.T))

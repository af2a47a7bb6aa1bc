"""The articulated-body recursion over nodes, filter and smoother: forces in, accelerations out.

One factorisation serves any number of right-hand sides: `jax.vmap` over the forces leaves it unbatched.
Source: Jain 2011, sections 7.2 and 14.4.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.dynamics.nodes.layout import Step
from linkax.dynamics.nodes.matrix import NodeFactor
from linkax.math import definite
from linkax.math.materialise import materialise
from linkax.math.stacks import apply
from linkax.model.traverse import take


class Filtered(NamedTuple):
    """One node's share of the filter pass."""

    excess: Float[Array, " _i"]  # nu = D^-1 epsilon
    biases: Float[Array, "n 6"] | None  # z of the members; None where structurally zero


class Motions(NamedTuple):
    """What the smoother pass gives, in the order of the model's speeds and of the bodies."""

    rates: Float[Array, " nv"]
    accelerations: Float[Array, "nb 6"]  # alpha, in the common axes, gravity's device included


def filter_nodes(
    steps: Sequence[Step],
    factors: Sequence[NodeFactor],
    tau: Float[Array, " nv"],
    biases: Float[Array, "nb 6"] | None = None,
    drifts: Float[Array, "nb 6"] | None = None,
) -> list[Filtered]:
    """Inward: forces through the factors.

    Args:
        steps, factors: the nodes.
        tau: forces on the independent speeds.
        biases: on each body, velocity terms less external wrenches: b - f_ext.
        drifts: accelerations of the bodies while the independent speeds are constant.
    """
    carried: list[dict[int, Array]] = [{} for _ in steps]
    out: list[Filtered] = []
    for k, (step, node) in reversed(list(enumerate(zip(steps, factors, strict=True)))):
        z = _biases(step, node, carried[k], biases, drifts)
        force = take(tau, step.independent)
        if z is not None:
            force = force - jnp.sum(node.motions * z[:, :, None], axis=(0, 1))
        nu = materialise(definite.solve(node.weight, force))
        out.insert(0, Filtered(nu, z))
        if step.parent is not None:
            parent, row = step.parent
            passed = jnp.sum(node.momenta * nu[None, :], axis=1)
            passed = materialise(passed if z is None else passed + jnp.sum(z, axis=0))
            before = carried[parent].get(row)
            carried[parent][row] = passed if before is None else before + passed
    return out


def _biases(step: Step, node: NodeFactor, carried: dict[int, Array], biases, drifts):
    """z = P a_G + b - f_ext + what hangs on the members: (n, 6), or None."""
    members, terms = np.asarray(step.bodies), []
    if biases is not None:
        terms.append(biases[members])
    if drifts is not None:
        terms.append(apply(node.inertias, drifts_within(step, drifts)))
    if carried:
        zero = jnp.zeros_like(next(iter(carried.values())))
        terms.append(jnp.stack([carried.get(row, zero) for row in range(len(members))]))
    return materialise(sum(terms[1:], terms[0])) if terms else None


def drifts_within(step: Step, drifts: Float[Array, "nb 6"]) -> Float[Array, "n 6"]:
    """a_G: what the speeds alone give the members beyond the parent's acceleration."""
    own = drifts[np.asarray(step.bodies)]
    return own if step.parent is None else own - drifts[step.parent_body][None]


def smooth_nodes(
    steps: Sequence[Step],
    factors: Sequence[NodeFactor],
    filtered: Sequence[Filtered],
    drifts: Float[Array, "nb 6"] | None = None,
    ground: Float[Array, "6"] | None = None,
) -> Motions:
    """Outward: accelerations of the speeds and of the bodies, from that of the ground (None: at rest)."""
    rates, alphas = [], []
    for step, node, f in zip(steps, factors, filtered, strict=True):
        parent = ground if step.parent is None else alphas[step.parent[0]][step.parent[1]]
        rate = f.excess
        if parent is not None:
            rate = rate - jnp.sum(node.gain * parent[:, None], axis=0)
        rate = materialise(rate)
        alpha = jnp.sum(node.motions * rate[None, None, :], axis=2)
        alpha = alpha if parent is None else alpha + parent[None]
        alphas.append(materialise(alpha if drifts is None else alpha + drifts_within(step, drifts)))
        rates.append(rate)
    return Motions(in_order(rates, [s.independent for s in steps]), _by_body(steps, alphas))


def in_order(parts: Sequence[Array], places: Sequence[tuple[int, ...]]) -> Array:
    """Parts of a vector, put where they belong."""
    flat = [place for part in places for place in part]
    return take(jnp.concatenate(list(parts)), [int(i) for i in np.argsort(flat)])


def _by_body(steps: Sequence[Step], parts: Sequence[Array]) -> Array:
    return in_order(parts, [step.bodies for step in steps])

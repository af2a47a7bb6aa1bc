"""Forces between the bodies of a compound body: f' and f = Phi f' (document 004, InvDynVectors).

Six rows a member, parents first: [moment; force], world axes, that a member's inboard joint exerts on it.
Where a model closes loops, f leaves out what the cut joints carry.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.compounds import compound_of, external_children, node_of
from linkax.constraints.operators import onodes, phi_between, pnodes
from linkax.dynamics.nodes import (
    Articulated,
    Placed,
    accelerated,
    articulated_nodes,
    drifts_within,
    placed,
    placed_wrenches,
    rising,
    steps_of,
    times,
    velocity_forces,
)
from linkax.math.stacks import apply, cross
from linkax.model import AbstractModel, Compound, conform


class InverseDynamicsVectors(NamedTuple):
    """Forces on the members of a compound body at their pnodes; f = Phi f_prime."""

    f_prime: Float[Array, "n 6"]  # what a member and the bodies outside that hang on it ask for
    f: Float[Array, "n 6"]  # what its joint exerts: with all that it carries within the group


def inverse_dynamics_vectors(
    model: AbstractModel,
    compound: str | Compound,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    a: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> InverseDynamicsVectors:
    """f' = M alpha + b - f_ext + the forces of the children outside, and f = Phi f', for a given motion.

    Args:
        model: any model with compound bodies.
        compound: name of a compound body, at any depth.
        q, v, a: coordinates, speeds, rates of the speeds.
        wrenches: on each body, [torque about the body-frame origin; force], world axes [N m, N].

    Source: document 004; Jain 2011, sections 5.3 and 14.2.
    """
    q, v, a, wrenches = conform(model, q=q, v=v, a=a, wrenches=wrenches)
    found, at = compound_of(model, compound), placed(model, q)
    net = _net_forces(model, q, v, a, wrenches, at)
    carries = _carries(model)
    asked = times(jnp.asarray(carries, net.dtype), net)
    outside = np.zeros_like(carries)
    for body, children in external_children(model, found).items():
        outside[body, list(children)] = True
    bodies = np.asarray(found.bodies)
    f_prime = net[bodies] + times(jnp.asarray(outside, net.dtype), asked)[bodies]
    return InverseDynamicsVectors(
        _about(at.arms[bodies], f_prime), _about(at.arms[bodies], asked[bodies])
    )


def _net_forces(model: AbstractModel, q, v, a, wrenches, at: Placed) -> Float[Array, "nb 6"]:
    """M alpha + b - f_ext of all bodies in the common axes."""
    velocities, accelerations = accelerated(model, q, v, a, at)
    felt = accelerations + rising(model)[None]
    net = apply(at.inertias, felt) + velocity_forces(at, velocities)
    return net if wrenches is None else net - placed_wrenches(at, wrenches)


def _carries(model: AbstractModel) -> np.ndarray:
    """(nb, nb) truth of: the row's body carries the column's, or is it."""
    carries = np.zeros((model.nb, model.nb), bool)
    for body, path in enumerate(model.tree.topology.ancestors):
        carries[list(path), body] = True
    return carries


def _about(r: Float[Array, "n 3"], f: Float[Array, "n 6"]) -> Float[Array, "n 6"]:
    """Forces about the points of reference, about points r away from them."""
    return jnp.concatenate([f[:, :3] - cross(r, f[:, 3:]), f[:, 3:]], axis=1)


def gathered(
    model: AbstractModel,
    q: Float[Array, " nq"],
    compound: str | Compound,
    f_prime: Float[Array, "n 6"],
) -> Float[Array, "n 6"]:
    """Phi f' by accumulation from the tips, without forming Phi: one phi a member."""
    bodies = compound_of(model, compound).bodies
    points, parents = pnodes(model, q), model.tree.topology.parents
    f = dict(zip(bodies, f_prime, strict=True))
    for body in reversed(bodies):
        parent = parents[body]
        if parent in f:
            f[parent] = f[parent] + apply(phi_between(points[parent], points[body]), f[body])
    return jnp.stack([f[body] for body in bodies])


class ForwardForces(NamedTuple):
    """Forces on the members of a compound body during forward dynamics."""

    f_prime: Float[Array, "n 6"]  # at pnodes
    at_pnodes: Float[Array, "n 6"]  # f = Phi f'
    at_onodes: Float[
        Array, "n 6"
    ]  # the same about the origins of the joints' frames F on the parents


def forward_dynamics_forces(
    model: AbstractModel,
    compound: str | Compound,
    q: Float[Array, " nq"],
    v: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    wrenches: Float[Array, "nb 6"] | None = None,
) -> ForwardForces:
    """The forces between the members, from what forward dynamics by the recursion over nodes leaves behind.

    f' = P (alpha - a_G) + z, with the accelerations, articulated inertias and bias forces of the members; no
    inverse dynamics is done. Arguments as for `forward_dynamics`; the compound body is an outermost one.

    Source: Jain 2011, section 7.6 (f = P+ alpha+ + z+) for a node; document 004, getInterBodyForceTreeFwdDyn.
    """
    q, v, tau, wrenches = conform(model, q=q, v=v, tau=tau, wrenches=wrenches)
    k, found = node_of(model, compound), compound_of(model, compound)
    done = articulated_nodes(model, q, v, tau, wrenches)
    bodies = np.asarray(found.bodies)
    f_prime = _about(done.at.arms[bodies], _asked_of_node(model, done, k))
    f = gathered(model, q, found, f_prime)
    points, joints = pnodes(model, q)[bodies], onodes(model, q)[bodies]
    return ForwardForces(f_prime, f, apply(phi_between(joints, points), f))


def _asked_of_node(model: AbstractModel, done: Articulated, k: int) -> Float[Array, "n 6"]:
    """P (alpha - a_G) + z of a node's members in the common axes."""
    step, node, biases = steps_of(model)[k], done.factors[k], done.filtered[k].biases
    alpha = done.motions.accelerations[np.asarray(step.bodies)]
    moved = apply(node.inertias, alpha - drifts_within(step, done.moving.drifts))
    assert biases is not None
    return moved + biases

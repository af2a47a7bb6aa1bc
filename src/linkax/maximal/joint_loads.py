"""Generalised forces on the joints of a model, as wrenches on the bodies that they connect."""

import functools as ft

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.forces.loads import AbstractLoad
from linkax.kinematics.bodies import poses, with_ground
from linkax.math import ldl
from linkax.math.stacks import apply, apply_transposed, cross
from linkax.maximal.tree import joint_between, joint_gram, tree_coordinates, tree_speeds
from linkax.model import Model, coordinates
from linkax.solve.block_sparse import added
from linkax.spatial.motion import combine
from linkax.spatial.vector import Vec3


class JointLoads(AbstractLoad):
    """tau on a model's independent joint speeds, less damping * speed on all: [N m] or [N], at the bodies.

    The wrench on the child at the joint is S (S^T S)^{-1} tau, S the joint's motion subspace: of those whose
    power is tau times the speeds the one without a part along locked directions; the parent feels the
    opposite.
    """

    model: Model
    tau: Float[Array, " nv"]
    damping: Float[Array, " tree_nv"]

    def wrenches(self, bodies, at):
        """Child and parent of every joint."""
        model, topology = self.model, self.model.topology
        whole = ft.partial(coordinates.expand, topology)
        speeds = whole(tree_speeds(model, at), model.ratio, None, "nv")
        # Followers are moved by the couplings to their leaders: no tau of their own acts on them.
        force = whole(self.tau, jnp.zeros_like(model.ratio), None, "nv") - self.damping * speeds
        q = tree_coordinates(model, at, model.neutral())
        q = whole(q, model.ratio, model.offset, "nq")
        where = with_ground(poses(at.position, at.orientation))
        owners, parts = [], []
        for joint, owned in topology.classes:
            if joint.nv == 0:
                continue
            between = joint_between(model, joint, owned, where)
            columns, gram = joint_gram(model, joint, owned, between, q)
            taken = [topology.v_slots.start[b] for b in owned]
            tau = [force[np.asarray([i + k for i in taken])] for k in range(joint.nv)]
            acting = combine(columns, ldl.solve(ldl.factor(gram), tau))
            turning = apply(between.M, _columns(acting.angular, len(owned), model.dtype))
            pushing = apply(between.M, _columns(acting.linear, len(owned), model.dtype))
            for sign, index, arm in (
                (1.0, between.child, between.arm_child),
                (-1.0, between.parent, between.arm_parent),
            ):
                about = apply_transposed(where.rotation[index], turning + cross(arm, pushing))
                parts.append(sign * jnp.concatenate([about, pushing], axis=-1))
                owners += [int(b) for b in index]
        total = jnp.zeros((bodies.n, 6), at.position.dtype)
        if not parts:
            return total
        kept = np.flatnonzero(np.asarray(owners) >= 0)
        return added(total, [owners[i] for i in kept], jnp.concatenate(parts)[kept])


def _columns(v: Vec3, count: int, real) -> Float[Array, "k 3"]:
    return jnp.stack([jnp.broadcast_to(jnp.asarray(x, real), (count,)) for x in v], axis=-1)

"""Trees whose bodies are grouped in every way, and a model whose speeds spread over those of its tree."""

import functools as ft
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import linkax as lx
from linkax.constraints import AggregatedModel, aggregate
from linkax.dynamics.nodes import (
    Placed,
    moving,
    placed,
    placed_wrenches,
    rising,
    velocity_forces,
)
from linkax.model import Description, library


# Evaluated once: LLVM's optimisations would cost more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}
# Two trees; bodies 1 and 4 branch.
PARENTS = (-1, 0, 1, 1, -1, 4, 3, 2)


def branching(kinds: tuple[str, ...] | None, parents: tuple[int, ...]) -> Description:
    """A random tree with given parents; of all types of joints, its first body floats."""
    tree = library.random_tree(jax.random.key(2), len(parents), kinds, branching=0.0)
    for joint, parent in zip(tree.joints, parents, strict=True):
        joint.parent = "world" if parent < 0 else f"body{parent}"
    if kinds is None:
        (k,) = (k for k, joint in enumerate(tree.joints) if joint.type == "floating")
        first, other = tree.joints[0], tree.joints[k]
        # The bodies change places, so that everything else stays as it was drawn.
        first.child, other.child = other.child, first.child
        first.parent, other.parent = other.parent, first.parent
        tree.joints[0], tree.joints[k] = other, first
    tree.gravity = (0.3, -0.7, -9.81)
    return tree


def grouped(model: lx.Model, groups: tuple) -> AggregatedModel:
    """Groups of numbers of bodies, one after the other; a group inside another is aggregated first."""
    model = AggregatedModel(model, ())
    for group in groups:
        model = _aggregated(model, group)[0]
    return model


def _aggregated(model, group) -> tuple[AggregatedModel, str]:
    members = []
    for member in group:
        if isinstance(member, tuple):
            model, name = _aggregated(model, member)
            members.append(name)
        else:
            members.append(f"body{member}")
    name = "<" + "+".join(members) + ">"
    return aggregate(model, members, name), name


def random_grouping(model: lx.Model, rng: np.random.Generator) -> tuple:
    """Disjoint groups: members are added to a base body while a coin says so."""
    parents, free, groups = model.topology.parents, set(range(model.nb)), []
    for body in rng.permutation(model.nb).tolist():
        if body not in free:
            continue
        group = {body}
        for other in range(model.nb):
            hangs = parents[other] in group or parents[other] == parents[body]
            if other in free - group and hangs and rng.random() < 0.6:
                group.add(other)
        free -= group
        if len(group) > 1 or rng.random() < 0.5:
            groups.append(tuple(rng.permutation(sorted(group)).tolist()))
    return tuple(groups)


class Case(NamedTuple):
    """A tree at one state, in the common axes, and the answers of the dense matrices."""

    model: lx.Model
    at: Placed
    drifts: Array
    biases: Array
    ground: Array
    tau: Array
    M: np.ndarray
    rates: np.ndarray
    jacobians: np.ndarray  # (6 nb, nv), about the points of reference


@ft.cache
def mixed() -> Case:
    """All types of joints, two trees, a floating root, external wrenches."""
    model = lx.build(branching(None, PARENTS)).model
    assert model.topology.parents == PARENTS
    assert model.topology.joints[0].nv == 6
    rng = np.random.default_rng(5)
    q = model.random(jax.random.key(1))
    v, tau = jnp.asarray(rng.normal(size=(2, model.nv)))
    wrenches = jnp.asarray(rng.normal(size=(model.nb, 6)))

    def everything(q, v, tau, wrenches):
        at = placed(model, q)
        moved = moving(model, q, v, at)
        biases = velocity_forces(at, moved.velocities) - placed_wrenches(at, wrenches)
        forces = tau - lx.bias_force(model, q, v, wrenches)
        return at, moved.drifts, biases, lx.mass_matrix(model, q), forces

    compiled = jax.jit(everything, compiler_options=CHEAPLY)
    at, drifts, biases, M, forces = compiled(q, v, tau, wrenches)
    M = np.asarray(M)
    moves = np.array(
        [[a in path for a in range(model.nb)] for path in model.topology.ancestors], float
    )
    reached = np.repeat(moves, model.topology.v_slots.width, axis=1)
    J = reached[:, None, :] * np.asarray(at.motions).T[None]
    return Case(
        *(model, at, drifts, biases, rising(model), tau, M),
        np.linalg.solve(M, np.asarray(forces)),
        J.reshape(6 * model.nb, model.nv),
    )


class SpreadModel(AggregatedModel):
    """An aggregated model whose nodes have fewer speeds of their own: v_tree = X v, X constant."""

    X: tuple[Array, ...]
    count: int = eqx.field(static=True)

    @property
    def nv(self) -> int:
        return self.count

    @property
    def speed_names(self) -> tuple[str, ...]:
        return tuple(f"speed{k}" for k in range(self.count))

    @property
    def node_speeds(self) -> tuple[tuple[int, ...], ...]:
        """Counted from the last node to the first, so that the order is not the nodes'."""
        out, start = [], 0
        for X in reversed(self.X):
            out.insert(0, tuple(range(start, start + X.shape[1])))
            start += X.shape[1]
        return tuple(out)

    @property
    def whole(self) -> Array:
        """X of all nodes, (tree_nv, nv)."""
        out = jnp.zeros((self.base.nv, self.nv), self.dtype)
        for node, own, X in zip(self.nodes, self.node_speeds, self.X, strict=True):
            rows = np.asarray(node.speeds(self.base.topology), int)[:, None]
            out = out.at[rows, np.asarray(own, int)[None]].set(X)
        return out

    def tree_speeds(self, q, v):
        return self.whole @ v

    def tree_accelerations(self, q, v, a):
        return self.whole @ (jnp.zeros_like(v) if a is None else a)

    def project(self, q, x):
        return self.whole.T @ x

    def spread(self, q):
        return self.X


def spread_model(
    model: AggregatedModel, rng: np.random.Generator, counts: tuple[int, ...]
) -> SpreadModel:
    """Random X of full rank, with `counts` independent speeds a node."""
    X = []
    for node, count in zip(model.nodes, counts, strict=True):
        rows = len(node.speeds(model.base.topology))
        X.append(jnp.asarray(np.linalg.qr(rng.normal(size=(rows, rows)))[0][:, :count]))
    return SpreadModel(model.base, model.compounds, tuple(X), sum(counts))

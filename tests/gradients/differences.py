"""Derivatives of both modes against central differences, lane by lane, and what their inputs are made of.

Everything varies at once: the lanes are points (regular and singular ones side by side in one batch), and
at each point the function is differentiated along random directions of all leaves together and along one
direction per leaf, so that a cotangent that is wrongly zero shows up by the name of its leaf.
"""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun


# Of fourth order: with all leaves moving at once the third derivative alone reached 1e-5 of the first.
STEP = 1e-3
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0]) * STEP
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * STEP)
# Evaluated a few times: LLVM's optimisations would cost more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}


def by_operations(function):
    """The function traced as a whole, but evaluated operation by operation, without compiling the whole.

    Traces of derivatives and batches cost more than the operations: done once, not at each evaluation of
    each operation, that took the tree of all joint types from 711 to 460 s on a busy machine.
    """

    def evaluate(*arguments):
        traced, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
        out = jaxpr_as_fun(traced)(*jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(shape), out)

    return evaluate


def stacked(trees):
    """One tree with a leading axis from several of one structure."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def named_leaves(tree):
    """[(path, leaf)] in the order of `jax.tree.leaves`."""
    pairs = jax.tree_util.tree_leaves_with_path(tree)
    return [
        (jax.tree_util.keystr(path).replace("']", "").replace("['", ""), x) for path, x in pairs
    ]


def directions(point, seed=0, together=2, still=()):
    """(names, tree with a leading axis): random directions, first of all leaves, then of one leaf each.

    A direction has the size of its leaf, or one where the leaf is zero. Leaves whose path ends in one of
    `still`, empty leaves and infinite ones do not move.
    """
    rng = np.random.default_rng(seed)
    leaves = named_leaves(point)
    moving = [
        i
        for i, (path, x) in enumerate(leaves)
        if x.size and np.isfinite(x).all() and not path.endswith(tuple(still))
    ]
    names = ["all"] * together + [leaves[i][0] for i in moving]
    columns = []
    for i, (_, x) in enumerate(leaves):
        size = float(np.sqrt(np.mean(np.square(x)))) if i in moving else 0.0
        rows = rng.normal(size=(len(names), *x.shape)) * (size or 1.0)
        uses = [
            i in moving and (k < together or moving[k - together] == i) for k in range(len(names))
        ]
        columns.append(jnp.asarray(np.where(np.reshape(uses, (-1,) + (1,) * x.ndim), rows, 0.0)))
    return names, jax.tree.unflatten(jax.tree.structure(point), columns)


def _crossed(points, ways):
    """points and ways for every pair of a point and a way: one leading axis of lanes."""
    count, kinds = (jax.tree.leaves(t)[0].shape[0] for t in (points, ways))
    return (
        jax.tree.map(lambda x: jnp.repeat(x, kinds, axis=0), points),
        jax.tree.map(lambda x: jnp.concatenate([x] * count), ways),
    )


def _moved(x, dx, scale):
    return jax.tree.map(lambda a, b: jnp.where(b == 0.0, a, a + scale * b), x, dx)


def _shape(array, *leading):
    return np.asarray(array).reshape(*leading, -1)


class Comparison:
    """Values and derivatives of a function at points x ways: dictionaries of NumPy arrays by result.

    `value`, `forward`, `difference` are (points, ways, n); `reverse` and `paired` (points, ways) are one
    random weighting of the results' derivatives, by the cotangents and by the tangents.
    """

    def __init__(self, function, points, ways, seed=1, compiled=True):
        wrap = ft.partial(jax.jit, compiler_options=CHEAPLY) if compiled else by_operations
        lanes = tuple(jax.tree.leaves(t)[0].shape[0] for t in (points, ways))
        x, dx = _crossed(points, ways)
        # All offsets in one call: evaluated operation by operation, a function costs the same for any number
        # of lanes.
        moved = [_moved(x, dx, offset) for offset in OFFSETS]
        samples = wrap(jax.vmap(function))(jax.tree.map(lambda *a: jnp.concatenate(a), *moved))
        value, tangent = wrap(jax.vmap(lambda x, dx: jax.jvp(function, (x,), (dx,))))(x, dx)

        self.value, self.forward, self.difference, weights = {}, {}, {}, {}
        self.paired = np.zeros(lanes)
        rng = np.random.default_rng(seed)
        for k, y in value.items():
            self.value[k], self.forward[k] = _shape(y, *lanes), _shape(tangent[k], *lanes)
            self.difference[k] = np.tensordot(WEIGHTS, _shape(samples[k], len(OFFSETS), *lanes), 1)
            w = rng.normal(size=self.forward[k].shape) / (np.abs(self.forward[k]).max() or 1.0)
            weights[k] = jnp.asarray(w.reshape(y.shape), y.dtype)
            self.paired += np.sum(w * self.forward[k], axis=-1)

        pull = wrap(jax.vmap(lambda x, w: jax.vjp(function, x)[1](w)[0]))
        self.reverse = np.zeros(lanes)
        for g, d in zip(jax.tree.leaves(pull(x, weights)), jax.tree.leaves(dx), strict=True):
            self.reverse += np.sum(_shape(g, *lanes) * _shape(d, *lanes), axis=-1)

    def assert_agrees(self, names, points, rtol=1e-6):
        """Forward equals difference and reverse equals forward at every point along every way."""
        for k, ad in self.forward.items():
            assert np.isfinite(ad).all(), f"{k}: a tangent is not finite"
            cd = self.difference[k]
            # Where a derivative vanishes, its difference still holds what is of third order along the way.
            floor = max(1e-2 * np.abs(cd).max(), 1e-3)
            scale = np.maximum(np.abs(cd).max(-1), 1e-3 * np.abs(self.value[k]).max(-1))
            error = np.abs(ad - cd).max(-1) / np.maximum(scale, floor)
            self._assert_small(error, names, points, rtol, f"{k}, forward mode")
        assert np.isfinite(self.reverse).all(), "a cotangent is not finite"
        error = np.abs(self.reverse - self.paired) / np.maximum(np.abs(self.paired), 1e-2)
        self._assert_small(error, names, points, rtol, "reverse mode")

    def _assert_small(self, error, names, points, rtol, what):
        worst = np.unravel_index(np.argmax(error), error.shape)
        assert error[worst] <= rtol, (
            f"{what}: off by {error[worst]:.1e} relative at point `{points[worst[0]]}` "
            f"along `{names[worst[1]]}`; in all {int((error > rtol).sum())} of {error.size} pairs."
        )

    def inert(self, result, names):
        """The leaves along which a result does not change at the first point."""
        moves = np.abs(self.forward[result][0]).max(-1) > 0.0
        return {n for n, m in zip(names, moves, strict=True) if not m and n != "all"}

"""Derivatives of both modes against central differences, lane by lane, and what their inputs are made of.

Everything varies at once: the lanes are points (regular and singular ones side by side in one batch), and
at each point the function is differentiated along random directions of all leaves together and along one
direction per leaf, so that a cotangent that is wrongly zero shows up by the name of its leaf.
"""

import jax
import jax.numpy as jnp
import numpy as np


# Fourth-order differences: h^4 f5/30 and eps f/h are both below 1e-11 of the function's scale.
STEP = 1e-3
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0]) * STEP
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * STEP)


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


def _crossed(points, ways, scales=(1.0,)):
    """points and ways for every pair of a point and a way, once for every scale; one leading axis."""
    count, kinds = (jax.tree.leaves(t)[0].shape[0] for t in (points, ways))
    p, w, s = np.meshgrid(np.arange(count), np.arange(kinds), np.arange(len(scales)), indexing="ij")
    p, w, s = p.ravel(), w.ravel(), np.asarray(scales)[s.ravel()]
    return (
        jax.tree.map(lambda x: x[p], points),
        jax.tree.map(lambda x: x[w] * s.reshape((-1,) + (1,) * (x.ndim - 1)), ways),
    )


def _moved(x, dx):
    return jax.tree.map(lambda a, b: jnp.where(b == 0.0, a, a + b), x, dx)


def _shape(array, *leading):
    return np.asarray(array).reshape(*leading, -1)


class Comparison:
    """Values and derivatives of a function at points x ways: dictionaries of NumPy arrays by result.

    `value` (points, n), `forward`, `difference` (points, ways, n); `reverse`, `paired` (points, ways):
    the same random weighting of the results' derivatives, by the cotangent and by the tangents.
    """

    def __init__(self, function, points, ways, seed=1, compiled=True):
        wrap = jax.jit if compiled else (lambda f: f)
        self.count, self.kinds = (jax.tree.leaves(t)[0].shape[0] for t in (points, ways))
        lanes = (self.count, self.kinds)

        moved = wrap(jax.vmap(function))(_moved(*_crossed(points, ways, OFFSETS)))
        self.difference = {
            k: np.einsum("pdsn,s->pdn", _shape(y, *lanes, len(OFFSETS)), WEIGHTS)
            for k, y in moved.items()
        }

        forward = wrap(jax.vmap(lambda x, dx: jax.jvp(function, (x,), (dx,))))
        value, tangent = forward(*_crossed(points, ways))
        self.value = {k: _shape(y, *lanes)[:, 0] for k, y in value.items()}
        self.forward = {k: _shape(y, *lanes) for k, y in tangent.items()}

        rng = np.random.default_rng(seed)
        weights = {}
        for k, y in value.items():
            scale = np.max(np.abs(self.forward[k])) or 1.0
            weights[k] = jnp.asarray(rng.normal(size=(self.count, *y.shape[1:])) / scale)
        pull = wrap(jax.vmap(lambda x, w: jax.vjp(function, x)[1](w)[0]))
        cotangent = jax.tree.leaves(pull(points, weights))
        self.reverse = np.zeros(lanes)
        for g, w in zip(cotangent, jax.tree.leaves(ways), strict=True):
            # An infinite limit has no direction; its cotangent must still be a number.
            self.reverse += np.einsum("pn,dn->pd", _shape(g, self.count), _shape(w, self.kinds))
        self.paired = sum(
            np.einsum("pdn,pn->pd", self.forward[k], _shape(w, self.count))
            for k, w in weights.items()
        )

    def assert_agrees(self, names, points, rtol=1e-6):
        """Forward equals difference and reverse equals forward at every point along every way."""
        for k, ad in self.forward.items():
            assert np.isfinite(ad).all(), f"{k}: a tangent is not finite"
            cd = self.difference[k]
            scale = np.maximum(np.abs(cd).max(-1), 1e-3 * np.abs(self.value[k]).max(-1)[:, None])
            error = np.abs(ad - cd).max(-1) / np.maximum(scale, 1e-3)
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

"""Constraint embedding: a model with loops that moves by its independent speeds alone.

Inside each compound body the dependent speeds follow the independent ones: with the rows G v = 0 of its
loops, v_d = -G_d^-1 G_i v_i, so that v = X v_i and v_dot = X v_i_dot + (dX/dt) v_i, where the dependent part
of the last term is -G_d^-1 (dG/dt) v. Coordinates are those of the whole tree, and always closed. Source:
Jain 2012 (Multibody graph transformations and analysis, part II), sections 3 and 4.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from linkax.constraints.charts import Chart
from linkax.constraints.tree_rows import TreeConstraints
from linkax.model import AbstractModel, Compound, Model, Node, nodes_of
from linkax.solve import Budget, Equations, root
from linkax.solve.block_sparse import added, gathered


# A residual below this many roundings of the largest coordinate (at least one) counts as closed.
FLOOR = 64.0
# Random coordinates are reached in this many steps, of at most this many radians or metres altogether.
STRIDES, REACH = 8, 0.8


class Followers(NamedTuple):
    """The dependent speeds of one compound body at one configuration."""

    lu: Float[Array, "d d"]  # of G_d
    pivots: Int[Array, " d"]
    ratios: Float[
        Array, "d i"
    ]  # G_d^-1 G_i: what each independent speed takes off the dependent ones


class EmbeddedModel(AbstractModel):
    """A tree with loops whose speeds are independent ones of the tree's.

    Coordinates q are all those of the tree, and must close the loops, as `neutral`, `random`, `integrate` and
    `closed` give them. What the functions of a model make of it is exact for closed coordinates.
    """

    base: Model
    rows: TreeConstraints
    reference: Float[Array, " nq"]  # closed; where the chart was chosen
    weights: Float[Array, " nv_tree"]  # how easily each coordinate of the tree changes
    charts: tuple[Chart, ...] = eqx.field(static=True)
    compounds: tuple[Compound, ...] = eqx.field(
        static=True
    )  # all outermost ones, with loops or not
    held: tuple[Followers, ...] | None = None  # at one q, see `at`

    # --- sizes and names ---

    @property
    def tree(self) -> Model:
        """The spanning tree."""
        return self.base

    @property
    def dependent(self) -> tuple[int, ...]:
        """Indices of the tree's speeds that follow others."""
        return tuple(sorted(s for chart in self.charts for s in chart.dependent))

    @property
    def independent(self) -> tuple[int, ...]:
        """Indices of the tree's speeds that are the model's, in its order."""
        follow = set(self.dependent)
        return tuple(s for s in range(self.base.nv) if s not in follow)

    @property
    def nq(self) -> int:
        """Number of coordinates: the tree's."""
        return self.base.nq

    @property
    def nv(self) -> int:
        """Number of independent speeds."""
        return self.base.nv - len(self.dependent)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names of the independent speeds, as the tree has them."""
        return tuple(self.base.speed_names[s] for s in self.independent)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Bodies and compound bodies."""
        return nodes_of(self.base.topology, self.compounds)

    @property
    def node_speeds(self) -> tuple[tuple[int, ...], ...]:
        """For each node, its speeds among the model's."""
        place = {s: i for i, s in enumerate(self.independent)}
        return tuple(
            tuple(place[s] for s in node.speeds(self.base.topology) if s in place)
            for node in self.nodes
        )

    # --- independent speeds and those of the tree ---

    def at(self, q):
        """The model with what its followers do at q worked out, for functions that need it several times."""
        return dataclasses.replace(self, held=self._followers(q))

    def _followers(self, q) -> tuple[Followers, ...]:
        if self.held is not None:
            return self.held
        G = self.rows.jacobian(self.base, q, jnp.zeros((), self.dtype))
        return tuple(_follow(chart, G) for chart in self.charts)

    def tree_coordinates(self, q):
        """q itself."""
        return q

    def tree_speeds(self, q, v):
        """Dependent speeds follow: v_d = -G_d^-1 G_i v_i."""
        return self._spread_out(self._followers(q), v)

    def _spread_out(self, held: tuple[Followers, ...], v):
        return self._joined(v, [-_product(f.ratios, own) for f, own in self._of_charts(held, v)])

    def _of_charts(self, held: tuple[Followers, ...], v):
        """(followers, independent speeds) of each chart."""
        place = {s: i for i, s in enumerate(self.independent)}
        for chart, f in zip(self.charts, held, strict=True):
            yield f, gathered(v, [place[s] for s in chart.independent])

    def _joined(self, v, followers: list) -> Float[Array, " tree_nv"]:
        """Independent speeds and, chart by chart, dependent ones, in the order of the tree."""
        order = [*self.independent, *(s for chart in self.charts for s in chart.dependent)]
        return gathered(jnp.concatenate([v, *followers]), np.argsort(order))

    def tree_accelerations(self, q, v, a):
        """X a + (dX/dt) v."""
        held = self._followers(q)
        rates = jnp.zeros((self.nv,), v.dtype) if a is None else a
        tree_v = self._spread_out(held, v)
        zero = jnp.zeros((), self.dtype)
        opening = self.rows.acceleration_residual(
            self.base, q, tree_v, jnp.zeros_like(tree_v), zero
        )
        followers = [
            -_product(f.ratios, own) - _solved(f, gathered(opening, chart.rows))
            for chart, (f, own) in zip(self.charts, self._of_charts(held, rates), strict=True)
        ]
        return self._joined(rates, followers)

    def project(self, q, x):
        """Forces on the dependent joints act on the independent ones through their ratios."""
        total = gathered(x, self.independent)
        place = {s: i for i, s in enumerate(self.independent)}
        for chart, f in zip(self.charts, self._followers(q), strict=True):
            if not chart.independent:
                continue
            own = gathered(x, chart.dependent)
            moved = _product(f.ratios.T, own.reshape(own.shape[0], -1))
            moved = moved.reshape(len(chart.independent), *own.shape[1:])
            total = added(total, [place[s] for s in chart.independent], -moved)
        return total

    def spread(self, q):
        """X node by node; None for plain nodes and for groups without loops."""
        held = self._followers(q)
        by_bodies = {
            chart.compound.bodies: (chart, f) for chart, f in zip(self.charts, held, strict=True)
        }
        return tuple(self._block(by_bodies.get(node.bodies), node) for node in self.nodes)

    def _block(self, found, node: Node):
        if found is None:
            return None
        chart, f = found
        speeds = node.speeds(self.base.topology)
        free = [s for s in speeds if s in chart.independent]
        place = {s: i for i, s in enumerate(speeds)}
        columns = [chart.independent.index(s) for s in free]
        ratios = f.ratios[:, np.asarray(columns, int)]
        both = jnp.concatenate([jnp.eye(len(free), dtype=self.dtype), -ratios])
        order = [place[s] for s in (*free, *chart.dependent)]
        return gathered(both, np.argsort(order))

    def pull_of(
        self, q: Float[Array, " nq"], forces: Float[Array, " tree_nv"]
    ) -> Float[Array, " m"]:
        """The multipliers whose rows exert given forces on the dependent joints."""
        total = jnp.zeros((self.rows.count,), forces.dtype)
        for chart, f in zip(self.charts, self._followers(q), strict=True):
            own = gathered(forces, chart.dependent)
            found = jax.scipy.linalg.lu_solve((f.lu, f.pivots), own, trans=1)
            total = added(total, chart.rows, found)
        return total

    # --- coordinates ---

    def neutral(self):
        """The reference: closed coordinates at which the chart was chosen."""
        return self.reference

    def random(self, key):
        """Closed coordinates some way from the reference; where a step cannot be closed, those before it."""
        size = jax.random.uniform(key, (self.nv,), self.dtype, -REACH, REACH) / STRIDES

        def stride(q, _):
            moved = self.integrate(q, size)
            return jnp.where(self.closure(moved) < self.tolerance(q), moved, q), None

        return lax.scan(stride, self.reference, length=STRIDES)[0]

    def integrate(self, q, dv):
        """Independent coordinates move along dv, the others so that the loops stay closed.

        Where they cannot be closed the result is not (`closure` tells): the dependent coordinates are those
        of constant dependent speeds.
        """
        held = self._followers(q)
        whole = self._spread_out(held, dv)
        given = (self.base, self.rows, q, whole, jax.tree.map(lax.stop_gradient, held))
        equations = Equations(self._unclosed, self._slope, self._correction, lambda given: given[4])
        start = jnp.zeros((len(self.dependent),), q.dtype)
        found = root(equations, start, given, Budget(20, 6, 1e4))
        return self._moved(found.value, given)

    def closed(self, q: Float[Array, " nq"]) -> Float[Array, " nq"]:
        """The loops closed by the dependent coordinates alone."""
        return self.integrate(q, jnp.zeros((self.nv,), q.dtype))

    def difference(self, q0, q1):
        """The independent part of the tree's."""
        return self.base.difference(q0, q1)[np.asarray(self.independent, int)]

    def rate(self, q, v):
        """The tree's, at its speeds."""
        return self.base.rate(q, self.tree_speeds(q, v))

    def closure(self, q: Float[Array, " nq"]) -> Float[Array, ""]:
        """The largest residual of the loops at q [m or rad]."""
        now = jnp.zeros((), self.dtype)
        return jnp.max(jnp.abs(self.rows.position_residual(self.base, q, now)), initial=0.0)

    def tolerance(self, q: Float[Array, " nq"]) -> Float[Array, ""]:
        """What counts as closed: a hundred thousand roundings of the largest coordinate."""
        eps = jnp.finfo(q.dtype).eps
        return 1e5 * eps * jnp.maximum(1.0, jnp.max(jnp.abs(q), initial=0.0))

    def _moved(self, y, given):
        """q moved by its displacement, with y more in the dependent coordinates."""
        base, _, q, whole, _ = given
        return base.integrate(q, added(whole, self.dependent, y))

    @property
    def solved_rows(self) -> TreeConstraints:
        """The rows, told which of them the charts solve for."""
        kept = tuple(sorted(row for chart in self.charts for row in chart.rows))
        return dataclasses.replace(self.rows, kept=kept)

    def _chosen_rows(self) -> np.ndarray:
        return np.asarray([row for chart in self.charts for row in chart.rows], int)

    def _unclosed(self, y, given):
        base, rows, *_ = given
        q = self._moved(y, given)
        r = rows.position_residual(base, q, jnp.zeros((), q.dtype))[self._chosen_rows()]
        eps = jnp.finfo(r.dtype).eps
        largest = jnp.maximum(1.0, jnp.max(jnp.abs(q), initial=0.0))
        return r, jnp.sqrt(jnp.sum(r * r)) / (FLOOR * eps * largest)

    def _slope(self, y, given):
        """Factors of d residual / d y, chart by chart; y's order is that of `dependent`."""
        base, rows, *_ = given
        q = self._moved(y, given)
        # Speeds at q by a change of y: the identity but for rotations of several freedoms.
        turned = jax.jacfwd(lambda y: base.difference(q, self._moved(y, given)))(y)
        G = _product(rows.jacobian(base, q, jnp.zeros((), q.dtype)), turned)
        own = {s: i for i, s in enumerate(self.dependent)}
        factors = []
        for chart in self.charts:
            columns = np.asarray([own[s] for s in chart.dependent], int)
            block = G[np.asarray(chart.rows, int)][:, columns]
            factors.append(_factored(block, block[:, :0]))
        return tuple(factors), jnp.zeros((), bool)

    def _correction(self, factors, r):
        parts, start = [], 0
        for chart, f in zip(self.charts, factors, strict=True):
            parts.append(_solved(f, r[start : start + len(chart.rows)]))
            start += len(chart.rows)
        order = [s for chart in self.charts for s in chart.dependent]
        return gathered(jnp.concatenate(parts), np.argsort(order))


def _follow(chart: Chart, G: Float[Array, "m n"]) -> Followers:
    own = G[np.asarray(chart.rows, int)]
    free = own[:, np.asarray(chart.independent, int)]
    return _factored(own[:, np.asarray(chart.dependent, int)], free)


def _factored(own: Float[Array, "d d"], free: Float[Array, "d i"]) -> Followers:
    lu, pivots = jax.scipy.linalg.lu_factor(own)
    return Followers(lu, pivots, jax.scipy.linalg.lu_solve((lu, pivots), free))


def _solved(f: Followers, b: Array) -> Array:
    return jax.scipy.linalg.lu_solve((f.lu, f.pivots), b)


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)

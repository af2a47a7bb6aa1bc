"""Constraint rows on the joints of a tree: loops, couplings and prescribed motions in minimal coordinates.

Rows on poses are those that the maximal formulation knows, seen through the tree's kinematics; couplings are
linear among joint coordinates, which count whole turns. Residuals come at three levels, all exact:

    position r(t, q),  velocity G v + dr/dt,  acceleration G a + (dG/dt) v + ...

Source: Jain 2011, chapter 11; semantics of the rows: `joint_rows`, `motion_rows`, `velocity_rows`.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.constraints.described import in_turn
from linkax.constraints.instant import bending, drift
from linkax.constraints.joint_rows import joint_reactions
from linkax.constraints.rows import NO_CONSTRAINTS, Constraints, pull, push
from linkax.kinematics.bodies import Poses, with_ground
from linkax.kinematics.side_by_side import Moving, Placed, carries_of, move, of_centres, place
from linkax.math.stacks import apply, cross, product
from linkax.model import AbstractModel, Model
from linkax.solve.block_sparse import added, gathered


class Couplings(eqx.Module):
    """k equations sum_c coefficient * coordinate + offset = 0 among coordinates whose rates are speeds."""

    coefficients: Float[Array, "k c"]  # zero where an equation has fewer terms
    offset: Float[Array, " k"]
    coordinates: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # of the tree, (k, c)
    speeds: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # of the tree, (k, c)

    def total(self, x: Float[Array, " n"], places) -> Float[Array, " k"]:
        """The weighted sums of entries of x."""
        terms = self.coefficients * x[np.asarray(places, int)]
        return jnp.sum(terms, axis=1)

    def jacobian(self, nv: int) -> Float[Array, "k nv"]:
        """The coefficients, each at its speed."""
        k = len(self.speeds)
        whole = jnp.zeros((k, nv), self.coefficients.dtype)
        return whole.at[np.arange(k)[:, None], np.asarray(self.speeds, int)].add(self.coefficients)


class TreeConstraints(eqx.Module):
    """All rows on a tree; every number is a leaf.

    Multipliers are ordered by `places`: for each row on poses, then for each coupling, its index. Where some
    rows follow from others, `kept` are those that are solved for; the multipliers of the rest are zero.
    """

    rows: Constraints
    couplings: Couplings | None = None
    places: tuple[int, ...] = eqx.field(static=True, default=())
    kept: tuple[int, ...] | None = eqx.field(static=True, default=None)

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.rows.count + (0 if self.couplings is None else len(self.couplings.speeds))

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Whether each row is about positions, in the order of the multipliers."""
        kinds = [
            (place, group.integrable)
            for group, places in zip(self.rows.groups, self.rows.places, strict=True)
            for instance in places
            for place in instance
            if place >= 0
        ]
        of_poses = [kind for _, kind in sorted(kinds)]
        kinds_in_parts = [*of_poses, *(True,) * (self.count - len(of_poses))]
        return tuple(kinds_in_parts[i] for i in self._order())

    def _order(self) -> list[int]:
        """Which of the rows on poses, then couplings, comes first, second, ..."""
        places = self.places or tuple(range(self.count))
        return [int(i) for i in np.argsort(np.asarray(places))]

    def _stacked(self, of_poses: list[Array], of_couplings: Array | None, dtype) -> Array:
        flat = self.rows.stacked(of_poses, dtype)
        whole = flat if of_couplings is None else jnp.concatenate([flat, of_couplings])
        return gathered(whole, self._order()) if self.places else whole

    @property
    def solved(self) -> int:
        """Number of rows that are solved for."""
        return self.count if self.kept is None else len(self.kept)

    def chosen(self, x: Float[Array, "m ..."]) -> Float[Array, "_k ..."]:
        """Of numbers for all rows, those for the rows that are solved for."""
        return x if self.kept is None else gathered(x, self.kept)

    def all_of(self, chosen: Float[Array, " _k"]) -> Float[Array, " m"]:
        """The multipliers of all rows."""
        if self.kept is None:
            return chosen
        return added(jnp.zeros((self.count,), chosen.dtype), self.kept, chosen)

    def of_poses(self, x: Float[Array, " m"]) -> Float[Array, " _m"]:
        """The numbers that belong to rows on poses, as `rows` has them."""
        return gathered(x, self.places[: self.rows.count]) if self.places else x

    def followed_by(self, others: "TreeConstraints") -> "TreeConstraints":
        """These rows, then others that hold no couplings, with all of their multipliers in turn."""
        assert others.couplings is None
        count = self.rows.count
        own = self.places or tuple(range(self.count))
        after = tuple(range(self.count, self.count + others.count))
        places = (*own[:count], *after, *own[count:])
        kept = None
        if self.kept is not None or others.kept is not None:
            last = range(others.count) if others.kept is None else others.kept
            first = range(self.count) if self.kept is None else self.kept
            kept = (*first, *(self.count + i for i in last))
        rows = in_turn([self.rows, others.rows])
        return TreeConstraints(rows, self.couplings, places if self.couplings else (), kept)

    # --- at a placed tree ---

    def gaps_at(self, at: Placed, tree_q: Float[Array, " tree_nq"], t) -> Float[Array, " m"]:
        """What must vanish; zero for rows on velocities only."""
        offs = None
        if (c := self.couplings) is not None:
            offs = c.total(tree_q, c.coordinates) + c.offset
        return self._stacked(self.rows.residual(t, with_ground(at.poses)), offs, tree_q.dtype)

    def drift_at(self, at: Placed, t) -> Float[Array, " m"]:
        """The rates of the rows at rest: zero but for prescribed motions."""
        c = self.couplings
        rates = drift(self.rows, t, with_ground(at.poses))
        still = None if c is None else jnp.zeros((len(c.speeds),), rates.dtype)
        whole = rates if still is None else jnp.concatenate([rates, still])
        return gathered(whole, self._order()) if self.places else whole

    def jacobian_at(self, tree: Model, at: Placed, t) -> Float[Array, "m tree_nv"]:
        """The derivatives of the rows' rates with respect to the tree's speeds."""
        poses = with_ground(at.poses)
        width = tree.topology.tree_nv
        parts = [
            _onto_joints(tree, group.bodies, poses, g, at)
            for group, g in zip(self.rows.groups, self.rows.gradient(t, poses), strict=True)
        ]
        flat = _rows_in_order(self.rows, parts, width, tree.dtype)
        if self.couplings is not None:
            flat = jnp.concatenate([flat, self.couplings.jacobian(width)])
        return gathered(flat, self._order()) if self.places else flat

    def wrenches_at(self, at: Placed, multipliers: Float[Array, " m"], t) -> Float[Array, "nb 6"]:
        """What rows on poses do to the bodies: [torque about the body-frame origin; force], world axes.

        Couplings act along joints, not on bodies.
        """
        gradients = self.rows.gradient(t, with_ground(at.poses))
        nb = at.com.shape[0]
        return about_origins(at, push(self.rows, gradients, self.of_poses(multipliers), nb))

    def reactions_at(
        self, at: Placed, multipliers: Float[Array, " m"], t
    ) -> Float[Array, "loops 6"]:
        """[moment about its centre; force] of each joint among the rows on its child, world axes."""
        return joint_reactions(self.rows, with_ground(at.poses), self.of_poses(multipliers), t)

    def opening_at(
        self, at: Placed, moving: Moving, tree_a: Float[Array, " tree_nv"] | None, t
    ) -> Float[Array, " m"]:
        """The second time derivatives of the rows; of the rates, for rows on velocities only."""
        w, v, alpha, a = of_centres(at, moving)
        back = jnp.swapaxes(at.rotation, -1, -2)
        rates = jnp.concatenate([apply(back, alpha), a], axis=-1)
        poses = at.poses
        gradients = self.rows.gradient(t, with_ground(poses))
        whole = self.rows.stacked(pull(self.rows, gradients, rates), w.dtype)
        whole = whole + bending(self.rows, t, poses, v, apply(back, w))
        if (c := self.couplings) is not None:
            own = (
                jnp.zeros((len(c.speeds),), w.dtype)
                if tree_a is None
                else c.total(tree_a, c.speeds)
            )
            whole = jnp.concatenate([whole, own])
        return gathered(whole, self._order()) if self.places else whole

    # --- of a model ---

    def position_residual(
        self, model: AbstractModel, q: Float[Array, " nq"], t: Float[Array, ""]
    ) -> Float[Array, " m"]:
        """What must vanish; zero for rows on velocities only."""
        tree_q = model.tree_coordinates(q)
        return self.gaps_at(place(model.tree, tree_q), tree_q, t)

    def velocity_residual(
        self,
        model: AbstractModel,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        t: Float[Array, ""],
    ) -> Float[Array, " m"]:
        """The rates of the rows at speeds v."""
        at = place(model.tree, model.tree_coordinates(q))
        G = self.jacobian_at(model.tree, at, t)
        return _product(G, model.tree_speeds(q, v)) + self.drift_at(at, t)

    def acceleration_residual(
        self,
        model: AbstractModel,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        a: Float[Array, " nv"],
        t: Float[Array, ""],
    ) -> Float[Array, " m"]:
        """The second time derivatives of the rows; of the rates, for rows on velocities only."""
        tree_q, tree_v = model.tree_coordinates(q), model.tree_speeds(q, v)
        tree_a = model.tree_accelerations(q, v, a)
        at = place(model.tree, tree_q)
        return self.opening_at(at, move(model.tree, at, tree_q, tree_v, tree_a), tree_a, t)

    def jacobian(
        self, model: AbstractModel, q: Float[Array, " nq"], t: Float[Array, ""]
    ) -> Float[Array, "m nv"]:
        """G: the derivative of the velocity residual with respect to the speeds."""
        at = place(model.tree, model.tree_coordinates(q))
        return model.project(q, self.jacobian_at(model.tree, at, t).T).T


NO_ROWS = TreeConstraints(NO_CONSTRAINTS)


def about_origins(at: Placed, wrenches: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Wrenches as a model's functions take them: [torque about the body-frame origin; force], world axes.

    Given are those of loads and rows: [torque about the centre of mass, body axes; force, world axes].
    """
    force = wrenches[:, 3:]
    torque = apply(at.rotation, wrenches[:, :3]) + cross(at.com - at.origin, force)
    return jnp.concatenate([torque, force], axis=-1)


def _onto_joints(
    tree: Model, bodies, poses: Poses, gradient: Float[Array, "k r a 6"], at: Placed
) -> Float[Array, "k r tree_nv"]:
    """The derivatives of rows with respect to the tree's speeds, from those with respect to the bodies."""
    index = np.asarray(bodies, int).reshape(len(bodies), -1)
    width = tree.topology.tree_nv
    arms = jnp.concatenate([at.com, jnp.zeros((1, 3), at.com.dtype)])
    carried = np.concatenate([carries_of(tree.topology).speeds, np.zeros((1, width))]) > 0.0
    columns = jnp.broadcast_to(at.motions.T[None], (len(bodies), 6, width))
    total = jnp.zeros((*gradient.shape[:2], width), gradient.dtype)
    for a in range(index.shape[1]):
        own = index[:, a]
        push = gradient[:, :, a, 3:]
        moment = product(gradient[:, :, a, :3], jnp.swapaxes(poses.rotation[own], -1, -2))
        moment = moment + cross(arms[own][:, None, :] + jnp.zeros_like(push), push)
        power = product(jnp.concatenate([moment, push], axis=-1), columns)
        total = total + jnp.where(carried[own][:, None, :], power, 0.0)
    return total


def _rows_in_order(rows: Constraints, parts, width: int, dtype) -> Float[Array, "m width"]:
    """`Constraints.stacked` of rows with a further axis."""
    if not parts:
        return jnp.zeros((0, width), dtype)
    flat = jnp.concatenate([x.reshape(-1, width) for x in parts])
    order = np.concatenate([np.asarray(p, int).reshape(-1) for p in rows.places])
    used = np.flatnonzero(order >= 0)
    return gathered(flat, used[np.argsort(order[used])])


def _product(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)

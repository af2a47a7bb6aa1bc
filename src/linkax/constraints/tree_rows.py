"""Constraint rows on the joints of a tree: loops, couplings and prescribed motions in minimal coordinates.

Rows on poses are those that the maximal formulation knows, seen through the tree's kinematics; couplings are
linear among joint coordinates, which count whole turns. Residuals come at three levels, all exact:

    position r(t, q),  velocity G v + dr/dt,  acceleration G a + (dG/dt) v + ...

Source: Jain 2011, chapter 11; semantics of the rows: `joint_rows`, `motion_rows`, `velocity_rows`.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.instant import bending, drift
from linkax.constraints.rows import Constraints, pull, push
from linkax.kinematics import Kinematics, kinematics
from linkax.kinematics.bodies import Poses, with_ground
from linkax.kinematics.jacobians import motion_columns
from linkax.math.stacks import apply, cross, product
from linkax.model import AbstractModel, Model
from linkax.model.constants import constants_of, transform_of
from linkax.model.topology import GROUND
from linkax.model.traverse import stack_bodies
from linkax.solve.block_sparse import gathered
from linkax.spatial.vector import Vec3


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

    Multipliers are ordered by `places`: for each row on poses, then for each coupling, its index.
    """

    rows: Constraints
    couplings: Couplings | None = None
    places: tuple[int, ...] = eqx.field(static=True, default=())

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

    # --- residuals ---

    def position_residual(
        self, model: AbstractModel, q: Float[Array, " nq"], t: Float[Array, ""]
    ) -> Float[Array, " m"]:
        """What must vanish; zero for rows on velocities only."""
        at = with_ground(poses_of(kinematics(model, q)))
        offs = None
        if (c := self.couplings) is not None:
            offs = c.total(model.tree_coordinates(q), c.coordinates) + c.offset
        return self._stacked(self.rows.residual(t, at), offs, model.dtype)

    def velocity_residual(
        self,
        model: AbstractModel,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        t: Float[Array, ""],
    ) -> Float[Array, " m"]:
        """The rates of the rows at speeds v."""
        k = kinematics(model, q, v)
        at, motion = with_ground(poses_of(k)), motion_of(k)
        rates = None
        if (c := self.couplings) is not None:
            rates = c.total(model.tree_speeds(q, v), c.speeds)
        moving = pull(self.rows, self.rows.gradient(t, at), motion)
        return self._stacked(moving, rates, model.dtype) + self._drift(t, at)

    def _drift(self, t, at: Poses) -> Array:
        rates = drift(self.rows, t, at)
        c = self.couplings
        still = None if c is None else jnp.zeros((len(c.speeds),), rates.dtype)
        whole = rates if still is None else jnp.concatenate([rates, still])
        return gathered(whole, self._order()) if self.places else whole

    def drift(
        self, model: AbstractModel, q: Float[Array, " nq"], t: Float[Array, ""]
    ) -> Float[Array, " m"]:
        """The rates of the rows at rest: zero but for prescribed motions."""
        return self._drift(t, with_ground(poses_of(kinematics(model, q))))

    def acceleration_residual(
        self,
        model: AbstractModel,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        a: Float[Array, " nv"],
        t: Float[Array, ""],
    ) -> Float[Array, " m"]:
        """The second time derivatives of the rows; of the rates, for rows on velocities only."""
        k = kinematics(model, q, v, a)
        at = poses_of(k)
        assert k.com_acceleration is not None
        assert k.angular_acceleration is not None
        assert k.com_velocity is not None
        turning = apply(jnp.swapaxes(at.rotation, -1, -2), k.angular_acceleration)
        rates = jnp.concatenate([turning, k.com_acceleration], axis=-1)
        gradients = self.rows.gradient(t, with_ground(at))
        moving = self.rows.stacked(pull(self.rows, gradients, rates), model.dtype)
        assert k.angular_velocity_body is not None
        moving = moving + bending(self.rows, t, at, k.com_velocity, k.angular_velocity_body)
        seconds = None
        if (c := self.couplings) is not None:
            seconds = c.total(model.tree_accelerations(q, v, a), c.speeds)
        whole = moving if seconds is None else jnp.concatenate([moving, seconds])
        return gathered(whole, self._order()) if self.places else whole

    # --- derivatives ---

    def jacobian(
        self, model: AbstractModel, q: Float[Array, " nq"], t: Float[Array, ""]
    ) -> Float[Array, "m nv"]:
        """G: the derivative of the velocity residual with respect to the speeds."""
        tree, tree_q = model.tree, model.tree_coordinates(q)
        at = with_ground(poses_of(kinematics(model, q)))
        columns = com_columns(tree, tree_q)
        parts = []
        for group, g in zip(self.rows.groups, self.rows.gradient(t, at), strict=True):
            parts.append(_onto_joints(tree, group.bodies, at, g, columns))
        flat = _rows_in_order(self.rows, parts, tree.topology.tree_nv, model.dtype)
        if self.couplings is not None:
            flat = jnp.concatenate([flat, self.couplings.jacobian(tree.topology.tree_nv)])
        whole = gathered(flat, self._order()) if self.places else flat
        return model.project(q, whole.T).T

    def wrenches(
        self,
        model: AbstractModel,
        q: Float[Array, " nq"],
        multipliers: Float[Array, " m"],
        t: Float[Array, ""],
    ) -> Float[Array, "nb 6"]:
        """What the rows on poses do to each body: [torque about the body-frame origin; force], world axes."""
        k = kinematics(model, q)
        at = poses_of(k)
        of_poses = gathered(multipliers, np.asarray(self.places or range(self.count), int))
        own = of_poses[: self.rows.count]
        pushed = push(self.rows, self.rows.gradient(t, with_ground(at)), own, model.nb)
        return about_origins(k, pushed)

    def joint_forces(
        self, tree: Model, multipliers: Float[Array, " m"]
    ) -> Float[Array, " tree_nv"]:
        """What the couplings do to the joints [N m or N]."""
        if self.couplings is None:
            return jnp.zeros((tree.topology.tree_nv,), multipliers.dtype)
        of_parts = gathered(multipliers, np.asarray(self.places or range(self.count), int))
        own = of_parts[self.rows.count :]
        c = self.couplings
        total = jnp.zeros((tree.topology.tree_nv,), multipliers.dtype)
        return total.at[np.asarray(c.speeds, int)].add(c.coefficients * own[:, None])


# --- bodies ---


def poses_of(k: Kinematics) -> Poses:
    """The poses of the centres of mass."""
    return Poses(k.com, k.quaternion, k.rotation)


def motion_of(k: Kinematics) -> Float[Array, "nb 6"]:
    """[angular velocity, body axes; velocity of the centre of mass, world axes]."""
    assert k.com_velocity is not None
    assert k.angular_velocity_body is not None
    return jnp.concatenate([k.angular_velocity_body, k.com_velocity], axis=-1)


def about_origins(k: Kinematics, wrenches: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Wrenches as a model's functions take them: [torque about the body-frame origin; force], world axes.

    Given are those of loads and rows: [torque about the centre of mass, body axes; force, world axes].
    """
    force = wrenches[:, 3:]
    torque = apply(k.rotation, wrenches[:, :3]) + cross(k.com - k.position, force)
    return jnp.concatenate([torque, force], axis=-1)


class ComColumns(NamedTuple):
    """For each speed of a tree, the motion that it gives, and where centres of mass are to be seen from."""

    angular: Float[Array, "3 tree_nv"]
    linear: Float[Array, "3 tree_nv"]  # of the point of reference of the tree's root
    arm: Float[Array, "nb 3"]  # from that point to each centre of mass


def com_columns(tree: Model, tree_q: Float[Array, " tree_nq"]) -> ComColumns:
    """Columns in world axes; a column moves only the bodies that its joint carries."""
    columns = motion_columns(tree, tree_q)
    topology = tree.topology
    poses = jax.tree.map(lambda *lanes: stack_bodies(topology, lanes), *columns.poses)
    body = poses @ transform_of(constants_of(tree).frame)
    com = body.translation + body.rotation @ Vec3(*(tree.com[:, k] for k in range(3)))
    s = columns.motions
    return ComColumns(jnp.stack(s.angular), jnp.stack(s.linear), jnp.stack(com, axis=-1))


def _onto_joints(
    tree: Model, bodies, at: Poses, gradient: Float[Array, "k r a 6"], columns: ComColumns
) -> Float[Array, "k r tree_nv"]:
    """The derivatives of rows with respect to the tree's speeds, from those with respect to the bodies."""
    index = np.asarray(bodies, int).reshape(len(bodies), -1)
    arms = jnp.concatenate([columns.arm, jnp.zeros((1, 3), columns.arm.dtype)])
    carried = _carried_speeds(tree)
    total = jnp.zeros((*gradient.shape[:2], tree.topology.tree_nv), gradient.dtype)
    for a in range(index.shape[1]):
        own = index[:, a]
        R, arm = at.rotation[own], arms[own]
        push = gradient[:, :, a, 3:]
        moment = product(gradient[:, :, a, :3], jnp.swapaxes(R, -1, -2))
        moment = moment + cross(arm[:, None, :] + jnp.zeros_like(push), push)
        shared = (len(bodies), 3, tree.topology.tree_nv)
        power = product(moment, jnp.broadcast_to(columns.angular[None], shared))
        power = power + product(push, jnp.broadcast_to(columns.linear[None], shared))
        total = total + jnp.where(carried[own][:, None, :], power, 0.0)
    return total


def _carried_speeds(tree: Model) -> np.ndarray:
    """(nb + 1, tree_nv) truth of: the speed moves the body; the last row is the ground's."""
    topology = tree.topology
    moves = np.zeros((topology.nb + 1, topology.nb), bool)
    for body, path in enumerate(topology.ancestors):
        moves[body, list(path)] = True
    assert GROUND == -1
    return np.repeat(moves, topology.v_slots.width, axis=1)


def _rows_in_order(rows: Constraints, parts, width: int, dtype) -> Float[Array, "m width"]:
    """`Constraints.stacked` of rows with a further axis."""
    if not parts:
        return jnp.zeros((0, width), dtype)
    flat = jnp.concatenate([x.reshape(-1, width) for x in parts])
    order = np.concatenate([np.asarray(p, int).reshape(-1) for p in rows.places])
    used = np.flatnonzero(order >= 0)
    return gathered(flat, used[np.argsort(order[used])])

"""Joints as constraint rows: the translations and rotations that a joint type locks."""

import functools as ft
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.rows import AbstractRows, Constraints
from linkax.joints import AbstractJoint
from linkax.kinematics.bodies import Poses, of_bodies
from linkax.math.safe import safe_arctan2, safe_divide
from linkax.math.stacks import apply, apply_transposed, cross, product, transposed


class JointRows(AbstractRows):
    """Joints, of one type or several: F is fixed on the parent, M on the child, both with z along the axis.

    The rows are components, in F, of the vector p from F's origin to M's and entries of T = R_FM, as
    `locked_positions` and `locked_rotations` of the joint type name them. A row with multiplier one
    pushes the child by a force n at M's origin and a moment u, and the parent by the opposite wrench about
    that point: n is F's axis for a component of p; for T_ij, with F_i and M_j the axes, u = M_j x F_i. That
    closed form is the gradient (autodiff of the residual gives the same, and is a test).

    Joints of several types lie side by side all the same: each has as many rows as the one that locks most,
    of which some are empty, with weights instead of indices saying what a row is. A mechanism of four types
    then compiles one kind of row instead of four.
    """

    parent_point: Float[
        Array, "k 3"
    ]  # F's origin from the parent's centre of mass, parent's axes [m]
    parent_rotation: Float[Array, "k 3 3"]  # F to the parent's axes
    child_point: Float[Array, "k 3"]  # M's origin from the child's centre of mass, child's axes [m]
    child_rotation: Float[Array, "k 3 3"]  # M to the child's axes
    pitch: Float[Array, " k"]  # of helical joints [m/rad]
    bodies: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # (parent, child) of each
    joints: tuple[type[AbstractJoint], ...] = eqx.field(static=True)

    @property
    def rows(self) -> int:
        """The most freedoms that one of the joints takes."""
        return max(joint.locked_rows() for joint in self.joints)

    @property
    def filled(self) -> tuple[int, ...]:
        """The freedoms that each joint takes; its other rows are empty."""
        return tuple(joint.locked_rows() for joint in self.joints)

    def frames(self, at: Poses):
        """(axes of F, axes of M, as columns; p; F's origin from the parent's centre), all in world axes."""
        parent, child = self.parent_rotation, self.child_rotation
        return frames_between(self.parent_point, parent, self.child_point, child, at)

    def residual(self, t, at):
        """Components of p and of T."""
        F, M, p, _ = self.frames(at)
        inside = apply_transposed(F, p)
        T = product(transposed(F), M)
        if len(set(self.joints)) > 1:
            w = _weights(self.joints, self.rows)
            of = lambda weights, x: apply(jnp.asarray(weights, x.dtype), x)
            found = of(w.positions, inside) + of(w.rotations, T.reshape(-1, 9))
            if w.screws.any():
                screw = _screw(inside[:, 2], T, self.pitch)[:, None]
                found = found + jnp.asarray(w.screws, screw.dtype) * screw
            return found
        joint = self.joints[0]
        rows = [inside[:, i] for i in joint.locked_positions]
        rows += [
            ft.reduce(jnp.add, [w * T[:, i, j] for i, j, w in entries])
            for entries in joint.locked_rotations
        ]
        if joint.uses_pitch:
            rows.append(_screw(inside[:, 2], T, self.pitch))
        return jnp.stack(rows, axis=-1)

    def gradient(self, t, at):
        """The wrenches of unit multipliers."""
        F, M, p, r_parent = self.frames(at)
        return pair_gradient(at, r_parent + p, self.child_point, *self._forces(F, M))

    def _forces(self, F, M) -> tuple[Float[Array, "k r 3"], Float[Array, "k r 3"]]:
        """(force, moment about M's origin) on the child of a unit multiplier of each row, world axes."""
        columns = transposed(F)
        angle = -self.pitch[:, None] * apply(F, turning(apply_transposed(F, M[:, :, 0])))
        if len(set(self.joints)) > 1:
            w = _weights(self.joints, self.rows)
            of = lambda weights, x: product(jnp.asarray(weights, x.dtype), x)
            turns = cross(M[:, None, :, :].swapaxes(2, 3), columns[:, :, None, :])
            n, u = of(w.positions, columns), of(w.rotations, turns.reshape(-1, 9, 3))
            if w.screws.any():
                screws = jnp.asarray(w.screws, n.dtype)[:, :, None]
                n, u = n + screws * columns[:, 2:3], u + screws * angle[:, None]
            return n, u
        joint = self.joints[0]
        zero = jnp.zeros_like(F[:, :, 0])
        forces = [columns[:, i] for i in joint.locked_positions]
        moments = [zero for _ in joint.locked_positions]
        for entries in joint.locked_rotations:
            forces.append(zero)
            turns = [w * cross(M[:, :, j], F[:, :, i]) for i, j, w in entries]
            moments.append(ft.reduce(jnp.add, turns))
        if joint.uses_pitch:
            forces.append(columns[:, 2])
            moments.append(angle)
        return jnp.stack(forces, axis=1), jnp.stack(moments, axis=1)

    def reaction(self, t, at: Poses, multipliers: Float[Array, "k r"]) -> Float[Array, "k 6"]:
        """[moment about M's origin; force] on the child, world axes; the parent feels the opposite."""
        F, M, _, _ = self.frames(at)
        n, u = self._forces(F, M)
        return jnp.concatenate(
            [apply_transposed(u, multipliers), apply_transposed(n, multipliers)], -1
        )


def joint_reactions(
    constraints: Constraints, at: Poses, multipliers: Float[Array, " m"], t
) -> Float[Array, "joints 6"]:
    """[moment about the joint's centre; force] on the child of each joint among the rows, world axes.

    Rows that are no joints (prescribed motions, couplings, functions) are left out; `at` ends with the
    ground.
    """
    found = [
        group.reaction(t, of_bodies(at, group.bodies), rows)
        for group, rows in zip(constraints.groups, constraints.split(multipliers), strict=True)
        if isinstance(group, JointRows)
    ]
    return jnp.concatenate([jnp.zeros((0, 6), multipliers.dtype), *found])


class _Weights(NamedTuple):
    """What each row of each joint is made of."""

    positions: np.ndarray  # (k, r, 3), of the components of p
    rotations: np.ndarray  # (k, r, 9), of the entries of T
    screws: np.ndarray  # (k, r), of slide - pitch * angle


@ft.lru_cache(maxsize=256)
def _weights(joints: tuple[type[AbstractJoint], ...], rows: int) -> _Weights:
    k = len(joints)
    found = _Weights(np.zeros((k, rows, 3)), np.zeros((k, rows, 9)), np.zeros((k, rows)))
    for n, joint in enumerate(joints):
        for row, i in enumerate(joint.locked_positions):
            found.positions[n, row, i] = 1.0
        for row, entries in enumerate(joint.locked_rotations, len(joint.locked_positions)):
            for i, j, weight in entries:
                found.rotations[n, row, 3 * i + j] = weight
        if joint.uses_pitch:
            found.screws[n, joint.locked_rows() - 1] = 1.0
    return found


def frames_between(parent_point, parent_rotation, child_point, child_rotation, at: Poses):
    """(axes of F, axes of M, as columns; p; F's origin from the parent's centre), all in world axes.

    The points and rotations are those of `JointRows`, `at` the poses (k, 2) of parent and child.
    """
    R_parent, R_child = at.rotation[:, 0], at.rotation[:, 1]
    F = product(R_parent, parent_rotation)
    M = product(R_child, child_rotation)
    r_parent = apply(R_parent, parent_point)
    p = at.position[:, 1] + apply(R_child, child_point) - at.position[:, 0] - r_parent
    return F, M, p, r_parent


def pair_gradient(
    at: Poses,
    parent_arm: Float[Array, "k 3"],
    child_point: Float[Array, "k 3"],
    n: Float[Array, "k r 3"],
    u: Float[Array, "k r 3"],
) -> Float[Array, "k r 2 6"]:
    """The wrenches of rows that push the child by n and u, and the parent by the opposite, world axes.

    The child feels n at `child_point`, from its centre of mass in its axes; the parent -n at `parent_arm`,
    from its centre of mass in world axes.
    """
    R_parent, R_child = at.rotation[:, 0], at.rotation[:, 1]
    arm = apply_transposed(R_parent, parent_arm)
    at_child = child_point[:, None, :] + jnp.zeros_like(n)
    at_parent = arm[:, None, :] + jnp.zeros_like(n)
    on_child = cross(at_child, product(n, R_child)) + product(u, R_child)
    on_parent = cross(at_parent, product(n, R_parent)) + product(u, R_parent)
    child = jnp.concatenate([on_child, n], axis=-1)
    parent = jnp.concatenate([-on_parent, -n], axis=-1)
    return jnp.stack([parent, child], axis=2)


def wrapped(angle: Float[Array, "..."]) -> Float[Array, "..."]:
    """The angle with whole turns taken off, in [-pi, pi]."""
    return angle - 2.0 * np.pi * jnp.round(angle * (0.5 / np.pi))


def turning(x: Float[Array, "k 3"]) -> Float[Array, "k 3"]:
    """The derivative of atan2(x2, x1) with respect to small turns of the vector x, in its axes."""
    x1, x2, x3 = (x[:, i] for i in range(3))
    slope = safe_divide(x3, x1 * x1 + x2 * x2)
    return jnp.stack([-slope * x1, -slope * x2, jnp.ones_like(x3)], axis=-1)


def _screw(slide, T, pitch):
    """slide - pitch * angle, with the angle's whole turns chosen to make it smallest."""
    off = slide - pitch * safe_arctan2(T[:, 1, 0], T[:, 0, 0])
    turn = 2.0 * np.pi * pitch
    return off - turn * jnp.round(safe_divide(off, turn))

"""What a variational step is about: bodies, their constraint rows and the loads on them."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from linkax.constraints.joint_rows import joint_reactions
from linkax.constraints.rows import (
    NO_CONSTRAINTS,
    Constraints,
    FunctionRows,
    dense_gradient,
    in_order,
)
from linkax.forces.loads import NO_LOADS, AbstractLoad, FunctionLoad
from linkax.kinematics.bodies import Bodies, State, poses, with_ground
from linkax.math.rotations import quaternion_multiply
from linkax.math.stacks import apply, dot
from linkax.maximal.settings import LinearSolver, Settings


class Mechanism(eqx.Module):
    """Bodies, constraint rows and loads; every number is a leaf.

    Where it says that rows are redundant the rank-tolerant solver is the default.
    """

    bodies: Bodies
    constraints: Constraints = NO_CONSTRAINTS
    loads: AbstractLoad = NO_LOADS
    redundant: bool = eqx.field(static=True, default=False)  # some rows follow from others

    def closure(self, state: State) -> Float[Array, " m"]:
        """The constraint residuals at a state."""
        at = with_ground(poses(state.position, state.orientation))
        rows = self.constraints.residual(state.t, at)
        return self.constraints.stacked(rows, state.position.dtype)

    def gradient(self, state: State) -> Float[Array, "m n 6"]:
        """The rows' derivatives: [turns of each body in its axes; displacements in world axes]."""
        at = with_ground(poses(state.position, state.orientation))
        found = self.constraints.gradient(state.t, at)
        if not found:
            return jnp.zeros((0, self.bodies.n, 6), state.position.dtype)
        return dense_gradient(self.constraints, found, self.bodies.n)

    def reactions(self, state: State, multipliers: Float[Array, " m"]) -> Float[Array, "joints 6"]:
        """[moment about the joint's centre; force] on the child of each joint and loop, world axes.

        The parent feels the opposite about the same point. Rows that are no joints (prescribed motions,
        couplings, functions) are left out.
        """
        at = with_ground(poses(state.position, state.orientation))
        return joint_reactions(self.constraints, at, multipliers, state.t)


def mechanism_of(
    bodies: Bodies,
    loads: Callable[..., Any] | AbstractLoad | None,
    constraint: Callable[..., Any] | Constraints | None,
    jacobian: Callable[..., Any] | None,
    params: PyTree,
    state: State,
    settings: Settings,
) -> Mechanism:
    """A Mechanism of plain functions, or of parts that already are one's.

    Values that the functions close over are differentiated like `params`.
    """
    real = state.position.dtype
    arrays = jax.tree.map(
        lambda x: jnp.asarray(x, real) if isinstance(x, float) else jnp.asarray(x), params
    )
    if constraint is None:
        if jacobian is not None:
            raise ValueError(
                "`jacobian` is given without a `constraint` that it is the derivative of."
            )
        rows = NO_CONSTRAINTS
    elif isinstance(constraint, Constraints):
        rows = constraint
    else:
        rows = in_order([_function_rows(constraint, jacobian, arrays, state, settings)])
    if loads is None:
        acting: AbstractLoad = NO_LOADS
    elif isinstance(loads, AbstractLoad):
        acting = loads
    else:
        s = state
        args = (s.t, s.position, s.orientation, s.velocity, s.angular_velocity, arrays)
        pure, consts = jax.closure_convert(loads, *args)
        acting = FunctionLoad(_with_constants(pure), (arrays, tuple(consts)))
    return Mechanism(bodies, rows, acting)


def _with_constants(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose last argument is (params, hoisted constants, and more that it does not need)."""
    return lambda *args: function(*args[:-1], args[-1][0], *args[-1][1])


def _function_rows(constraint, jacobian, params, state: State, settings: Settings) -> FunctionRows:
    args = (state.t, state.position, state.orientation, params)
    shape = jax.eval_shape(constraint, *args).shape
    if len(shape) != 1:
        raise ValueError(
            f"`constraint` gives an array of shape {shape}, but must give one number a row, (rows,)."
        )
    bodies = (tuple(range(state.position.shape[0])),)
    pure, consts = jax.closure_convert(constraint, *args)
    held = (params, tuple(consts))
    if jacobian is not None:
        wanted = (shape[0], 6 * len(bodies[0]))
        found = jax.eval_shape(jacobian, *args).shape
        if found != wanted:
            raise ValueError(f"`jacobian` gives an array of shape {found}, but must give {wanted}.")
        exact, more = jax.closure_convert(jacobian, *args)
        held = (params, tuple(consts), tuple(more))
        jacobian = lambda t, x, q, all_: exact(t, x, q, all_[0], *all_[2])
    elif settings.finite_differences:
        jacobian = _differences(_with_constants(pure), settings)
    return FunctionRows(
        function=_with_constants(pure),
        jacobian=jacobian,
        params=held,
        bodies=bodies,
        rows=shape[0],
    )


def _differences(constraint, settings: Settings):
    """The constraint's Jacobian in document 002's form by forward differences."""

    def jacobian(t, x, q, params):
        here = constraint(t, x, q, params)
        n, real = x.shape[0], x.dtype
        span = settings.difference_step * jnp.maximum(jnp.abs(x), settings.translation_scale)
        turn = settings.difference_step * settings.rotation_scale

        def column(k):
            unit = jnp.zeros((6 * n,), real).at[k].set(1.0).reshape(n, 2, 3)
            moved = x + unit[:, 0] * span
            half = turn * unit[:, 1]
            whole = jnp.concatenate([jnp.sqrt(1.0 - dot(half, half))[:, None], half], axis=-1)
            step = jnp.sum(unit[:, 0] * span) + turn * jnp.sum(unit[:, 1])
            # The step that was taken, not the one that was meant: x + span rounds.
            step = jnp.where(jnp.sum(unit[:, 0]) > 0.0, jnp.sum(moved - x), step)
            return (constraint(t, moved, quaternion_multiply(q, whole), params) - here) / step

        return jax.vmap(column, out_axes=1)(jnp.arange(6 * n))

    return jacobian


def redundant(bodies: Bodies, gradient: Float[Array, "m n 6"], tolerance: float) -> bool:
    """Whether rows follow from others, by their gradients, whose numbers must be known."""
    if gradient.shape[0] == 0:
        return False
    # In units in which a body's kinetic energy is a sum of squares: kilograms and metres do not count.
    spread = np.linalg.cholesky(np.linalg.inv(np.asarray(bodies.inertia, float)))
    turning = np.einsum("mni,nij->mnj", np.asarray(gradient[..., :3], float), spread)
    pushing = (
        np.asarray(gradient[..., 3:], float)
        / np.sqrt(np.asarray(bodies.mass, float))[None, :, None]
    )
    rows = np.concatenate([turning, pushing], axis=-1).reshape(len(gradient), -1)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.svd(rows, compute_uv=False)
    return len(values) < len(rows) or bool(values[-1] < tolerance * values[0])


def chosen_solver(mechanism: Mechanism, settings: Settings) -> LinearSolver:
    """The solver of the settings; where they leave it open, block-sparse if the rows know their bodies."""
    if settings.solver is not None:
        return settings.solver
    if mechanism.redundant:
        return LinearSolver.RANK_TOLERANT
    groups = mechanism.constraints.groups
    dense = any(isinstance(group, FunctionRows) for group in groups)
    return LinearSolver.DENSE if dense else LinearSolver.BLOCK_SPARSE


def kinetic_energy(bodies: Bodies, velocity, angular_velocity) -> Float[Array, ""]:
    """The kinetic energy of instantaneous velocities [J]."""
    spin = apply(bodies.inertia, angular_velocity)
    return 0.5 * jnp.sum(bodies.mass * dot(velocity, velocity) + dot(angular_velocity, spin))

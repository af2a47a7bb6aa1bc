"""A description's joints, loops, elements and motions as a Mechanism in maximal coordinates."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from linkax import maximal as mx
from linkax.constraints.described import in_turn, loop_groups, motion_row
from linkax.forces.described import loads_of
from linkax.maximal.joint_loads import JointLoads
from linkax.model import Model, VelocityDescription
from linkax.model.builder import Assembly


# Singular values of the rows' gradients below this fraction of the largest mean redundant rows.
REDUNDANT = 1e-9
# How far joints and loops of a description may gape before they are closed by moving the bodies [m or rad],
# and in how many roundings of the precision, where that is more.
GAPE, ROUNDINGS = 1e-10, 1e3


class Built(eqx.Module):
    """A Mechanism, the tree coordinates that it starts from, and what a reader should know."""

    mechanism: mx.Mechanism
    q: jax.Array
    v: jax.Array
    notes: tuple[str, ...] = eqx.field(static=True)


def mechanism_of_parts(parts: Assembly, name: str) -> Built:
    """The Mechanism of an assembled description, closed: bodies are moved where loops gape.

    Raises:
        ValueError: where the loops cannot be closed near the coordinates given, for loops that lock
            velocities, for armature, and for bodies without mass or inertia.
    """
    model = parts.model
    _check_expressible(parts, name)
    # Compiled as a whole: operation by operation the rows of a four-bar took 12 s to set up.
    mechanism = jax.jit(
        lambda: mx.Mechanism(mx.bodies_of(model), rows_of_parts(parts), _loads(parts))
    )()
    q, v = (jnp.asarray(x, model.dtype) for x in (parts.initial_q, parts.initial_v))
    return _closed(mechanism, model, q, v, name)


def _check_expressible(parts: Assembly, name: str) -> None:
    for loop in parts.loops:
        if isinstance(loop, VelocityDescription):
            raise ValueError(
                f"Loop `{loop.name}` of `{name}` locks velocities, but in maximal coordinates loops are "
                'conditions on positions; use formulation="tree", or remove the loop.'
            )
    model = parts.model
    inertia = np.asarray(model.inertia)
    lowest = np.linalg.eigvalsh(0.5 * (inertia + np.swapaxes(inertia, 1, 2)))[:, 0]
    for body, mass, moment in zip(model.body_names, np.asarray(model.mass), lowest, strict=True):
        if not (mass > 0.0 and moment > 0.0):
            raise ValueError(
                f"Body `{body}` of `{name}` has mass {mass:g} and smallest principal moment {moment:g}, but "
                'in maximal coordinates both must be positive; use formulation="tree".'
            )


# --- rows ---


def rows_of_parts(parts: Assembly) -> mx.Constraints:
    """The rows of an assembly: joint by joint (then mimic joints), loop by loop, then prescribed motions."""
    model = parts.model
    motions = mx.in_order([motion_row(model, motion) for motion in parts.motions])
    return in_turn([mx.joint_rows(model), loop_groups(model, parts.loops), motions])


# --- loads ---


def _loads(parts: Assembly) -> mx.Loads:
    model = parts.model
    found: list[mx.AbstractLoad] = [mx.Gravity(model.gravity)]
    if parts.damping.any():
        still = jnp.zeros((model.nv,), model.dtype)
        found.append(JointLoads(model, still, jnp.asarray(parts.damping, model.dtype)))
    return mx.Loads((*found, *loads_of(model, parts.elements, parts.loops)))


# --- the start ---


def _closed(mechanism: mx.Mechanism, model: Model, q, v, name: str) -> Built:
    """The mechanism with a start that its rows allow, and whether rows are redundant there."""
    start = jax.jit(mx.to_maximal)(model, q, v)
    notes: list[str] = []
    gaps, speeds, gradient = _survey(mechanism, start)
    gape = _largest(gaps)
    allowed = max(GAPE, ROUNDINGS * float(jnp.finfo(model.dtype).eps))
    if gape > allowed:
        found = _assembled(mechanism, start)
        if not bool(found.converged):
            raise ValueError(
                f"The loops of `{name}` gape by {gape:.3g} at the initial coordinates and cannot be closed "
                "near them; give initial positions that are nearer to a closed one."
            )
        start = found.state
        _, speeds, gradient = _survey(mechanism, start)
        notes.append(
            f"The loops gape by {gape:.2g} at the initial coordinates; the run starts from the nearest "
            "closed configuration."
        )
    unmet = _largest(speeds)
    speed = 1.0 + _largest(start.velocity) + _largest(start.angular_velocity)
    if unmet > allowed * speed:
        start = _projected(mechanism, start)
        notes.append(
            f"The initial speeds open the loops at {unmet:.2g} m/s (or rad/s); the run starts from the "
            "nearest ones that do not, in the sense of kinetic energy."
        )
    if notes:
        q, v = jax.jit(mx.to_tree)(model, start, q)
    redundant = mx.redundant(mechanism.bodies, gradient, REDUNDANT)
    mechanism = mx.Mechanism(mechanism.bodies, mechanism.constraints, mechanism.loads, redundant)
    return Built(mechanism, q, v, tuple(notes))


@jax.jit
def _survey(mechanism: mx.Mechanism, state: mx.State):
    """(gaps, the rates at which they open, the rows' gradient)."""
    return (
        mechanism.closure(state),
        mx.velocity_residual(mechanism, state),
        mechanism.gradient(state),
    )


# Compiled as a whole: operation by operation their start took 15 s.
_assembled = jax.jit(mx.assemble)
_projected = jax.jit(mx.project_velocities)


def _largest(x) -> float:
    return float(np.max(np.abs(np.asarray(x)), initial=0.0))

"""The variational step as a map of poses and momenta: symmetric in time, and so fit for composition.

The positions are those of document 002's step; between steps the momentum is carried instead of an average
velocity, projected onto the constraint's tangent space at the end (RATTLE: Andersen, J. Comput. Phys. 52
(1983); Hairer, Lubich, Wanner 2006, section VII.1.4). Steps of different lengths, and backwards, may follow
each other.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from linkax.kinematics.bodies import State
from linkax.math.stacks import apply
from linkax.maximal.interval import end_of, solve_interval
from linkax.maximal.mechanism import Mechanism
from linkax.maximal.settings import LoadEvaluation, Settings
from linkax.maximal.tangent import tangent_motion


def momentum_advance(
    mechanism: Mechanism, state: State, h: Float[Array, ""], settings: Settings, active: Any = True
) -> tuple[State, Float[Array, " m"], Bool[Array, ""]]:
    """(state after h with instantaneous velocities, multipliers at the start, whether it was found).

    Args:
        mechanism: bodies, rows and loads; loads must be conservative for the order and the symmetry.
        state: with instantaneous velocities.
        h: length of the step [s]; may be negative.
        settings: as for a step; loads are evaluated at both ends.
        active: whether to try at all.
    """
    if settings.load_evaluation is not LoadEvaluation.LEFT:
        raise ValueError(
            f"Composed steps evaluate loads at their ends, but `load_evaluation` is "
            f"{settings.load_evaluation.name}; use LEFT, or the variational step alone."
        )
    bodies = mechanism.bodies
    half = 0.5 * h
    spin = apply(bodies.inertia, state.angular_velocity)
    before = jnp.concatenate([spin, bodies.mass[:, None] * state.velocity], axis=-1)
    found = solve_interval(mechanism, state, before, h, half, settings, active)
    end = end_of(settings, state, found.value.motion, h)
    carried = jnp.concatenate(
        [
            settings.chart.momentum_at_end(bodies.inertia, end.angular_velocity, h),
            bodies.mass[:, None] * end.velocity,
        ],
        axis=-1,
    )
    carried = carried + half * mechanism.loads.wrenches(bodies, end)
    onto = tangent_motion(mechanism, end, carried, settings, found.converged)
    good = found.converged & onto.converged
    motion = onto.value.motion
    after = State(end.position, end.orientation, motion[:, 3:], motion[:, :3], end.t, False)
    kept = jax.tree.map(lambda new, old: jnp.where(good, new, old), after, state)
    return kept, jnp.where(good, found.value.impulse / half, 0.0), good

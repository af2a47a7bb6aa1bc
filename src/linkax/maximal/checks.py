"""What can be refused before anything is traced; traced values end as a status instead."""

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool

from linkax.kinematics.bodies import Bodies, State
from linkax.math.stacks import dot


def known(x) -> np.ndarray | None:
    """The value of an array, or None while it is traced."""
    return None if isinstance(x, Tracer) else np.asarray(x)


def check_step(bodies: Bodies, dt) -> None:
    """Bodies that can move, and a step forward."""
    if bodies.mass.ndim != 1 or bodies.n < 1:
        raise ValueError(
            f"`bodies.mass` has shape {bodies.mass.shape}, but must hold a mass a body, (n,)."
        )
    if bodies.inertia.shape != (bodies.n, 3, 3):
        raise ValueError(
            f"`bodies.inertia` has shape {bodies.inertia.shape}, but must have shape {(bodies.n, 3, 3)}."
        )
    mass = known(bodies.mass)
    if mass is not None and not np.all(mass > 0.0):
        bad = int(np.flatnonzero(~(mass > 0.0))[0])
        raise ValueError(f"Body {bad} has mass {mass[bad]!r}, but every mass must be positive.")
    inertia = known(bodies.inertia)
    if inertia is not None:
        # Eigenvalues of what is not finite raise an error of their own.
        finite = np.isfinite(inertia).all(axis=(1, 2))
        symmetric = 0.5 * (inertia + np.swapaxes(inertia, 1, 2))
        lowest = np.full(bodies.n, np.nan)
        lowest[finite] = np.linalg.eigvalsh(symmetric[finite])[:, 0]
        if not np.all(lowest > 0.0):
            bad = int(np.flatnonzero(~(lowest > 0.0))[0])
            raise ValueError(
                f"Body {bad} has an inertia whose smallest principal moment is {lowest[bad]:g}, but it must "
                "be positive."
            )
    length = known(dt)
    if length is not None and not (np.isfinite(length) and length > 0.0):
        raise ValueError(f"`dt` is {dt!r}, but must be a positive number of seconds.")


def check_start(bodies: Bodies, state: State, dt) -> None:
    """Shapes, unit quaternions, and no half turn in a step."""
    wanted = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
    for name, width in wanted.items():
        shape = getattr(state, name).shape
        if shape != (bodies.n, width):
            batch = " Use `jax.vmap` for a batch." if shape[-2:] == (bodies.n, width) else ""
            raise ValueError(
                f"`state.{name}` has shape {shape}, but must have shape {(bodies.n, width)}.{batch}"
            )
    q = known(state.orientation)
    if q is not None:
        off = np.abs(np.linalg.norm(q, axis=1) - 1.0)
        if not np.all(off <= unit_tolerance(q.dtype)):
            bad = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
            raise ValueError(
                f"The orientation of body {bad} is a quaternion of length {np.linalg.norm(q[bad]):.17g}, "
                "but it must be 1."
            )
    w, h = known(state.angular_velocity), known(dt)
    if w is not None and h is not None:
        speed = np.linalg.norm(w, axis=1)
        if not np.all(speed < 2.0 / h):
            bad = int(np.argmax(np.where(np.isfinite(speed), speed, np.inf)))
            raise ValueError(
                f"Body {bad} turns at {speed[bad]:g} rad/s, but at dt = {float(h):g} s it must turn slower "
                f"than 2 / dt = {2.0 / float(h):g} rad/s."
            )


def check_points(points: int) -> None:
    """At least the initial point."""
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        raise ValueError(
            f"`points` is {points!r}, but must be a whole number from 1 on; it counts the initial point."
        )


def unit_tolerance(dtype) -> float:
    """How far from one the length of a quaternion may be: 100 roundings."""
    return 100.0 * float(jnp.finfo(dtype).eps)


def valid(bodies: Bodies, state: State, h) -> Bool[Array, ""]:
    """What `check_step` and `check_start` ask of values, as a value."""
    q, w = state.orientation, state.angular_velocity
    return (
        jnp.all(bodies.mass > 0.0)
        & (h > 0.0)
        & jnp.all(jnp.abs(jnp.sqrt(dot(q, q)) - 1.0) <= unit_tolerance(q.dtype))
        & jnp.all(dot(w, w) * h * h < 4.0)
        & jnp.all(jnp.isfinite(state.position))
        & jnp.all(jnp.isfinite(state.velocity))
    )

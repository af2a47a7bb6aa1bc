"""What the tests of maximal coordinates are made of: single bodies, pendulums, and how they are compiled."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np

from linkax import maximal as mx


# Evaluated once or a few times: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def bodies(*masses, inertia=(1.0, 1.0, 1.0)):
    """Bodies of one inertia."""
    return mx.Bodies(jnp.asarray(masses), jnp.asarray([inertia] * len(masses)))


def start(x=(0.0, 0.0, 0.0), v=(0.0, 0.0, 0.0), w=(0.0, 0.0, 0.0), averaged=False):
    """One unrotated body."""
    q = np.array([[1.0, 0.0, 0.0, 0.0]])
    return mx.State(np.array([x]), q, np.array([v]), np.array([w]), averaged=averaged)


def rotated(q, x):
    """x turned by unit quaternions, by NumPy."""
    w, u = q[..., :1], q[..., 1:]
    return x + 2.0 * np.cross(u, np.cross(u, x) + w * x)

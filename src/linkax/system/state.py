"""The state of a System at one time."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


class State(eqx.Module):
    """Time, coordinates, speeds, integrated extras and the rest; strong arrays of one precision."""

    t: Float[Array, ""]  # [s]
    q: Float[Array, " nq"]
    v: Float[Array, " nv"]
    z: Float[Array, " nz"]  # integrated beside q and v (activations)
    pseudo: PyTree[Array] = ()  # updated after accepted steps, never integrated (contact anchors)


def state_of(q, v, t=0.0, dtype=None) -> State:
    """A State without extras; numbers become strong arrays of one precision."""
    dtype = jnp.result_type(q) if dtype is None else dtype
    t, q, v = (jnp.asarray(x, dtype) for x in (t, q, v))
    return State(t, q, v, jnp.zeros((0,), dtype))

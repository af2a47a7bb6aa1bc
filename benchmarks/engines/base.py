"""What every engine answers: the quantities of `linkax.cli.quantities`, as `linkax bench` times them."""

from collections.abc import Callable
from typing import Any

from linkax.cli.quantities import (
    DT,
    STEPS,
    Engine,
    jax_engine,
    linkax_batched_engine,
    linkax_engine,
    states_of,
)


__all__ = [
    "DT",
    "STEPS",
    "Engine",
    "jax_engine",
    "linkax_batched_engine",
    "linkax_engine",
    "states_of",
    "uniform",
]


def uniform(nq: int, nv: int, dtype: Any, quaternion_at: int | None = None) -> Callable:
    """Random states: angles over (-1, 1), a unit quaternion where there is one, speeds and torques normal."""
    import jax
    import jax.numpy as jnp

    def sample(key, batch):
        keys = jax.random.split(key, 3)
        q = jax.random.uniform(keys[0], (batch, nq), dtype, -1.0, 1.0)
        if quaternion_at is not None:
            part = slice(quaternion_at, quaternion_at + 4)
            q = q.at[:, part].set(q[:, part] / jnp.linalg.norm(q[:, part], axis=1, keepdims=True))
        v, tau = (jax.random.normal(k, (batch, nv), dtype) for k in keys[1:])
        return q, v, tau

    return sample

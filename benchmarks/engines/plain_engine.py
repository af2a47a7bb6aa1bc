"""The plain 6x6 baseline, vmapped."""

from engines import linkax_engine, plain
from engines.base import Engine, jax_engine


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax

    model = linkax_engine.load_model(robot, precision)

    def sample(key, batch):
        keys = jax.random.split(key, batch)
        v, tau = (
            jax.random.normal(jax.random.key(k), (batch, model.nv), model.dtype) for k in (1, 2)
        )
        return jax.vmap(model.random)(keys), v, tau

    return jax_engine("plain", precision, sample, plain.forward_dynamics(model), model.integrate)

"""linkax, vmapped."""

from engines.base import Engine, linkax_engine


def load_model(robot, precision: int):
    """The robot's model, its leaves in the precision asked for."""
    import jax
    import jax.numpy as jnp

    import linkax as lx

    model = lx.load(robot.path, root="floating" if robot.floating else "fixed").model
    dtype = {32: jnp.float32, 64: jnp.float64}[precision]
    return jax.tree.map(lambda x: x.astype(dtype), model)


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    return linkax_engine(load_model(robot, precision), precision)

"""linkax, vmapped."""

from engines.base import Engine, jax_engine


def load_model(robot, precision: int):
    """The robot's model, its leaves in the precision asked for."""
    import jax
    import jax.numpy as jnp

    import linkax as lx

    model = lx.load(robot.path, root="floating" if robot.floating else "fixed").model
    dtype = {32: jnp.float32, 64: jnp.float64}[precision]
    return jax.tree.map(lambda x: x.astype(dtype), model)


def load(robot, precision: int, name: str = "linkax", vectorise=None, lay_out=None) -> Engine:
    """The engine with the robot."""
    import jax

    import linkax as lx

    model = load_model(robot, precision)

    def sample(key, batch):
        keys = jax.random.split(key, batch)
        v, tau = (
            jax.random.normal(jax.random.key(k), (batch, model.nv), model.dtype) for k in (1, 2)
        )
        return jax.vmap(model.random)(keys), v, tau

    return jax_engine(
        name,
        precision,
        sample,
        lambda q, v, tau: lx.forward_dynamics(model, q, v, tau),
        model.integrate,
        {
            "inverse_dynamics": lambda q, v, tau: lx.inverse_dynamics(model, q, v, tau),
            "mass_matrix": lambda q, v, tau: lx.mass_matrix(model, q),
        },
        vectorise,
        lay_out,
    )

"""frax, vmapped."""

from frax import Robot

from engines.base import Engine, jax_engine, uniform


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax.numpy as jnp

    machine = Robot(str(robot.path), floating_base="quaternion" if robot.floating else None)
    dtype = {32: jnp.float32, 64: jnp.float64}[precision]
    sample = uniform(machine.nq, machine.nv, dtype, 3 if robot.floating else None)
    return jax_engine(
        "frax",
        precision,
        sample,
        lambda q, v, tau: machine.forward_dynamics(q, v, tau, None),
        lambda q, dv: machine.integrate(q, dv, 1.0),
    )

"""MJX, vmapped; its forward pass without constraints."""

from mujoco import mjx

from engines.base import Engine, jax_engine, uniform
from engines.mujoco_model import mujoco_model


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax.numpy as jnp

    native = mujoco_model(robot)
    model, empty = mjx.put_model(native), mjx.make_data(native)
    dtype = {32: jnp.float32, 64: jnp.float64}[precision]

    def forward(q, v, tau):
        data = empty.replace(qpos=q, qvel=v, qfrc_applied=tau)
        return mjx.forward(model, data).qacc

    def integrate(q, dv):
        from mujoco.mjx._src import forward as steps

        return steps._integrate_pos(model.jnt_type, q, dv, 1.0)

    sample = uniform(native.nq, native.nv, dtype, 3 if robot.floating else None)
    return jax_engine("mjx", precision, sample, forward, integrate)

"""Brax, generalized pipeline, vmapped."""

from brax import kinematics
from brax.generalized import dynamics, mass
from brax.generalized.base import State
from brax.io import mjcf

from engines.base import Engine, jax_engine, uniform
from engines.mujoco_model import mujoco_model


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax.numpy as jnp

    machine = mjcf.load_model(mujoco_model(robot))
    dtype = {32: jnp.float32, 64: jnp.float64}[precision]
    nq, nv = machine.q_size(), machine.qd_size()

    def forward(q, v, tau):
        x, xd = kinematics.forward(machine, q, v)
        state = dynamics.transform_com(machine, State.init(q, v, x, xd))
        state = mass.matrix_inv(machine, state, 0)
        return state.mass_mx_inv @ dynamics.forward(machine, state, tau)

    sample = uniform(nq, nv, dtype, 3 if robot.floating else None)
    return jax_engine("brax", precision, sample, forward)

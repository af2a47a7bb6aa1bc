"""JaxSim, vmapped: its articulated-body algorithm."""

import jaxsim.api as js

from engines.base import Engine, jax_engine, uniform


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax.numpy as jnp

    model = js.model.JaxSimModel.build_from_model_description(robot.path)
    dofs, dtype = model.dofs(), {32: jnp.float32, 64: jnp.float64}[precision]

    def forward(q, v, tau):
        data = js.data.JaxSimModelData.build(
            model=model, joint_positions=q[-dofs:], joint_velocities=v[-dofs:]
        )
        base, joints = js.model.forward_dynamics_aba(model, data, joint_forces=tau[-dofs:])
        return jnp.concatenate([base, joints])

    nv = dofs + 6 if robot.floating else dofs
    return jax_engine("jaxsim", precision, uniform(nv, nv, dtype), forward)

"""The benchmark's URDF files as MuJoCo models without contact, damping or limits."""

import mujoco


def mujoco_model(robot):
    """The compiled model."""
    spec = mujoco.MjSpec.from_file(str(robot.path))
    spec.compiler.fusestatic = True
    spec.compiler.discardvisual = True
    spec.option.timestep = 1e-3
    off = (mujoco.mjtDisableBit.mjDSBL_CONSTRAINT, mujoco.mjtDisableBit.mjDSBL_CONTACT)
    spec.option.disableflags = sum(int(bit) for bit in off)
    if robot.floating:
        spec.worldbody.first_body().add_freejoint()
    for joint in spec.joints:
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    model = spec.compile()
    model.dof_damping[:] = 0.0
    model.dof_frictionloss[:] = 0.0
    return model

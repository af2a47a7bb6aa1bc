"""MuJoCo: C in float64, rollouts on all threads, without contact or limits."""

import os

import mujoco
import numpy as np
from mujoco import rollout

from engines.base import STEPS, Engine
from engines.mujoco_model import mujoco_model


def load(robot, precision: int) -> Engine:
    """The engine with the robot; always float64. One step stands for a forward dynamics."""
    model = mujoco_model(robot)
    threads = os.cpu_count() or 1
    data = [mujoco.MjData(model) for _ in range(threads)]
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    size = mujoco.mj_stateSize(model, full)

    def stepping(steps):
        def prepare(batch):
            rng = np.random.default_rng(0)
            start = np.zeros((batch, size))
            for lane in range(batch):
                mujoco.mj_resetData(model, data[0])
                data[0].qpos[:] += 0.5 * rng.uniform(-1, 1, model.nq)
                mujoco.mj_normalizeQuat(model, data[0].qpos)
                data[0].qvel[:] = rng.normal(size=model.nv)
                mujoco.mj_getState(model, data[0], start[lane], full)
            pool = rollout.Rollout(nthread=threads)
            return lambda: pool.rollout(model, data, start, nstep=steps)

        return prepare

    offers = {"forward_dynamics": stepping(1), "rollout": stepping(STEPS)}
    return Engine("mujoco (f64)", 64, offers)

"""Pinocchio: C++ in float64, on all cores."""

import os

import numpy as np
import pinocchio as pin

from engines.base import DT, STEPS, Engine


def load(robot, precision: int) -> Engine:
    """The engine with the robot; always float64."""
    root = (pin.JointModelFreeFlyer(),) if robot.floating else ()
    model = pin.buildModelFromUrdf(str(robot.path), *root)
    threads = os.cpu_count() or 1
    pool = pin.ModelPool(model, threads)
    data = model.createData()

    def states(batch):
        rng = np.random.default_rng(0)
        q = np.stack([pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
                      for _ in range(batch)], axis=1)  # fmt: skip
        return np.asfortranarray(q), *(
            np.asfortranarray(rng.normal(size=(model.nv, batch))) for _ in range(2)
        )

    def parallel(function):
        def prepare(batch):
            q, v, tau = states(batch)
            out = np.zeros((model.nv, batch), order="F")
            return lambda: function(threads, pool, q, v, tau, out)

        return prepare

    def one_by_one(function):
        def prepare(batch):
            q, v, tau = (np.ascontiguousarray(x.T) for x in states(batch))

            def call():
                for lane in range(batch):
                    function(q[lane], v[lane], tau[lane])

            return call

        return prepare

    def analytical(q, v, tau):
        pin.computeABADerivatives(model, data, q, v, tau)

    def mass(q, v, tau):
        pin.crba(model, data, q)

    def run(q, v, tau):
        for _ in range(STEPS):
            v = v + DT * pin.aba(model, data, q, v, tau)
            q = pin.integrate(model, q, DT * v)

    offers = {
        "forward_dynamics": parallel(pin.abaInParallel),
        "inverse_dynamics": parallel(pin.rneaInParallel),
        "mass_matrix": one_by_one(mass),
        "gradient": one_by_one(analytical),  # full Jacobians, more than a gradient needs
        "rollout": one_by_one(run),
    }
    return Engine("pinocchio (f64)", 64, offers)

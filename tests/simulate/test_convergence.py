"""The order of every integrator is measured on joints whose coordinates are numbers and on quaternions.

A time span is crossed in 2^k runs of one compiled function with dt / 2^k, so each integrator compiles once a
machine.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx


STEPS = 16
ORDERS = {
    "semi-implicit Euler": (lx.SemiImplicitEuler(), 1, 1.0 / 512),
    "Lie midpoint": (lx.LieMidpoint(), 2, 1.0 / 128),
    "RK4": (lx.RungeKutta4(), 4, 1.0 / 64),
}
MACHINES = ["double pendulum", "heavy top"]


def machine(name):
    """A system and a lively state: two revolute joints, or a spherical one."""
    if name == "double pendulum":
        system = lx.build(lx.library.double_pendulum())
        speeds = jnp.asarray([2.0, -3.0])
    else:
        system = lx.build(lx.library.heavy_top())
        speeds = jnp.asarray([1.0, 6.0, -2.0])
    return system, eqx.tree_at(lambda s: s.v, system.initial_state(), speeds)


@pytest.fixture(scope="module", params=MACHINES)
def crossing(request):
    """(state at the end of a span, by integrator, dt and number of runs), and the system."""
    system, start = machine(request.param)
    compiled = {}

    def cross(integrator, dt, runs):
        if integrator not in compiled:
            run = lambda state, dt: (
                lx.simulate(
                    system, state, dt=dt, steps=STEPS, save_every=STEPS, integrator=integrator
                ).final
            )
            compiled[integrator] = jax.jit(run)
        state = start
        for _ in range(runs):
            state = compiled[integrator](state, jnp.asarray(dt))
        return state

    return system, cross


def distance(system, a, b):
    """The largest difference of coordinates (on the group) and speeds."""
    dq = system.model.difference(a.q, b.q)
    return float(jnp.maximum(jnp.max(jnp.abs(dq)), jnp.max(jnp.abs(a.v - b.v))))


@pytest.mark.parametrize("name", list(ORDERS))
def test_an_integrator_converges_at_its_order(crossing, name):
    system, cross = crossing
    integrator, order, dt = ORDERS[name]
    exact = cross(lx.RungeKutta4(), dt / 16 if order < 4 else dt / 64, 16 if order < 4 else 64)
    errors = [distance(system, cross(integrator, dt / 2**k, 2**k), exact) for k in range(4)]
    slopes = np.log2(np.asarray(errors[:-1]) / np.asarray(errors[1:]))
    assert errors[0] > 1e-9  # above rounding, or the slope means nothing
    assert slopes[-1] == pytest.approx(order, abs=0.15), errors


def test_the_adaptive_integrators_error_follows_its_tolerance():
    system, start = machine("heavy top")

    @jax.jit
    def run(rtol):
        integrator = lx.Adaptive(rtol=rtol, atol=1e-3 * rtol)
        return lx.simulate(system, start, dt=0.05, steps=4, integrator=integrator)

    exact = run(jnp.asarray(1e-12))
    errors = [distance(system, run(jnp.asarray(r)).final, exact.final) for r in (1e-4, 1e-7, 1e-10)]
    assert int(exact.completed_steps) == 4
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < 1e-5
    assert errors[2] < 1e-8

"""Integrators: one class a method, one step each; `step` and `simulate` use nothing else."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from linkax.simulate.base import AbstractIntegrator, Controls
from linkax.simulate.composition import Composition
from linkax.simulate.implicit import ImplicitMidpoint
from linkax.simulate.status import Status
from linkax.simulate.variational import Variational
from linkax.system import State, System, derivatives


def _at(state: State, t, q, v, z) -> State:
    return State(t, q, v, z, state.pseudo)


def _rates(system: System, state: State, controls: Controls):
    return derivatives(system, state, controls(state.t, state))


class SemiImplicitEuler(AbstractIntegrator):
    """Order 1: speeds by the accelerations at the start, then coordinates by the new speeds.

    Symplectic for constant mass matrices, one evaluation a step (Hairer, Lubich, Wanner 2006, section I.1).
    """

    def step(self, system, state, controls, dt, active=True):
        """v1 = v + dt a(q, v), q1 = q (+) dt v1."""
        _, v_dot, z_dot = _rates(system, state, controls)
        v = state.v + dt * v_dot
        q = system.model.integrate(state.q, dt * v)
        return _at(state, state.t + dt, q, v, state.z + dt * z_dot), Status.completed


class LieMidpoint(AbstractIntegrator):
    """Order 2: explicit midpoint whose coordinates move along the group, so that unit norms need no repair.

    Two evaluations a step (Iserles et al., Acta Numerica 9 (2000), section 3).
    """

    def step(self, system, state, controls, dt, active=True):
        """A half step to the middle, then a whole step with the middle's rates."""

        def stage(at: State, length):
            _, v_dot, z_dot = _rates(system, at, controls)
            q = system.model.integrate(state.q, length * at.v)
            v, z = state.v + length * v_dot, state.z + length * z_dot
            return _at(state, state.t + length, q, v, z), None

        # A scan over the two stages compiles the dynamics once.
        return lax.scan(stage, state, jnp.stack([0.5 * dt, dt]))[0], Status.completed


class RungeKutta4(AbstractIntegrator):
    """Order 4: the classical method, four evaluations a step (Kutta 1901).

    Quaternions are integrated as four numbers and normalised at the end of the step. The dynamics read only
    their direction, so the stages need no repair and the order stands.
    """

    def step(self, system, state, controls, dt, active=True):
        """Each stage starts from the one before; the step takes the weighted mean of the four rates.

        A scan over the stages compiles the dynamics once, not four times.
        """
        start = (state.q, state.v, state.z)

        def moved(rates, scale):
            y = jax.tree.map(lambda x, rate: x + scale * dt * rate, start, rates)
            return _at(state, state.t + scale * dt, *y)

        def stage(carry, row):
            rates, mean = carry
            node, weight = row
            rates = _rates(system, moved(rates, node), controls)
            return (rates, jax.tree.map(lambda m, r: m + weight * r, mean, rates)), None

        still = jax.tree.map(jnp.zeros_like, start)
        nodes = jnp.asarray([0.0, 0.5, 0.5, 1.0], state.q.dtype)
        weights = jnp.asarray([1.0, 2.0, 2.0, 1.0], state.q.dtype) / 6.0
        (_, mean), _ = lax.scan(stage, (still, still), (nodes, weights))
        one = jnp.ones((), state.q.dtype)
        return _normalised(system, moved(mean, one)), Status.completed


def _normalised(system: System, state: State) -> State:
    """Unit quaternions restored."""
    q = system.model.integrate(state.q, jnp.zeros_like(state.v))
    return _at(state, state.t, q, state.v, state.z)


class Adaptive(AbstractIntegrator):
    """An explicit Runge-Kutta pair with error control, by diffrax; reports on the grid of dt.

    Each dt is crossed with as many substeps as the tolerances ask for, the first one tried being dt itself.
    Reverse mode goes through the substeps by recursive checkpointing (diffrax's default).
    """

    rtol: float | Float[Array, ""] = 1e-6
    atol: float | Float[Array, ""] = 1e-8
    method: diffrax.AbstractSolver = eqx.field(static=True, default_factory=diffrax.Dopri5)
    max_steps: int = eqx.field(static=True, default=4096)

    def step(self, system, state, controls, dt, active=True):
        """Integration from t to t + dt within the tolerances."""

        def field(t, y, _):
            return _rates(system, _at(state, t, *y), controls)

        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            self.method,
            state.t,
            state.t + dt,
            dt,
            (state.q, state.v, state.z),
            stepsize_controller=diffrax.PIDController(rtol=self.rtol, atol=self.atol),
            saveat=diffrax.SaveAt(t1=True),
            max_steps=self.max_steps,
            throw=False,
        )
        assert solution.ys is not None
        q, v, z = (y[0] for y in solution.ys)
        good = solution.result == diffrax.RESULTS.successful
        status = Status.where(good, Status.completed, Status.too_many_substeps)
        return _normalised(system, _at(state, state.t + dt, q, v, z)), status


INTEGRATORS: dict[str, type[AbstractIntegrator]] = {
    "semi-implicit-euler": SemiImplicitEuler,
    "runge-kutta4": RungeKutta4,
    "lie-midpoint": LieMidpoint,
    "implicit-midpoint": ImplicitMidpoint,
    "adaptive": Adaptive,
    "variational": Variational,
    "composition": Composition,
}

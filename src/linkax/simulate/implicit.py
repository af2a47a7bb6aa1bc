"""The implicit midpoint rule along the group."""

import equinox as eqx
import jax
import jax.numpy as jnp

from linkax.simulate.base import AbstractIntegrator
from linkax.simulate.status import Status
from linkax.solve import Budget, Equations, dense, root
from linkax.system import State, derivatives


# A residual below this many roundings of the largest speed is a root.
FLOOR = 16.0


class ImplicitMidpoint(AbstractIntegrator):
    """Order 2, symmetric, symplectic for constant mass matrices, stable for any linear damping.

    With w the speeds at the middle: w = v + dt/2 a(q (+) dt/2 w, w), then q (+) dt w and 2 w - v (Hairer,
    Lubich, Wanner 2006, sections II.1 and VIII.6). Newton's method to rounding; exact derivatives of the
    root.
    """

    max_iterations: int = eqx.field(static=True, default=20)

    def step(self, system, state, controls, dt, active=True):
        """One solve of nv equations."""
        half = 0.5 * dt

        def middle(w, given):
            system, start, _, half = given
            q = system.model.integrate(start.q, half * w)
            # Extras do not act on the speeds yet; they are taken at the start.
            return State(start.t + half, q, w, start.z, start.pseudo)

        def unmet(w, given):
            system, start, consts, half = given
            at = middle(w, given)
            _, v_dot, _ = derivatives(system, at, pure(at.t, at, *consts))
            return w - start.v - half * v_dot, v_dot

        pure, consts = jax.closure_convert(controls, state.t, state)
        given = (system, state, tuple(consts), half)

        def residual(w, given):
            r, v_dot = unmet(w, given)
            _, start, _, half = given
            eps = jnp.finfo(r.dtype).eps
            scale = [jnp.max(jnp.abs(x), initial=0.0) for x in (w, start.v, half * v_dot)]
            largest = jnp.max(jnp.stack(scale)) + jnp.finfo(r.dtype).tiny / eps
            return r, jnp.sqrt(jnp.sum(r * r)) / (FLOOR * eps * largest)

        def factorise(w, given):
            return dense.factor(jax.jacfwd(lambda w: unmet(w, given)[0])(w), 0.0)

        budget = Budget(self.max_iterations, 12, 1e4)
        found = root(Equations(residual, factorise, dense.solve), state.v, given, budget, active)
        w = found.value
        _, _, z_dot = derivatives(system, middle(w, given), pure(state.t + half, state, *consts))
        q = system.model.integrate(state.q, dt * w)
        after = State(state.t + dt, q, 2.0 * w - state.v, state.z + dt * z_dot, state.pseudo)
        failed = Status.where(found.singular, Status.singular, Status.not_converged)
        return after, Status.where(found.converged, Status.completed, failed)

    def symmetric(self):
        """Itself."""
        return self

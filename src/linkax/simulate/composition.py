"""Symmetric composition: a symmetric method of order two, taken in parts, some backwards, has order four."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax

from linkax.simulate.base import AbstractIntegrator
from linkax.simulate.implicit import ImplicitMidpoint
from linkax.simulate.status import Status
from linkax.simulate.variational import Variational


def _triple_jump() -> tuple[float, ...]:
    outer = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
    return (outer, 1.0 - 2.0 * outer, outer)


def _suzuki() -> tuple[float, ...]:
    outer = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
    return (outer, outer, 1.0 - 4.0 * outer, outer, outer)


FRACTIONS = {3: _triple_jump(), 5: _suzuki()}


class Composition(AbstractIntegrator):
    """Order 4 for conservative systems, by any symmetric base step: `ImplicitMidpoint` or `Variational`.

    Three stages (Yoshida, Phys. Lett. A 150 (1990)) or five, dearer and twenty times more exact (Suzuki,
    Phys. Lett. A 146 (1990)); both in Hairer, Lubich, Wanner 2006, section II.4. Without a base it is
    `Variational` for a system in maximal coordinates and `ImplicitMidpoint` for others.
    """

    base: AbstractIntegrator | None = None
    order: int = eqx.field(static=True, default=4)
    stages: int = eqx.field(static=True, default=5)

    def __check_init__(self):
        if self.order != 4:
            raise ValueError(
                f"`order` is {self.order}, but compositions of order 4 are what there is."
            )
        if self.stages not in FRACTIONS:
            raise ValueError(f"`stages` is {self.stages}, but must be 3 or 5.")
        if self.base is not None:
            self.base.symmetric()

    def _step_of(self, system) -> AbstractIntegrator:
        default = ImplicitMidpoint() if system.mechanism is None else Variational()
        return (default if self.base is None else self.base).symmetric()

    def prepare(self, system, state):
        """The base's."""
        return self._step_of(system).prepare(system, state)

    def report(self, system, state, controls, dt):
        """The base's."""
        return self._step_of(system).report(system, state, controls, dt)

    def step(self, system, state, controls, dt, active=True):
        """The base's steps of the fractions of dt; a scan, so that the base is compiled once."""
        base = self._step_of(system)

        def stage(carry, fraction):
            at, status = carry
            after, reached = base.step(
                system, at, controls, fraction * dt, active & (status == Status.completed)
            )
            return (after, Status.where(status == Status.completed, reached, status)), None

        fractions = jnp.asarray(np.asarray(FRACTIONS[self.stages]), state.q.dtype)
        (after, status), _ = lax.scan(stage, (state, Status.completed), fractions)
        return eqx.tree_at(lambda s: s.t, after, state.t + dt), status

    def symmetric(self):
        """Itself: the fractions read the same backwards."""
        return self

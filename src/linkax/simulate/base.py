"""What every integrator answers."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from linkax.simulate.status import Status
from linkax.system import State, System


# Controls over a step, as a function of time and state.
Controls = Callable[[Float[Array, ""], State], Float[Array, " nu"] | None]


class AbstractIntegrator(eqx.Module):
    """One step of a method; the numbers that choose the method are static, tolerances are leaves."""

    @abc.abstractmethod
    def step(
        self,
        system: System,
        state: State,
        controls: Controls,
        dt: Float[Array, ""],
        active: Any = True,
    ) -> tuple[State, Status]:
        """The state at t + dt, and whether the method could reach it.

        Where a sample is not `active` any more its result does not matter, and methods that iterate do not: a
        lane that cannot be solved would hold up its batch at every further step.
        """

    def prepare(self, system: System, state: State) -> State:
        """The state with what the method carries from step to step."""
        del system
        return state

    def report(
        self, system: System, state: State, controls: Controls, dt: Float[Array, ""]
    ) -> State:
        """A state as it is shown: where a method knows a point's speeds only after its next step."""
        del system, controls, dt
        return state

    def symmetric(self) -> "AbstractIntegrator":
        """The form of the method that is its own inverse with the step reversed."""
        raise ValueError(
            f"{type(self).__name__} is not symmetric in time, so that composing its steps raises no order; "
            "compose ImplicitMidpoint (tree) or Variational (maximal)."
        )

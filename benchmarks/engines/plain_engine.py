"""The plain 6x6 baseline, vmapped, at the states that linkax is timed at."""

from engines import plain
from engines.base import Engine, jax_engine, states_of
from engines.linkax_engine import load_model


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    model = load_model(robot, precision)
    forward = plain.forward_dynamics(model)
    return jax_engine("plain", precision, states_of(model), forward, model.integrate)

"""linkax in cache-sized blocks, on all devices, the lanes lying there."""

from engines.base import Engine, linkax_batched_engine
from engines.linkax_engine import load_model


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    return linkax_batched_engine(load_model(robot, precision), precision)

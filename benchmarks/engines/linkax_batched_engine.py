"""linkax in cache-sized blocks, on all devices."""

from engines import linkax_engine
from engines.base import Engine


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import linkax as lx

    return linkax_engine.load(robot, precision, "linkax-batched", lx.batched)

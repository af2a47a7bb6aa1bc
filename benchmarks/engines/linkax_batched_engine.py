"""linkax in cache-sized blocks, on all devices, the lanes lying there."""

from engines import linkax_engine
from engines.base import Engine


def load(robot, precision: int) -> Engine:
    """The engine with the robot."""
    import jax

    import linkax as lx

    def lay_out(arguments):
        divisible = len(arguments[0]) % min(len(jax.devices()), len(arguments[0])) == 0
        return lx.sharded(arguments) if divisible else arguments

    return linkax_engine.load(robot, precision, "linkax-batched", lx.batched, lay_out)

"""Engines behind one interface; each is imported only where it is asked for."""

import importlib

from engines.base import Engine as Engine


NAMES = (
    "linkax",
    "linkax-batched",
    "plain",
    "pinocchio",
    "mujoco",
    "mjx",
    "brax",
    "frax",
    "jaxsim",
)


def engine(name: str, robot, precision: int) -> Engine | None:
    """The engine called `name` with a robot loaded, or None where its library is not installed."""
    try:
        module = importlib.import_module(f"engines.{name.replace('-', '_')}_engine")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("engines"):
            raise
        return None
    return module.load(robot, precision)

"""What the computer lends to a command: precision, devices, memory.

The library never sets a global JAX option; a command may, for its own process.
"""

import contextlib
import os

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from linkax.cli.arguments import BadInput


LANES = "lanes"


def precision(name: str) -> contextlib.AbstractContextManager:
    """Inside the block JAX's default float is "f32" or "f64"."""
    return jax.enable_x64(name == "f64")


def lanes_over(devices: int | None) -> NamedSharding | None:
    """The sharding that splits the leading axis over so many devices; None for None.

    Without an accelerator these are parts of the processor, which can be had only before JAX first
    computes something.
    """
    if devices is None:
        return None
    with contextlib.suppress(RuntimeError):  # too late for more; those there may suffice
        jax.config.update("jax_num_cpu_devices", devices)
    found = jax.devices()
    if len(found) < devices:
        raise BadInput(
            f"--devices asks for {devices} devices, but there "
            f"{'is' if len(found) == 1 else 'are'} {len(found)} ({found[0].platform})."
        )
    mesh = Mesh(np.array(found[:devices]), (LANES,), axis_types=(AxisType.Auto,))
    return NamedSharding(mesh, PartitionSpec(LANES))


def replicated(sharding: NamedSharding) -> NamedSharding:
    """The sharding that gives the whole of an array to each of the same devices."""
    mesh = sharding.mesh
    assert isinstance(mesh, Mesh)
    return NamedSharding(mesh, PartitionSpec())


def available_memory() -> int | None:
    """Bytes that a program may still take, None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        with open("/proc/meminfo", encoding="ascii") as stream:
            line = next(line for line in stream if line.startswith("MemAvailable:"))
        return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None

"""A function of one sample over many, in blocks and on all devices there are: `batched`, and `sharded`."""

import functools as ft
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree


_LANES = "lanes"
# Lanes evaluated at once on a CPU core, by bytes a number. Smaller blocks stay in a second-level cache, but
# pay the start of some 150 kernels a body more often: blocks of 256, 1024 and 2048 lanes made 842, 1089 and
# 1114 k/s of a 7-body arm in float64, and 258, 263 and 279 of a 30-body humanoid (4096 lanes, two cores with
# 512 kB each). At 8192 lanes the humanoid fell by a third. An accelerator takes all its lanes at once.
_CPU_BLOCK = {8: 2048, 4: 4096}


def batched(
    f: Callable,
    in_axes: int | Sequence[int | None] | None = 0,
    block: int | None = None,
    devices: Sequence[Any] | None = None,
) -> Callable:
    """f over a leading axis of lanes, as by `jax.vmap`, but in blocks and on every device.

    The results are those of `jax.vmap(f, in_axes)`, to rounding. Lanes are shared out evenly among the
    devices (the last one's are padded with copies of the last lane, which are dropped again); arguments
    without a lane axis are copied to each. Composes with `jax.jit` and with derivatives. Lanes that lie on
    one device are copied to the others at every call, those that `sharded` has laid out, or another batched
    function has returned, are not.

    To JAX all CPU cores together are one device, unless its option `jax_num_cpu_devices` says otherwise
    before the first computation; `linkax simulate --devices` sets it.

    Args:
        f: a function of one sample; its results are arrays in any pytree.
        in_axes: 0 for arguments with lanes (in all their leaves), None for the others; one for all or a
            sequence.
        block: lanes evaluated together on one device; on CPU 2048 in float64 and 4096 in float32 by
            default, elsewhere all.
        devices: those to use; all of the default backend if None.
    """

    if block is not None and block < 1:
        raise ValueError(f"`block` must be at least 1, but is {block}.")

    @ft.wraps(f)
    def over_lanes(*args: Any) -> Any:
        axes = _axes(in_axes, len(args))
        moving = [a for a, axis in zip(args, axes, strict=True) if axis == 0]
        lanes = _lanes(moving)
        used = list(jax.devices() if devices is None else devices)[:lanes]
        share = -(-lanes // len(used))
        size = min(_block(moving, used[0]) if block is None else block, share)
        missing = len(used) * size * -(-share // size) - lanes
        run = _in_blocks(f, axes, size)
        if len(used) > 1:
            run = _shared_out(run, axes, used)
        filled = (
            _extended(a, missing) if axis == 0 else a for a, axis in zip(args, axes, strict=True)
        )
        out = run(*filled)
        return jax.tree.map(lambda x: x[:lanes], out) if missing else out

    return over_lanes


def sharded(tree: PyTree, devices: Sequence[Any] | None = None) -> PyTree:
    """The same arrays with their leading axis shared out among devices, as a `batched` function wants them.

    Two devices took an arm's 4096 lanes 1.3 times as fast for it, since handing over three arrays that lay
    on one of them costs a millisecond.

    Args:
        tree: arrays with one leading axis of lanes, a multiple of the number of devices.
        devices: those to use; all of the default backend if None.
    """
    lanes = _lanes([tree])
    used = list(jax.devices() if devices is None else devices)[:lanes]
    if lanes % len(used):
        raise ValueError(
            f"`sharded` needs a multiple of {len(used)} lanes, the number of devices, but there are {lanes}."
        )
    return jax.device_put(tree, NamedSharding(_mesh(used), PartitionSpec(_LANES)))


def _mesh(devices: Sequence[Any]) -> Mesh:
    return Mesh(np.asarray(devices), (_LANES,))


def _in_blocks(f: Callable, axes: tuple[int | None, ...], size: int) -> Callable:
    """f over lanes on one device; `size` divides their number."""
    vectorised = jax.vmap(f, in_axes=axes)

    def run(*args):
        moving = [a for a, axis in zip(args, axes, strict=True) if axis == 0]
        count = _lanes(moving) // size
        if count == 1:
            return vectorised(*args)
        blocks = jax.tree.map(lambda x: x.reshape(count, size, *x.shape[1:]), moving)

        def one(rows):
            rows = iter(rows)
            return vectorised(
                *(next(rows) if axis == 0 else a for a, axis in zip(args, axes, strict=True))
            )

        out = lax.map(one, blocks)
        return jax.tree.map(lambda x: x.reshape(count * size, *x.shape[2:]), out)

    return run


def _shared_out(run: Callable, axes: tuple[int | None, ...], devices: Sequence[Any]) -> Callable:
    """`run` on each device for its share of the lanes."""
    specs = tuple(PartitionSpec(_LANES) if axis == 0 else PartitionSpec() for axis in axes)
    out = PartitionSpec(_LANES)
    # No lane needs another's, which is what the check would have to be told.
    return jax.shard_map(run, mesh=_mesh(devices), in_specs=specs, out_specs=out, check_vma=False)


def _extended(tree: Any, missing: int) -> Any:
    if not missing:
        return tree
    return jax.tree.map(lambda x: jnp.concatenate([x, jnp.repeat(x[-1:], missing, axis=0)]), tree)


def _axes(in_axes: Any, count: int) -> tuple[int | None, ...]:
    axes = (in_axes,) * count if in_axes is None or isinstance(in_axes, int) else tuple(in_axes)
    if len(axes) != count or any(axis not in (0, None) for axis in axes):
        raise ValueError(
            f"`in_axes` must be 0 or None, or one of these for each of the {count} arguments, "
            f"but is {in_axes!r}."
        )
    return axes


def _lanes(moving: list[Any]) -> int:
    sizes = {jnp.shape(x)[:1] for x in jax.tree.leaves(moving)}
    if len(sizes) != 1 or () in sizes or (0,) in sizes:
        found = sorted({jnp.shape(x) for x in jax.tree.leaves(moving)})
        raise ValueError(
            "`batched` needs one leading axis of lanes, the same and not empty in all arguments that have "
            f"one, but their leaves have the shapes {found}."
        )
    return sizes.pop()[0]


def _block(moving: list[Any], device: Any) -> int:
    if device.platform != "cpu":
        return _lanes(moving)
    width = max(np.dtype(jnp.result_type(x)).itemsize for x in jax.tree.leaves(moving))
    return _CPU_BLOCK.get(width, _CPU_BLOCK[8])

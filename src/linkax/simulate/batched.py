"""`batched`: a function of one sample over many, in blocks that fit the cache, on all devices there are."""

import functools as ft
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec


_LANES = "lanes"
# Lanes evaluated at once on a CPU core, by bytes a number. One body's pass moves some 60 values a lane; with
# these sizes they fit a second-level cache; the sizes themselves are not tuned yet. An accelerator takes all
# its lanes at once.
_CPU_BLOCK = {8: 256, 4: 512}


def batched(
    f: Callable,
    in_axes: int | Sequence[int | None] | None = 0,
    block: int | None = None,
    devices: Sequence[Any] | None = None,
) -> Callable:
    """f over a leading axis of lanes, as by `jax.vmap`, but in blocks and on every device.

    The results are those of `jax.vmap(f, in_axes)`, to rounding. Lanes are shared out evenly among the
    devices (the last one's are padded with copies of the last lane, which are dropped again); arguments
    without a lane axis are copied to each. Composes with `jax.jit` and with derivatives.

    To JAX all CPU cores together are one device, unless its option `jax_num_cpu_devices` says otherwise
    before the first computation; `linkax simulate --devices` sets it.

    Args:
        f: a function of one sample; its results are arrays in any pytree.
        in_axes: 0 for arguments with lanes (in all their leaves), None for the others; one for all or a
            sequence.
        block: lanes evaluated together on one device; on CPU 256 in float64 and 512 in float32 by default,
            elsewhere all.
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
    mesh = Mesh(np.asarray(devices), (_LANES,))
    out = PartitionSpec(_LANES)
    # No lane needs another's, which is what the check would have to be told.
    return jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False)


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

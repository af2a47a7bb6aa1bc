"""The only loops over bodies: `outward`, from the ground to the tips, and `inward`, back.

An algorithm hands over a local function of (joint class, value of the neighbour, the body's own data) and
never sees an index. Runs of one joint class (`Topology.runs`) become one `lax.scan` each: a scan materialises
its carry, which is what keeps XLA from evaluating a body's value again in each of its users, and compiles
one body instead of all. Carries are trees of separate scalars; packed into one array the same recursion ran
three times slower.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from linkax.math.materialise import is_materialise, materialise
from linkax.math.scalar import add
from linkax.model.topology import (
    FROM_GROUND,
    PREVIOUS,
    SHORTEST_SCAN,
    UNKEPT,
    Run,
    Topology,
)


def take(x: Array, indices: Sequence[int]) -> Array:
    """x[indices] along the first axis for static indices, as slices where they are consecutive.

    A gather of single elements costs more than the physics of the body that it feeds.
    """
    pieces: list[list[int]] = []
    for i in indices:
        if pieces and i == pieces[-1][-1] + 1:
            pieces[-1].append(i)
        else:
            pieces.append([i])
    if len(pieces) > max(8, len(indices) // 2):
        return x[np.asarray(indices)]
    slices = [lax.slice_in_dim(x, piece[0], piece[-1] + 1) for piece in pieces]
    return slices[0] if len(slices) == 1 else jnp.concatenate(slices or [x[:0]])


def body_lanes(topology: Topology, tree: Any) -> list[Any]:
    """Data with a leading body axis, cut into the runs; structural numbers stay what they are."""
    return [_take_tree(tree, run.bodies) for run in topology.runs]


def _take_tree(tree: Any, indices: Sequence[int]) -> Any:
    return jax.tree.map(lambda x: take(x, indices) if isinstance(x, jax.Array) else x, tree)


def joint_lanes(topology: Topology, x: Array, slots) -> list[tuple[Array, ...]]:
    """A stacked array of joint entries, cut into the runs: for each entry of a joint, an array of bodies."""
    return [
        tuple(
            take(x, [slots.start[body] + k for body in run.bodies])
            for k in range(slots.width[run.bodies[0]])
        )
        for run in topology.runs
    ]


def stack_bodies(topology: Topology, lanes: Sequence[Array]) -> Array:
    """The inverse of `body_lanes` for one array a run: the result has the bodies in their own order."""
    visited = [body for run in topology.runs for body in run.bodies]
    return take(jnp.concatenate(list(lanes)), [visited.index(i) for i in range(topology.nb)])


def stack_joints(topology: Topology, lanes: Sequence[tuple[Array, ...]], slots, dtype) -> Array:
    """The inverse of `joint_lanes`."""
    columns = [column for run in lanes for column in run]
    if not columns:
        return jnp.zeros((0,), dtype)
    place: dict[int, int] = {}
    for run in topology.runs:
        for k in range(slots.width[run.bodies[0]]):
            for body in run.bodies:
                place[slots.start[body] + k] = len(place)
    return take(jnp.concatenate(columns), [place[i] for i in range(slots.size)])


def _dense(tree: Any, dtype: Any) -> Any:
    """Structural numbers turned into arrays, so that a scan can carry them."""
    return jax.tree.map(
        lambda x: lax.full((), x, dtype) if isinstance(x, (int, float)) else x, tree
    )


def _choose(flag: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: lax.select_n(flag, b, a), yes, no)


def _add(a: Any, b: Any) -> Any:
    return jax.tree.map(add, a, b)


def _row(tree: Any, i: int) -> Any:
    return jax.tree.map(
        lambda x: lax.index_in_dim(x, i, keepdims=False) if isinstance(x, jax.Array) else x, tree
    )


def _scan(step: Callable, carry: Any, xs: Any, length: int, unroll: int, reverse: bool = False):
    """`lax.scan` over the arrays of xs, with its structural numbers handed to every step.

    For a derivative it keeps what the step stores anyway, and works the rest out again from the rows.
    """
    leaves, treedef = jax.tree.flatten(xs)
    moving = [isinstance(leaf, (jax.Array, np.ndarray)) for leaf in leaves]

    def body(carry, rows):
        rows = iter(rows)
        whole = [next(rows) if m else leaf for m, leaf in zip(moving, leaves, strict=True)]
        return step(carry, jax.tree.unflatten(treedef, whole))

    rows = [leaf for m, leaf in zip(moving, leaves, strict=True) if m]
    body = jax.checkpoint(body, policy=is_materialise, prevent_cse=False)
    return lax.scan(body, carry, rows, length=length, unroll=unroll, reverse=reverse)


def _stacked(ys: list[Any]) -> Any:
    return jax.tree.map(lambda *rows: jnp.stack(rows), *ys)


def outward(
    topology: Topology, step: Callable, ground: Any, xs: Sequence[Any], dtype: Any
) -> list[Any]:
    """Visits every body after its parent.

    `step(joint, parent, x) -> (value, y)`: `parent` is the value of the parent body (`ground`, a tree of
    scalars, structural numbers among them, for those on the ground), x the body's data from `xs` (one tree
    a run, leading axis the run's bodies). Returns the y of all bodies in the same form.
    """
    previous, registers, out = ground, {}, []
    for run, x in zip(topology.runs, xs, strict=True):
        visit = _scan_outward if _is_scanned(topology, run) else _write_outward
        previous, y = visit(topology, run, step, ground, previous, registers, x, dtype)
        out.append(y)
    return out


def _is_scanned(topology: Topology, run: Run) -> bool:
    return topology.unroll > 0 and len(run.bodies) >= SHORTEST_SCAN


def _write_outward(topology, run, step, ground, previous, registers, x, dtype):
    del topology
    ys = []
    for i, (source, keep) in enumerate(zip(run.source, run.keep, strict=True)):
        parent = {PREVIOUS: previous, FROM_GROUND: ground}.get(source)
        value, y = step(run.joint, registers[source] if parent is None else parent, _row(x, i))
        # What a scan's carry does by itself: each value is evaluated once, not in each of its users.
        previous = materialise(value)
        if keep != UNKEPT:
            registers[keep] = previous
        ys.append(_dense(y, dtype))
    return previous, _stacked(ys)


def _scan_outward(topology, run, step, ground, previous, registers, x, dtype):
    ground, previous = _dense((ground, previous), dtype)
    registers.update(_dense(registers, dtype))
    written = sorted(set(run.keep) - {UNKEPT})
    # A register that this run writes is carried from its start, whatever it held before.
    held = {k: registers.get(k, ground) for k in written}

    def body(carry, row):
        previous, held = carry
        x, source, keep = row
        parent = previous
        for s in sorted(set(run.source) - {PREVIOUS}):
            other = ground if s == FROM_GROUND else held.get(s, registers.get(s))
            parent = other if set(run.source) == {s} else _choose(source == s, other, parent)
        value, y = step(run.joint, parent, x)
        value = _dense(value, dtype)
        held = {k: _choose(keep == k, value, kept) for k, kept in held.items()}
        return (value, held), _dense(y, dtype)

    rows = (x, np.asarray(run.source), np.asarray(run.keep))
    (previous, held), ys = _scan(body, (previous, held), rows, len(run.bodies), topology.unroll)
    registers.update(held)
    return previous, ys


def inward(topology: Topology, step: Callable, like: Any, xs: Sequence[Any]) -> list[Any]:
    """Visits every body after all its children.

    `step(joint, children, x) -> (to_parent, y)`: `children` is the sum of what the body's children gave
    to their parent, structurally zero (Python 0) at the tips. `like` is a tree of scalar arrays of the
    shape of that sum. Returns the y of all bodies, one tree a run. What reaches the ground is dropped.
    """
    nothing = jax.tree.map(lambda _: 0, like)
    waiting, registers, out = nothing, {}, []
    after = FROM_GROUND  # source of the body visited next in outward order
    for run, x in zip(reversed(topology.runs), reversed(list(xs)), strict=True):
        first_child = tuple(s == PREVIOUS for s in (*run.source[1:], after))
        visit = _scan_inward if _is_scanned(topology, run) else _write_inward
        waiting, y = visit(topology, run, first_child, step, like, waiting, registers, x)
        after = run.source[0]
        out.append(y)
    return out[::-1]


def _dtype_of(like: Any) -> Any:
    return jax.tree.leaves(like)[0].dtype


def _write_inward(topology, run, first_child, step, like, waiting, registers, x):
    del topology
    nothing = jax.tree.map(lambda _: 0, like)
    ys = []
    for i in reversed(range(len(run.bodies))):
        children = waiting if first_child[i] else nothing
        if run.keep[i] != UNKEPT:
            children = _add(children, registers.pop(run.keep[i], nothing))
        given, y = step(run.joint, children, _row(x, i))
        given = materialise(given)
        if run.source[i] >= 0:
            registers[run.source[i]] = _add(registers.get(run.source[i], nothing), given)
        waiting = given
        ys.append(_dense(y, _dtype_of(like)))
    return waiting, _stacked(ys[::-1])


def _scan_inward(topology, run, first_child, step, like, waiting, registers, x):
    zero = jax.tree.map(jnp.zeros_like, like)
    touched = sorted((set(run.keep) | set(run.source)) - {UNKEPT, PREVIOUS, FROM_GROUND})
    dtype = _dtype_of(like)
    sums = {k: _dense(registers.pop(k, zero), dtype) for k in touched}

    def body(carry, row):
        waiting, sums = carry
        x, first_child_here, source, keep = row
        children = waiting if all(first_child) else _choose(first_child_here, waiting, zero)
        for k in sums:
            if k in run.keep:
                children = _add(children, _choose(keep == k, sums[k], zero))
                sums = sums | {k: _choose(keep == k, zero, sums[k])}
        given, y = step(run.joint, children, x)
        given = _dense(given, dtype)
        for k in sums:
            if k in run.source:
                sums = sums | {k: _add(sums[k], _choose(source == k, given, zero))}
        return (given, sums), _dense(y, dtype)

    rows = (x, np.asarray(first_child), np.asarray(run.source), np.asarray(run.keep))
    carry = (_dense(waiting, dtype), sums)
    (waiting, sums), ys = _scan(body, carry, rows, len(run.bodies), topology.unroll, reverse=True)
    registers.update(sums)
    return waiting, ys

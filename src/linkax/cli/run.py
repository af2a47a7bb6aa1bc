"""A run in chunks: one compiled function, called until the steps are done.

Chunks exist so that progress shows and memory of the device stays small; their points are kept on
the host. All have the same number of steps; what the last one computes beyond the end is dropped.
Only where `save_every` does not divide the steps is a second, shorter one compiled, so that the last
point is exactly the end.
"""

import dataclasses
import functools as ft
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jaxtyping import Array, Float, Int

from linkax.cli.machine import replicated
from linkax.kinematics import kinematics
from linkax.simulate import AbstractIntegrator, Status, simulate
from linkax.system import State, System, energy


# Points a chunk: few enough to show progress, many enough that calling costs little.
MOST_CHUNKS = 200
FEWEST_POINTS = 20
CHUNK_BYTES = 2**28


@dataclasses.dataclass(frozen=True)
class Plan:
    """How far, in what steps [s], by which method, and which points are kept."""

    dt: float
    steps: int
    save_every: int
    integrator: AbstractIntegrator

    @property
    def points(self) -> int:
        """Saved points: the start, every save_every-th step, and the end."""
        return 1 + -(-self.steps // self.save_every)


class Outcome(NamedTuple):
    """Columns by name, (points, ...) or (lanes, points, ...), how it ended, and wall time [s]."""

    columns: dict[str, np.ndarray]
    status: np.ndarray
    sentence: np.ndarray
    completed_steps: np.ndarray
    compiling: float
    running: float


class Carry(eqx.Module):
    """One sample between chunks: its last good state, whether it still runs, and its good steps."""

    state: State
    status: Status
    completed: Int[Array, ""]


def saved_bytes(system: System, lanes: int, points: int) -> int:
    """Memory that the saved points take [bytes]."""
    model = system.model
    numbers = 1 + model.nq + model.nv + 16 * model.nb + 2 + 3 * len(system.marker_names)
    return lanes * points * numbers * model.mass.dtype.itemsize


def _columns(system: System, state: State) -> dict[str, Array]:
    """What is saved of one point."""
    k = kinematics(system.model, state.q, state.v)
    assert k.com_velocity is not None
    assert k.angular_velocity_body is not None
    return {
        "t": state.t,
        "q": state.q,
        "v": state.v,
        "position": k.position,
        "com": k.com,
        "orientation": k.quaternion,
        "com_velocity": k.com_velocity,
        "angular_velocity": k.angular_velocity_body,
        "energy": energy(system, state),
        "markers": system.marker_positions(k),
    }


def _advance(
    system: System,
    carry: Carry,
    start: Float[Array, ""],
    limit: Int[Array, ""],
    *,
    plan: Plan,
    steps: int,
) -> tuple[Carry, dict[str, Array]]:
    """One sample over a chunk whose first `limit` steps count; a stopped sample stays as it is."""
    running = carry.status == Status.completed
    # Chunks start at times counted from the run's start: a sum over chunks would lose digits.
    began = eqx.tree_at(lambda s: s.t, carry.state, jnp.where(running, start, carry.state.t))
    new = simulate(
        system,
        began,
        dt=plan.dt,
        steps=steps,
        integrator=plan.integrator,
        save_every=min(plan.save_every, steps),
    )
    done = jnp.minimum(new.completed_steps, limit)
    status = Status.where(done < limit, new.status, Status.completed)
    after = Carry(
        jax.tree.map(lambda x, held: jnp.where(running, x, held), new.final, began),
        Status.where(running, status, carry.status),
        carry.completed + jnp.where(running, done, 0),
    )
    points = jax.tree.map(
        lambda x, held: jnp.where(running, x, held[None]),
        (new.t, new.q, new.v, new.z),
        (began.t, began.q, began.v, began.z),
    )
    columns = jax.vmap(lambda t, q, v, z: _columns(system, State(t, q, v, z, began.pseudo)))(
        *points
    )
    return after, columns


def _chunk_points(plan: Plan, bytes_a_point: int) -> int:
    """Saved points of a chunk, so that chunks are neither many nor large, and come out even."""
    points = plan.steps // plan.save_every
    size = max(-(-points // MOST_CHUNKS), min(points, FEWEST_POINTS))
    size = max(1, min(size, CHUNK_BYTES // max(1, bytes_a_point)))
    return -(-points // -(-points // size)) if points else 0


class _Compiled(NamedTuple):
    call: Callable[..., Any]
    steps: int
    seconds: float


def _compile(plan: Plan, steps: int, system: System, carry: Carry, sharding) -> _Compiled:
    """The chunk of so many steps, compiled for these arguments, without being run."""
    function = ft.partial(_advance, plan=plan, steps=steps)
    if carry.completed.ndim:
        function = jax.vmap(function, in_axes=(None, 0, None, None))
    began = time.perf_counter()
    jitted = jax.jit(function) if sharding is None else jax.jit(function, out_shardings=sharding)
    call = jitted.lower(system, carry, *_scalars(0.0, 0, sharding, carry.state.t.dtype)).compile()
    return _Compiled(call, steps, time.perf_counter() - began)


def _scalars(start: float, limit: int, sharding: NamedSharding | None, real):
    pair = jnp.asarray(start, real), jnp.asarray(limit, jnp.int32)
    return pair if sharding is None else jax.device_put(pair, replicated(sharding))


def _first_carry(state: State, leading: tuple[int, ...]) -> Carry:
    status = jax.tree.map(lambda x: jnp.broadcast_to(x, leading), Status.completed)
    return Carry(state, status, jnp.zeros(leading, jnp.int32))


def run(
    system: System,
    state: State,
    plan: Plan,
    *,
    sharding: NamedSharding | None = None,
    compiling: Callable[[], None] = lambda: None,
    advanced: Callable[[int], None] = lambda steps: None,
) -> Outcome:
    """Runs one sample, or the lanes of a batched state, over the plan's steps.

    Args:
        system: the machine.
        state: start at time zero; leads with (lanes,) for a batch.
        plan: steps and method.
        sharding: of the lanes over devices; one device if None.
        compiling: called before each compilation.
        advanced: called with the number of steps after each chunk.
    """
    leading = state.t.shape
    carry = _first_carry(state, leading)
    if sharding is not None:
        carry = jax.device_put(carry, sharding)
        system = jax.device_put(system, replicated(sharding))
    lanes = leading[0] if leading else 1
    whole = plan.save_every * _chunk_points(plan, saved_bytes(system, lanes, 1))
    history = _History(leading, plan.points)
    seconds = {"compiling": 0.0, "running": 0.0}
    compiled: _Compiled | None = None
    done = 0
    while done < plan.steps:
        # What is left beyond the last multiple of save_every is a chunk of its own.
        left = plan.steps - plan.steps % plan.save_every - done
        size = whole if left > 0 else plan.steps % plan.save_every
        if compiled is None or compiled.steps != size:
            compiling()
            compiled = _compile(plan, size, system, carry, sharding)
            seconds["compiling"] += compiled.seconds
        limit = min(size, left) if left > 0 else size
        began = time.perf_counter()
        scalars = _scalars(done * plan.dt, limit, sharding, state.t.dtype)
        carry, columns = compiled.call(system, carry, *scalars)
        history.append(columns, -(-limit // plan.save_every))
        seconds["running"] += time.perf_counter() - began
        done += limit
        advanced(limit)
    codes, sentences = status_words(carry.status)
    return Outcome(history.columns, codes, sentences, np.asarray(carry.completed), **seconds)


class _History:
    """Columns on the host, filled in place: joining chunks at the end would double the memory."""

    def __init__(self, leading: tuple[int, ...], points: int):
        self.axis = len(leading)
        self.points = points
        self.filled = 0
        self.columns: dict[str, np.ndarray] = {}

    def append(self, columns: dict[str, Array], count: int) -> None:
        """Keeps the first `count` points after a chunk's start; the very first start too."""
        first = 0 if self.filled == 0 else 1
        end = self.filled + count + 1 - first
        lead = (slice(None),) * self.axis
        for name, column in columns.items():
            new = np.asarray(column)
            if name not in self.columns:
                shape = (*new.shape[: self.axis], self.points, *new.shape[self.axis + 1 :])
                self.columns[name] = np.empty(shape, new.dtype)
            self.columns[name][(*lead, slice(self.filled, end))] = new[
                (*lead, slice(first, count + 1))
            ]
        self.filled = end


def status_words(status: Status) -> tuple[np.ndarray, np.ndarray]:
    """The codes of a status, or of one a lane, and their sentences."""
    codes = np.asarray(jax.tree.leaves(status)[0])
    found, where = np.unique(codes, return_index=True)
    flat = jax.tree.map(lambda x: jnp.reshape(x, (-1,)), status)
    words = np.array([Status[jax.tree.map(lambda x, i=i: x[i], flat)] for i in where])
    return codes, np.asarray(words[np.searchsorted(found, codes)])

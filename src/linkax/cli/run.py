"""A run in chunks: one compiled function, called until the steps are done.

Chunks exist so that progress shows and memory of the device stays small; the points they save are
kept on the host. All have the same number of steps, so that there is one compilation: what the last
one computes beyond the end is dropped. Where `save_every` does not divide the steps, chunks save at
a finer spacing that does, and the points wanted are picked from those.
"""

import dataclasses
import functools as ft
import math
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
from linkax.system import (
    MaximalPart,
    State,
    System,
    closure,
    energy,
    exerted,
)


# Chunks short enough to show progress, long enough that calling them costs little.
MOST_CHUNKS = 200
FEWEST_STEPS = 20
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

    @property
    def spacing(self) -> int:
        """Steps between points of a chunk: every point to save, and the end, is one of them."""
        return math.gcd(self.steps, self.save_every)

    def saved(self, steps: np.ndarray) -> np.ndarray:
        """Which of these numbers of steps end at a saved point."""
        regular = steps % self.save_every == 0
        return (steps <= self.steps) & (regular | (steps == self.steps))


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
    numbers = 2 + model.nq + model.nv + 16 * model.nb + 2 + 3 * len(system.marker_names)
    if system.mechanism is not None:
        numbers += 7 * system.mechanism.constraints.count
    numbers += system.rows.count + 6 * model.nb
    return lanes * points * numbers * model.tree.mass.dtype.itemsize


def _columns(system: System, state: State) -> dict[str, Array]:
    """What is saved of one point."""
    k = kinematics(system.model, state.q, state.v)
    assert k.com_velocity is not None
    assert k.angular_velocity_body is not None
    return {
        "t": state.t,
        "q": state.q,
        "v": system.model.tree_speeds(state.q, state.v),
        "position": k.position,
        "com": k.com,
        "orientation": k.quaternion,
        "com_velocity": k.com_velocity,
        "angular_velocity": k.angular_velocity_body,
        "energy": energy(system, state),
        "markers": system.marker_positions(k),
        **_loops(system, state),
    }


def _loops(system: System, state: State) -> dict[str, Array]:
    """Multipliers, reactions and the largest gap."""
    at = state
    if system.mechanism is not None:
        assert isinstance(state.pseudo, MaximalPart)
        at = eqx.tree_at(lambda s: s.pseudo.state.t, state, state.t)
        gaps = system.mechanism.closure(at.pseudo.state)
    else:
        gaps = closure(system, state)
    return {
        **exerted(system, at)._asdict(),
        "closure": jnp.max(jnp.abs(gaps), initial=0.0),
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
        save_every=plan.spacing,
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
        (new.t, new.q, new.v, new.z, new.pseudo),
        (began.t, began.q, began.v, began.z, began.pseudo),
    )

    def saved(t, q, v, z, pseudo):
        return _columns(system, State(t, q, v, z, pseudo))

    return after, jax.vmap(saved)(*points)


def _chunk_steps(plan: Plan, bytes_a_point: int) -> int:
    """Steps of a chunk, a multiple of the spacing, so that chunks come out even."""
    points = plan.steps // plan.spacing
    wanted = max(-(-plan.steps // MOST_CHUNKS), FEWEST_STEPS)
    size = min(-(-wanted // plan.spacing), points, CHUNK_BYTES // max(1, bytes_a_point))
    return plan.spacing * -(-points // -(-points // max(1, size)))


def _compiled(function: Callable[..., Any], system: System, carry: Carry, sharding):
    """The chunk compiled for these arguments, without being run, and the seconds it took."""
    if carry.completed.ndim:
        function = jax.vmap(function, in_axes=(None, 0, None, None))
    began = time.perf_counter()
    jitted = jax.jit(function) if sharding is None else jax.jit(function, out_shardings=sharding)
    call = jitted.lower(system, carry, *_scalars(0.0, 0, sharding, carry.state.t.dtype)).compile()
    return call, time.perf_counter() - began


def _scalars(start: float, limit: int, sharding: NamedSharding | None, real):
    pair = jnp.asarray(start, real), jnp.asarray(limit, jnp.int32)
    return pair if sharding is None else jax.device_put(pair, replicated(sharding))


def _first_carry(system: System, plan: Plan, state: State) -> Carry:
    def first(state: State) -> Carry:
        state = plan.integrator.prepare(system, state)
        return Carry(state, Status.completed, jnp.zeros((), jnp.int32))

    return jax.vmap(first)(state) if state.t.ndim else first(state)


def run(
    system: System,
    state: State,
    plan: Plan,
    *,
    sharding: NamedSharding | None = None,
    advanced: Callable[[int], None] = lambda steps: None,
) -> Outcome:
    """Runs one sample, or the lanes of a batched state, over the plan's steps.

    Args:
        system: the machine.
        state: start at time zero; leads with (lanes,) for a batch.
        plan: steps and method.
        sharding: of the lanes over devices; one device if None.
        advanced: called with a number of steps: 0 when all is compiled, then those of each chunk.
    """
    leading = state.t.shape
    carry = _first_carry(system, plan, state)
    if sharding is not None:
        carry = jax.device_put(carry, sharding)
        system = jax.device_put(system, replicated(sharding))
    size = _chunk_steps(plan, saved_bytes(system, leading[0] if leading else 1, 1))
    call, compiling = _compiled(
        ft.partial(_advance, plan=plan, steps=size), system, carry, sharding
    )
    advanced(0)
    history = _History(leading, plan)
    began = time.perf_counter()
    for done in range(0, plan.steps, size):
        limit = min(size, plan.steps - done)
        scalars = _scalars(done * plan.dt, limit, sharding, state.t.dtype)
        carry, columns = call(system, carry, *scalars)
        history.append(columns, done)
        advanced(limit)
    codes, sentences = status_words(carry.status)
    completed = np.asarray(carry.completed)
    running = time.perf_counter() - began
    return Outcome(history.columns, codes, sentences, completed, compiling, running)


class _History:
    """Columns on the host, filled in place: joining chunks at the end would double the memory."""

    def __init__(self, leading: tuple[int, ...], plan: Plan):
        self.axis = len(leading)
        self.plan = plan
        self.filled = 0
        self.columns: dict[str, np.ndarray] = {}

    def append(self, columns: dict[str, Array], done: int) -> None:
        """Keeps the points to save of a chunk that began after `done` steps."""
        steps = done + self.plan.spacing * np.arange(columns["t"].shape[self.axis])
        wanted = self.plan.saved(steps)
        # A chunk's first point is the last one of the chunk before.
        wanted[0] = done == 0
        end = self.filled + int(wanted.sum())
        lead = (slice(None),) * self.axis
        for name, column in columns.items():
            new = np.asarray(column)
            if name not in self.columns:
                shape = (*new.shape[: self.axis], self.plan.points, *new.shape[self.axis + 1 :])
                self.columns[name] = np.empty(shape, new.dtype)
            self.columns[name][(*lead, slice(self.filled, end))] = new[(*lead, wanted)]
        self.filled = end


def status_words(status: Status) -> tuple[np.ndarray, np.ndarray]:
    """The codes of a status, or of one a lane, and their sentences."""
    codes = np.asarray(jax.tree.leaves(status)[0])
    found, where = np.unique(codes, return_index=True)
    flat = jax.tree.map(lambda x: jnp.reshape(x, (-1,)), status)
    words = np.array([Status[jax.tree.map(lambda x, i=i: x[i], flat)] for i in where])
    return codes, np.asarray(words[np.searchsorted(found, codes)])

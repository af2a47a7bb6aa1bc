"""One step of a system, and runs of many under `lax.scan`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PyTree

from linkax.simulate.base import AbstractIntegrator
from linkax.simulate.integrators import SemiImplicitEuler
from linkax.simulate.status import Status
from linkax.simulate.variational import Variational
from linkax.system import State, System, settled


# What reverse mode keeps of a step takes as much memory as about so many states (of a chain of 5: 2.2 kB
# and 0.1 kB). So n steps in segments of r need room for n / r + 20 r states, least at r = sqrt(n / 20).
# Temporaries and median times of a gradient through 1000 steps of the chain, one sample, float64, on two
# busy cores (the first two are one program where every step is saved); "chunks" keeps the steps of a whole
# chunk, "twice" takes each step of a longer segment again:
#   save_every     chunks              these segments    twice
#            1     181 kB, 458 ms     181 kB, 519 ms    178 kB, 591 ms
#           30      99 kB, 295 ms      57 kB, 378 ms     45 kB, 644 ms
#         1000    2285 kB, 626 ms      50 kB, 641 ms     25 kB, 909 ms
STEP_IN_STATES = 20

ControlsLike = (
    Float[Array, "steps nu"] | Callable[[Float[Array, ""], State], Float[Array, " nu"]] | None
)


class Trajectory(eqx.Module):
    """The saved points of a run, time first, and how it ended.

    After a failure the points repeat the last good state; `completed_steps` says how far it got.
    """

    t: Float[Array, " points"]
    q: Float[Array, "points nq"]
    v: Float[Array, "points nv"]
    z: Float[Array, "points nz"]
    status: Status
    completed_steps: Int[Array, ""]
    final: State
    pseudo: PyTree[Array] = ()
    analyses: tuple[PyTree[Array], ...] = ()


class _Carry(eqx.Module):
    """What passes from step to step."""

    state: State
    status: Status
    completed: Int[Array, ""]


def step(
    system: System,
    state: State,
    controls: Float[Array, " nu"] | None,
    dt: float | Float[Array, ""],
    integrator: AbstractIntegrator | None = None,
) -> State:
    """The state one step later, under controls held over the step.

    Args:
        system: the machine.
        state: at the start of the step.
        controls: generalised forces [N m or N]; zero if None.
        dt: length of the step [s].
        integrator: if None, `SemiImplicitEuler()`, or `Variational()` in maximal coordinates.
    """
    chosen = _default(system) if integrator is None else integrator
    _check_controls(system, controls, ())
    length = jnp.asarray(dt, state.q.dtype)
    held = lambda t, s: controls
    after, _ = chosen.step(system, chosen.prepare(system, state), held, length)
    after, _ = settled(system, after)
    return chosen.report(system, after, held, length)


def _default(system: System) -> AbstractIntegrator:
    return SemiImplicitEuler() if system.mechanism is None else Variational()


def _check_controls(system: System, controls: Any, leading: tuple[int, ...]) -> None:
    if controls is None or callable(controls):
        return
    wanted = (*leading, system.nu)
    if jnp.shape(controls) != wanted:
        raise ValueError(
            f"`controls` must have shape {wanted}, one generalised force a speed, "
            f"but has shape {jnp.shape(controls)}."
        )


def _finite(state: State) -> Array:
    return (
        jnp.all(jnp.isfinite(state.q))
        & jnp.all(jnp.isfinite(state.v))
        & jnp.all(jnp.isfinite(state.z))
    )


def _advance(
    system: System, integrator: AbstractIntegrator, controls: ControlsLike, callbacks, start, dt
):
    """The body of the scan: one step, its callbacks, and what is kept of them."""

    def one(carry: _Carry, row) -> tuple[_Carry, None]:
        index, held = row
        chosen = controls if callable(controls) else (lambda t, s: held)
        running = carry.status == Status.completed
        after, reached = integrator.step(system, carry.state, chosen, dt, running)
        # Time is counted, not summed: after 1e6 additions of dt a sum has lost six digits.
        after = eqx.tree_at(lambda s: s.t, after, start + (index + 1.0) * dt)
        after, closed = settled(system, after, running)
        reached = Status.where(closed, reached, Status.open_loops)
        for callback in callbacks:
            after = callback(system, after)
        status = Status.where(_finite(after), Status.completed, Status.non_finite)
        status = Status.where(reached == Status.completed, status, reached)
        status = Status.where(running, status, carry.status)
        good = status == Status.completed
        kept = jax.tree.map(lambda new, old: jnp.where(good, new, old), after, carry.state)
        return _Carry(kept, status, carry.completed + good.astype(jnp.int32)), None

    return one


def _segmented(one, carry: _Carry, rows, longest: int) -> _Carry:
    """Scans equal segments of the rows; reverse mode keeps their starts and takes their steps again."""
    steps = jax.tree.leaves(rows)[0].shape[0]
    length = max(n for n in range(1, min(longest, steps) + 1) if steps % n == 0)
    segment = jax.checkpoint(lambda c, r: lax.scan(one, c, r)[0], prevent_cse=False)
    if length == steps:
        return segment(carry, rows)
    segments = jax.tree.map(lambda x: x.reshape(-1, length, *x.shape[1:]), rows)
    return lax.scan(lambda c, r: (segment(c, r), None), carry, segments)[0]


def _saved_points(one, carry: _Carry, rows, save_every: int):
    """(end, saved carries): scans chunks of save_every steps; a shorter last chunk is saved too."""
    steps = jax.tree.leaves(rows)[0].shape[0]
    longest = max(1, math.isqrt(steps // STEP_IN_STATES))

    def chunk(carry, rows):
        carry = _segmented(one, carry, rows, longest)
        return carry, carry

    whole = steps - steps % save_every
    chunks = jax.tree.map(lambda x: x[:whole].reshape(-1, save_every, *x.shape[1:]), rows)
    saved = [jax.tree.map(lambda x: x[None], carry)]
    if whole:
        carry, regular = lax.scan(chunk, carry, chunks)
        saved.append(regular)
    if whole < steps:
        carry, last = chunk(carry, jax.tree.map(lambda x: x[whole:], rows))
        saved.append(jax.tree.map(lambda x: x[None], last))
    return carry, jax.tree.map(lambda *parts: jnp.concatenate(parts), *saved)


def simulate(
    system: System,
    state: State | None = None,
    *,
    dt: float | Float[Array, ""],
    steps: int,
    controls: ControlsLike = None,
    integrator: AbstractIntegrator | None = None,
    save_every: int = 1,
    analyses: Sequence[Callable[[System, State], PyTree[Array]]] = (),
    callbacks: Sequence[Callable[[System, State], State]] = (),
    throw: bool = False,
) -> Trajectory:
    """Runs a system for a number of steps; every save_every-th point is kept, the first and last always.

    Works under jit, vmap and grad. A step whose result is not finite stops that sample at its last good
    state, and says so in `status`; other samples of a batch go on.

    Args:
        system: the machine.
        state: start; the description's own if None.
        dt: length of a step [s].
        steps: number of steps; static.
        controls: (steps, nu) held over each step, or a function of (t, state); none if None.
        integrator: if None, `SemiImplicitEuler()`, or `Variational()` in maximal coordinates.
        save_every: steps between saved points; static.
        analyses: functions of (system, state) evaluated at the saved points, into `Trajectory.analyses`.
        callbacks: functions of (system, state) giving the state to go on with, after each good step.
        throw: raise at run time when a sample fails, instead of only saying so.
    """
    state = system.initial_state() if state is None else state
    _check_run(system, controls, steps, save_every)
    chosen = _default(system) if integrator is None else integrator
    trajectory = _run(system, state, dt, steps, controls, chosen, save_every, analyses, callbacks)
    if throw:
        failed = trajectory.status != Status.completed
        trajectory = trajectory.status.error_if(trajectory, failed)
    return trajectory


def _run(
    system: System,
    state: State,
    dt: float | Float[Array, ""],
    steps: int,
    controls: ControlsLike,
    chosen: AbstractIntegrator,
    save_every: int,
    analyses,
    callbacks,
) -> Trajectory:
    """`simulate` of checked arguments."""
    real = state.q.dtype
    state = chosen.prepare(system, state)
    one = _advance(system, chosen, controls, callbacks, state.t, jnp.asarray(dt, real))
    table = None if controls is None or callable(controls) else jnp.asarray(controls, real)
    length = jnp.asarray(dt, real)

    def report(carry: _Carry):
        here = carry.state
        row = None if table is None else table[jnp.minimum(carry.completed, steps - 1)]
        acting = controls if callable(controls) else lambda t, s: row
        shown = chosen.report(system, here, acting, length)
        return shown, tuple(analysis(system, shown) for analysis in analyses)

    carry, saved = _saved_points(
        one,
        _Carry(state, Status.completed, jnp.zeros((), jnp.int32)),
        (jnp.arange(steps, dtype=real), table),
        save_every,
    )
    # After the run and one by one: what a method and the analyses make of a point is compiled once, and takes
    # the memory of one point.
    states, reports = lax.map(report, saved)
    return Trajectory(
        t=states.t,
        q=states.q,
        v=states.v,
        z=states.z,
        status=carry.status,
        completed_steps=carry.completed,
        final=jax.tree.map(lambda x: x[-1], states),
        pseudo=states.pseudo,
        analyses=reports,
    )


def _check_run(system: System, controls: ControlsLike, steps: int, save_every: int) -> None:
    if steps < 1:
        raise ValueError(f"`steps` must be at least 1, but is {steps}.")
    if save_every < 1:
        raise ValueError(f"`save_every` must be at least 1, but is {save_every}.")
    _check_controls(system, controls, (steps,))

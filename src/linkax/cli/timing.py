"""How it is timed, and the table: for `linkax bench` and for the benchmarks beside peers alike."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax


LEAST_SECONDS = 0.05  # of one measurement
PATIENCE = 2.0  # [s] of a call; slower ones are measured in one round, each by one call
ROUNDS = 7
OURS = ("linkax", "linkax-batched")


class Quantity(NamedTuple):
    """What one evaluation is, how many of them a lane makes in a call, and the unit of the figure."""

    meaning: str
    evaluations: int = 1
    unit: str = "k/s"

    def figure(self, batch: int, seconds: float) -> float:
        """Of a call that took so many seconds, in the unit."""
        if self.unit == "us":
            return 1e6 * seconds
        return batch * self.evaluations / seconds / 1e3


class Compiled(NamedTuple):
    """A call with its arguments, ready to be timed, and the seconds that tracing and compiling took."""

    call: Callable[[], Any]
    compile_seconds: float

    def __call__(self) -> Any:
        """The result, when it is there."""
        return jax.block_until_ready(self.call())


def through_jit(function: Callable, arguments: Sequence) -> Compiled:
    """The function as a program calls it: looking up what was compiled is part of every call."""
    called = jax.jit(function)
    _, seconds = _timed(lambda: jax.block_until_ready(called(*arguments)))
    return Compiled(lambda: called(*arguments), seconds)


def compiled(function: Callable, arguments: Sequence) -> Compiled:
    """The function traced and compiled for these arguments, apart from calling it."""
    ready, seconds = _timed(lambda: jax.jit(function).lower(*arguments).compile())
    return Compiled(lambda: ready(*arguments), seconds)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begin


def measurement(call: Callable[[], Any]) -> float:
    """Seconds of one call, over as many calls as the clock needs."""
    _, once = _timed(call)
    if once > PATIENCE:
        return once
    count = max(1, int(LEAST_SECONDS / max(once, 1e-7)))
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def prepare_call(
    name: str, prepare: Callable[[], Callable[[], Any] | None], found: dict, calls: dict
) -> None:
    """Prepares an engine's call and makes it once; notes it, or the error it ended with.

    Args:
        name: the engine.
        prepare: gives the call, or None if the engine has no answer.
        found: {engine: {compile_s, first_s, seconds} or {error}}, added to.
        calls: {engine: call}, added to.
    """
    begin = time.perf_counter()
    try:
        call = prepare()
        if call is None:
            return
        call()
    except Exception as error:  # an engine that cannot do a case is a row of the table, not its end
        first = (str(error).splitlines() or [""])[0][:100]
        found[name] = {"error": f"{type(error).__name__}: {first}"}
        return
    calls[name] = call
    compile_seconds = getattr(call, "compile_seconds", None)
    first_seconds = time.perf_counter() - begin
    found[name] = {"compile_s": compile_seconds, "first_s": first_seconds, "seconds": []}


def time_rounds(found: dict, calls: Mapping[str, Callable[[], Any]], rounds: int) -> None:
    """Every round calls each engine, so that noise meets all alike."""
    waiting = dict(calls)
    for _ in range(rounds):
        for name, call in list(waiting.items()):
            seconds = measurement(call)
            found[name]["seconds"].append(seconds)
            if seconds > PATIENCE:
                del waiting[name]


# --- the table ---

COLUMNS = f"{'model':12} {'batch':>5} {'f':>2}  {'engine':16} {'FIGURE':>9} {'spread':>19} {'compile s':>9}"


def heading(name: str, quantity: Quantity, rounds: int) -> str:
    """What is counted, and the names of the columns."""
    counted = {"k/s": "thousands a second", "us": "microseconds a call"}[quantity.unit]
    return (
        f"{name}: {quantity.meaning}\n"
        f"{counted}, median (lowest-highest of {rounds}); "
        "the last column compares with the faster of our engines\n"
        f"{COLUMNS.replace('FIGURE', f'{quantity.unit:>6}')}  linkax is"
    )


def rows(quantity: Quantity, model: str, precision: int, batch: int, found: Mapping) -> str:
    """The engines of one case, a line each.

    Args:
        quantity: what was timed.
        model: its name.
        precision: bits of a number.
        batch: lanes of a call.
        found: {engine: {compile_s, seconds} or {error}}.
    """
    ours = [found[name] for name in OURS if "seconds" in found.get(name, {})]
    best = min((statistics.median(f["seconds"]) for f in ours), default=None)
    lines = []
    for name, f in found.items():
        head = f"{model:12} {batch:5d} {precision:2d}  {name:16}"
        if "error" in f:
            lines.append(f"{head} {'-':>9} {f['error']}")
            continue
        middle = statistics.median(f["seconds"])
        figures = sorted(quantity.figure(batch, s) for s in f["seconds"])
        spread = f"({figures[0]:.1f}-{figures[-1]:.1f})"
        compiling = "" if f.get("compile_s") is None else f"{f['compile_s']:.2f}"
        ratio = "" if best is None else f"{middle / best:.2f}x as fast"
        figure = quantity.figure(batch, middle)
        lines.append(f"{head} {figure:9.1f} {spread:>19} {compiling:>9}  {ratio}".rstrip())
    return "\n".join(lines)

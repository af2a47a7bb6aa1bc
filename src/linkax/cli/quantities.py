"""What is timed: quantities as functions of one sample, and engines that evaluate them over a batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from linkax.cli.timing import Compiled, Quantity, compiled, through_jit
from linkax.dynamics import forward_dynamics, inverse_dynamics, mass_matrix
from linkax.model import Model


STEPS = 100  # of a rollout
DT = 1e-3  # [s]
QUANTITIES = {
    "forward_dynamics": Quantity("accelerations"),
    "inverse_dynamics": Quantity("generalised forces"),
    "mass_matrix": Quantity("mass matrices"),
    "gradient": Quantity("reverse-mode gradients of sum(a^2) with respect to q, v and tau"),
    "rollout": Quantity(f"steps, in runs of {STEPS} semi-implicit ones", STEPS),
    "rollout_gradient": Quantity(
        f"steps of runs of {STEPS}, with the gradient of the last sum(v^2) with respect to the start "
        "and to tau",
        STEPS,
    ),
    "latency": Quantity("forward dynamics of one sample, called from Python", unit="us"),
}

Sample = Callable[[Any, int], tuple[Any, Any, Any]]


@dataclass
class Engine:
    """An engine with a machine loaded: for each quantity, a function of the batch size that gives a call.

    The call evaluates the whole batch, to its end.
    """

    name: str
    precision: int
    offers: dict[str, Callable[[int], Callable[[], Any]]]
    lower: Callable[[str, int], Any] | None = None  # of JAX engines: (quantity, batch) -> lowered


def functions_of_one_sample(
    forward: Callable, integrate: Callable | None, others: dict[str, Callable]
) -> dict[str, Callable]:
    """The quantities that follow from accelerations, as functions of (q, v, tau).

    Args:
        forward: accelerations from (q, v, tau).
        integrate: coordinates moved along speeds times time, from (q, dv); no rollouts if None.
        others: further quantities.
    """

    def cost(q, v, tau):
        return jnp.sum(jnp.square(forward(q, v, tau)))

    def run(q, v, tau):
        def step(state, _):
            q, v = state
            v = v + DT * forward(q, v, tau)
            return (integrate(q, DT * v), v), None  # pyright: ignore[reportOptionalCall]

        return jax.lax.scan(step, (q, v), length=STEPS)[0]

    def run_cost(q, v, tau):
        return jnp.sum(jnp.square(run(q, v, tau)[1]))

    functions = {"forward_dynamics": forward, **others}
    functions["gradient"] = jax.grad(cost, argnums=(0, 1, 2))
    if integrate is not None:
        functions["rollout"] = run
        functions["rollout_gradient"] = jax.grad(run_cost, argnums=(0, 1, 2))
    return functions


def jax_engine(
    name: str,
    precision: int,
    sample: Sample,
    forward: Callable,
    integrate: Callable | None = None,
    others: dict[str, Callable] | None = None,
    vectorise: Callable = jax.vmap,
    lay_out: Callable = lambda arguments: arguments,
) -> Engine:
    """An engine from functions of one sample.

    Args:
        name: as it stands in a table.
        precision: bits of a number.
        sample: q, v, tau from a key and the batch size.
        forward: accelerations from (q, v, tau).
        integrate: coordinates moved along speeds times time, from (q, dv); no rollouts if None.
        others: further quantities, functions of (q, v, tau).
        vectorise: makes a function of a batch.
        lay_out: puts a batch where it will be used, before any time is taken.
    """
    functions = functions_of_one_sample(forward, integrate, others or {})

    def arguments_of(batch: int) -> tuple:
        return lay_out(sample(jax.random.key(0), batch))

    def lower(quantity: str, batch: int) -> Any:
        return jax.jit(vectorise(functions[quantity])).lower(*arguments_of(batch))

    def offer(quantity: str) -> Callable[[int], Compiled]:
        return lambda batch: compiled(vectorise(functions[quantity]), arguments_of(batch))

    def latency(_: int) -> Compiled:
        return through_jit(forward, [x[0] for x in sample(jax.random.key(0), 1)])

    offers: dict[str, Callable] = {quantity: offer(quantity) for quantity in functions}
    return Engine(name, precision, offers | {"latency": latency}, lower)


def states_of(model: Model) -> Sample:
    """Random coordinates, normal speeds and forces: the same for all engines that share our conventions."""

    def sample(key: Any, batch: int) -> tuple[Any, Any, Any]:
        keys = jax.random.split(key, batch)
        v, tau = (
            jax.random.normal(jax.random.key(k), (batch, model.nv), model.dtype) for k in (1, 2)
        )
        return jax.vmap(model.random)(keys), v, tau

    return sample


def linkax_engine(
    model: Model, precision: int, name: str = "linkax", **vectorised: Callable
) -> Engine:
    """Our functions of a model, vmapped, or as `vectorise` and `lay_out` of `jax_engine` say."""
    return jax_engine(
        name,
        precision,
        states_of(model),
        lambda q, v, tau: forward_dynamics(model, q, v, tau),
        model.integrate,
        {
            "inverse_dynamics": lambda q, v, tau: inverse_dynamics(model, q, v, tau),
            "mass_matrix": lambda q, v, tau: mass_matrix(model, q),
        },
        **vectorised,
    )


def linkax_batched_engine(model: Model, precision: int, devices: Any = None) -> Engine:
    """The same in cache-sized blocks, on all devices, the lanes lying there."""
    from linkax.simulate import batched, sharded

    used = list(jax.devices() if devices is None else devices)

    def vectorise(function: Callable) -> Callable:
        return batched(function, devices=used)

    def lay_out(arguments: tuple) -> tuple:
        lanes = len(arguments[0])
        return arguments if lanes % min(len(used), lanes) else sharded(arguments, used)

    return linkax_engine(model, precision, "linkax-batched", vectorise=vectorise, lay_out=lay_out)

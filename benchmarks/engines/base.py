"""What every engine answers, and how the ones that are JAX functions of one sample answer it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


# Quantities: "forward_dynamics", "inverse_dynamics", "mass_matrix"; "gradient" of sum(a^2) with respect to
# q, v and tau; "rollout" of STEPS semi-implicit steps; "rollout_gradient" of sum(v^2) at its end with respect
# to the start and the torques; "single": forward dynamics of one sample, without a batch.
STEPS = 100
DT = 1e-3

Call = Callable[[], Any]  # one evaluation of the whole batch, to its end


@dataclass
class Engine:
    """An engine with a robot loaded: for each quantity, a function of the batch size that gives a `Call`."""

    name: str
    precision: int
    offers: dict[str, Callable[[int], Call]]
    lower: Callable[[str, int], Any] | None = None  # of JAX engines: (quantity, batch) -> lowered


def jax_engine(
    name: str,
    precision: int,
    sample: Callable[[Any, int], tuple[Any, Any, Any]],
    forward: Callable,
    integrate: Callable | None = None,
    others: dict[str, Callable] | None = None,
    vectorise: Callable | None = None,
    lay_out: Callable | None = None,
) -> Engine:
    """An engine from functions of one sample.

    `sample(key, batch)` gives q, v, tau; `forward(q, v, tau)` the accelerations; `integrate(q, dv)` the
    coordinates moved along speeds times time. `others` are further functions of (q, v, tau). `vectorise` is
    `vmap` if None; `lay_out` puts a batch where it will be used, before any time is taken.
    """
    import jax
    import jax.numpy as jnp

    over_lanes, place = vectorise or jax.vmap, lay_out or (lambda arguments: arguments)

    def cost(q, v, tau):
        return jnp.sum(jnp.square(forward(q, v, tau)))

    def run(q, v, tau):
        def step(state, _):
            q, v = state
            v = v + DT * forward(q, v, tau)
            return (integrate(q, DT * v), v), None

        return jax.lax.scan(step, (q, v), length=STEPS)[0]

    def run_cost(q, v, tau):
        return jnp.sum(jnp.square(run(q, v, tau)[1]))

    functions = {"forward_dynamics": forward, **(others or {})}
    functions["gradient"] = jax.grad(cost, argnums=(0, 1, 2))
    if integrate is not None:
        functions["rollout"] = run
        functions["rollout_gradient"] = jax.grad(run_cost, argnums=(0, 1, 2))

    def lower(quantity, batch):
        return jax.jit(over_lanes(functions[quantity])).lower(*arguments_of(batch))

    def arguments_of(batch):
        return place(sample(jax.random.key(0), batch))

    def offer(quantity):
        def prepare(batch):
            arguments = arguments_of(batch)
            compiled = lower(quantity, batch).compile()
            return lambda: jax.block_until_ready(compiled(*arguments))

        return prepare

    def single(_):
        arguments = [x[0] for x in sample(jax.random.key(0), 1)]
        called = jax.jit(forward)
        return lambda: jax.block_until_ready(called(*arguments))

    offers: dict[str, Callable] = {quantity: offer(quantity) for quantity in functions}
    return Engine(name, precision, offers | {"single": single}, lower)


def uniform(nq: int, nv: int, dtype: Any, quaternion_at: int | None = None) -> Callable:
    """Random states: angles over (-1, 1), a unit quaternion where there is one, speeds and torques normal."""
    import jax
    import jax.numpy as jnp

    def sample(key, batch):
        keys = jax.random.split(key, 3)
        q = jax.random.uniform(keys[0], (batch, nq), dtype, -1.0, 1.0)
        if quaternion_at is not None:
            part = slice(quaternion_at, quaternion_at + 4)
            q = q.at[:, part].set(q[:, part] / jnp.linalg.norm(q[:, part], axis=1, keepdims=True))
        v, tau = (jax.random.normal(k, (batch, nv), dtype) for k in keys[1:])
        return q, v, tau

    return sample

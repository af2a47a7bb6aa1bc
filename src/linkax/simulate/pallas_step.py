"""A step of many samples as one GPU kernel that keeps a sample in registers: `pallas_step`."""

import functools as ft

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

from linkax.dynamics import forward_dynamics
from linkax.math.scalarise import LaneCode, scalarise
from linkax.model import Model


_WARP = 32  # lanes that a GPU runs in step
_LARGEST_BLOCK = 1024  # threads of a block


def pallas_step(
    model: Model,
    q: Float[Array, "lanes nq"],
    v: Float[Array, "lanes nv"],
    tau: Float[Array, "lanes nv"],
    dt: float | Float[Array, ""],
    *,
    block: int = 128,
    interpret: bool = False,
) -> tuple[Float[Array, "lanes nq"], Float[Array, "lanes nv"]]:
    """One semi-implicit Euler step of a batch in one GPU kernel, one lane a thread; experimental.

    v1 = v + dt forward_dynamics(q, v, tau), q1 = integrate(q, dt v1), traced from these functions, with every
    body written out. It has never run on a GPU: the tests compare its interpreted form with `jax.vmap` and
    lower it to Triton, no more. Whether it is faster than XLA's many kernels, and from what number of bodies
    on a sample no longer fits in the registers, has not been measured. Nothing else uses it. It has no
    derivative. JAX announces from version 0.12 on that Pallas will no longer lower to Triton some day.

    Args:
        model: the tree, shared by all lanes, without mimic joints.
        q, v: coordinates and speeds, one row a lane.
        tau: generalised forces [N m or N].
        dt: step [s], shared by all lanes.
        block: lanes of a thread block, a power of two up to 1024; the last block is filled up with copies of
            the last lane, which are dropped again.
        interpret: runs on any device, slowly, for tests.

    Returns:
        q and v after the step, in the model's precision.
    """
    if not 1 <= block <= _LARGEST_BLOCK or block & (block - 1):
        raise ValueError(
            f"`block` must be a power of two between 1 and {_LARGEST_BLOCK}, but is {block}."
        )
    if model.topology.followers:
        raise NotImplementedError("`pallas_step` cannot step models with mimic joints.")
    lanes = jnp.shape(q)[0] if jnp.ndim(q) else 0
    widths = {"q": model.nq, "v": model.nv, "tau": model.nv}
    for name, x in {"q": q, "v": v, "tau": tau}.items():
        if jnp.shape(x) != (lanes, widths[name]) or lanes == 0:
            raise ValueError(
                f"`{name}` must have shape (lanes, {widths[name]}), with as many lanes as `q` and at least "
                f"one, but has shape {jnp.shape(x)}."
            )
    if jnp.shape(dt) != ():
        raise ValueError(f"`dt` must be one number, but has shape {jnp.shape(dt)}.")
    q, v, tau, dt = (jnp.asarray(x, model.dtype) for x in (q, v, tau, dt))
    if model.nv == 0:
        return q, v
    return _step(model.with_unroll(0), q, v, tau, dt, block=block, interpret=interpret)


def _one_lane(shared, lane):
    model, dt = shared
    q, v, tau = lane
    v = v + dt * forward_dynamics(model, q, v, tau)
    return model.integrate(q, dt * v), v


@ft.partial(jax.jit, static_argnames=("block", "interpret"))
def _step(model: Model, q, v, tau, dt, *, block: int, interpret: bool):
    lane = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in (q, v, tau)]
    code = scalarise(_one_lane, (model, dt), lane)
    lanes = q.shape[0]
    blocks = -(-lanes // block)
    # Rows are coordinates, so that neighbouring threads read neighbouring numbers.
    columns = [
        jnp.pad(x.T, ((0, 0), (0, blocks * block - lanes)), mode="edge") for x in (q, v, tau)
    ]
    out = _kernel_call(code, columns, block, interpret)
    return tuple(x[:, :lanes].T for x in out)


def _kernel_call(code: LaneCode, columns: list[Array], block: int, interpret: bool):
    constants = code.constants

    def kernel(*refs):
        held, refs = refs[: len(constants)], refs[len(constants) :]
        inputs, outputs = refs[: len(columns)], refs[len(columns) :]
        entries = code(
            [ref[k, :] for ref in inputs for k in range(ref.shape[0])],
            lambda group, k: held[group][k],
            # Interpreted, the kernel is XLA's to compile, which evaluates an unstored value in all its users.
            store=interpret,
        )
        rows = iter(entries)
        for ref in outputs:
            for k in range(ref.shape[0]):
                ref[k, :] = next(rows)

    def rows_of(n: int) -> pl.BlockSpec:
        return pl.BlockSpec((n, block), lambda i: (0, i))

    lanes = columns[0].shape[1]
    sizes = [shape[0] for shape in code.shapes]
    whole = [pl.BlockSpec(x.shape, lambda i: (0,)) for x in constants]
    return pl.pallas_call(
        kernel,
        grid=(lanes // block,),
        in_specs=[*whole, *(rows_of(x.shape[0]) for x in columns)],
        out_specs=[rows_of(n) for n in sizes],
        out_shape=[jax.ShapeDtypeStruct((n, lanes), columns[0].dtype) for n in sizes],
        compiler_params=triton.CompilerParams(num_warps=max(1, block // _WARP), num_stages=1),
        interpret=interpret,
        name="linkax_step",
    )(*constants, *columns)

"""A function of one sample written out as scalar operations, each on a vector of lanes at once.

Kernel languages take elementwise operations on vectors, but neither small arrays nor their slices, joins and
products. `scalarise` traces a function once and walks its operations. Those that need only what all lanes
share are evaluated at once, outside the kernel; the others are left to `entries`, which has nothing but
elementwise operations.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal
from jaxtyping import Array, PyTree

from linkax.math.entries import Machine, Operation, Place, Written


# Calls, and the parameter that holds what they call.
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}
_CALLS |= dict.fromkeys(("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr")


class LaneCode:
    """The part of a function that differs between lanes, and the shared values that it needs.

    `constants` are one-dimensional arrays, one a precision; truth values are stored as whole numbers. Calling
    the code evaluates it: `inputs` are the entries of all lane arguments, leaf by leaf and in row-major
    order, each a vector of one shape; `load(group, k)` is the scalar `constants[group][k]`. The results are
    the entries of all outputs, likewise; `structure` and `shapes` say which arrays they make up.
    """

    def __init__(self, written: Written, structure: Any, shapes: Sequence[tuple[int, ...]]):
        self.structure = structure
        self.shapes = tuple(shapes)
        self._written = written
        self.constants, self._places = _packed(written)

    def __call__(
        self,
        inputs: Sequence[Array],
        load: Callable[[int, int], Array] | None = None,
        store: bool = False,
    ) -> list[Array]:
        """The entries of the outputs.

        The constants are read from `self.constants` without a `load`. With `store`, `materialise` stays the
        operation that it is, for XLA; a kernel keeps its values by itself.
        """
        read = (lambda group, k: self.constants[group][k]) if load is None else load
        machine = Machine(inputs, self._written, self._places, read, store)
        for operation in self._written.lane:
            machine.evaluate(operation)
        return [
            machine.vector(number)
            for output in self._written.outputs
            for number in machine.numbers(output).ravel().tolist()
        ]


def scalarise(function: Callable, shared: PyTree, lane: PyTree) -> LaneCode:
    """The code of `function(shared, lane)` for a vector of lanes; `shared` is the same in all of them.

    Args:
        function: of one sample. It may not loop (scan, while), branch (cond), or index by a value that
            is not known while tracing.
        shared: arrays, possibly traced.
        lane: arrays, or their shapes and precisions (`jax.ShapeDtypeStruct`), of one sample.

    A `NotImplementedError` names an operation on lane values that has no rule.
    """
    closed, out = jax.make_jaxpr(function, return_shape=True)(shared, lane)
    leaves, structure = jax.tree.flatten(out)
    written = _split(closed, jax.tree.leaves(shared), jax.tree.leaves(lane))
    return LaneCode(written, structure, [leaf.shape for leaf in leaves])


def _aval(x: Any) -> Any:
    return x.aval


class _Writer:
    """Flattens nested calls into one list of operations."""

    def __init__(self) -> None:
        self.count = 0
        self.values: dict[int, Any] = {}
        self.operations: list[Operation] = []

    def number(self) -> int:
        self.count += 1
        return self.count - 1

    def shared(self, value: Any) -> int:
        number = self.number()
        self.values[number] = jnp.asarray(value)
        return number

    def constant(self, value: Any) -> int:
        number = self.number()
        traced = isinstance(value, Tracer)
        self.values[number] = value if traced else np.asarray(value)
        return number

    def write(self, jaxpr: Jaxpr, constants: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """Appends the operations of a jaxpr on numbered inputs; the numbers of its outputs."""
        env = dict(zip(jaxpr.constvars, map(self.constant, constants), strict=True))
        env.update(zip(jaxpr.invars, inputs, strict=True))

        def read(x: Any) -> Any:
            return np.asarray(x.val, _aval(x).dtype) if isinstance(x, Literal) else env[x]

        for eqn in jaxpr.eqns:
            args = [read(x) for x in eqn.invars]
            name = eqn.primitive.name
            if name in _CALLS:
                inner = eqn.params[_CALLS[name]]
                closed = isinstance(inner, ClosedJaxpr)
                body, held = (inner.jaxpr, inner.consts) if closed else (inner, ())
                results = self.write(body, held, args)
            else:
                results = [self.number() for _ in eqn.outvars]
                shapes = tuple(_aval(v).shape for v in eqn.outvars)
                self.operations.append(
                    Operation(eqn.primitive, eqn.params, tuple(args), tuple(results), shapes)
                )
            env.update(zip(eqn.outvars, results, strict=True))
        return [read(x) for x in jaxpr.outvars]


def _split(closed: ClosedJaxpr, shared: list[Any], lane: list[Any]) -> Written:
    writer = _Writer()
    lane_numbers = [writer.number() for _ in lane]
    shared_numbers = [writer.shared(x) for x in shared]
    inputs = [*shared_numbers, *lane_numbers]
    outputs = writer.write(closed.jaxpr, closed.consts, inputs)
    differs, code, values = set(lane_numbers), [], writer.values
    for operation in _used(writer.operations, outputs):
        if differs.isdisjoint(x for x in operation.inputs if isinstance(x, int)):
            results = _evaluated(operation, values)
            values.update(zip(operation.outputs, results, strict=True))
        else:
            differs.update(operation.outputs)
            code.append(operation)
    return Written(code, [tuple(x.shape) for x in lane], values, outputs)


def _used(operations: list[Operation], outputs: list[Any]) -> list[Operation]:
    """Those that the outputs depend on."""
    needed = {x for x in outputs if isinstance(x, int)}
    kept = []
    for operation in reversed(operations):
        if not needed.isdisjoint(operation.outputs):
            needed.update(x for x in operation.inputs if isinstance(x, int))
            kept.append(operation)
    return kept[::-1]


def _evaluated(operation: Operation, values: dict[int, Any]) -> list[Any]:
    """The results of a shared operation; numpy arrays where all its inputs are known while tracing."""
    args = [values[x] if isinstance(x, int) else x for x in operation.inputs]

    def bind() -> list[Any]:
        out = operation.primitive.bind(*map(jnp.asarray, args), **operation.params)
        return list(out) if operation.primitive.multiple_results else [out]

    if all(isinstance(x, np.ndarray) for x in args):
        with jax.ensure_compile_time_eval():
            return [np.asarray(x) for x in bind()]
    return bind()


def _packed(written: Written) -> tuple[tuple[Array, ...], dict[int, Place]]:
    """The shared values that lane code uses and that are not known while tracing, laid end to end."""
    used = {x for operation in written.lane for x in operation.inputs if isinstance(x, int)}
    used |= {x for x in written.outputs if isinstance(x, int)}
    values = {x: written.values[x] for x in sorted(used) if x in written.values}
    groups: dict[np.dtype, list[Array]] = {}
    places: dict[int, Place] = {}
    for number, value in values.items():
        if isinstance(value, np.ndarray):
            continue
        stored = np.dtype(np.int32) if value.dtype == bool else np.dtype(value.dtype)
        group = groups.setdefault(stored, [])
        start = sum(x.size for x in group)
        at = list(groups).index(stored)
        places[number] = Place(at, start, tuple(value.shape), np.dtype(value.dtype))
        group.append(lax.convert_element_type(jnp.ravel(value), stored))
    return tuple(jnp.concatenate(group) for group in groups.values()), places

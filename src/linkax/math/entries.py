"""Entries: the scalar operations that a function of small arrays amounts to, each on a vector of lanes.

A value is an array of numbers into a table of entries, so that slices, joins and transposes are done by numpy
while tracing. An entry is a vector of lanes, or a numpy scalar where it is known while tracing.
"""

import functools as ft
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jaxtyping import Array

from linkax.math.materialise import materialise


# fmt: off
_ELEMENTWISE = frozenset([
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2", "atanh",
    "cbrt", "ceil", "clamp", "convert_element_type", "cos", "cosh", "div", "eq", "exp", "exp2",
    "expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p", "lt", "max",
    "min", "mul", "ne", "neg", "not", "or", "pow", "rem", "round", "rsqrt", "sign", "sin", "sinh",
    "sqrt", "square", "sub", "tan", "tanh", "xor",
])
# fmt: on
# What stores a value, or stops a derivative, is none of the kernel's business: its values are registers.
_IDENTITIES = frozenset(["copy", "copy_p", "materialise", "optimization_barrier", "stop_gradient"])
_REDUCTIONS = {"reduce_sum": lax.add, "reduce_prod": lax.mul, "reduce_max": lax.max}
_REDUCTIONS |= {"reduce_min": lax.min, "reduce_and": lax.bitwise_and, "reduce_or": lax.bitwise_or}
# Rearrangements whose indices are operands too.
_INDEXED = frozenset(["gather", "dynamic_slice"])

Numbers = np.ndarray  # of integers: for each place of an array, the number of its entry


class Operation(NamedTuple):
    """One operation; its values are known by number, literals stand for themselves."""

    primitive: Primitive
    params: dict[str, Any]
    inputs: tuple[Any, ...]  # a number or a numpy array
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]  # of the outputs


class Written(NamedTuple):
    """A function written out: its lane operations in order, and the values of all others by number."""

    lane: list[Operation]
    lane_shapes: list[tuple[int, ...]]  # of the lane arguments, whose numbers come first
    values: dict[int, Any]  # numpy where known while tracing
    outputs: list[Any]


class Place(NamedTuple):
    """Where a shared array lies among the constants."""

    group: int
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


class Machine:
    """Evaluates lane operations, one after the other."""

    def __init__(
        self,
        inputs: Sequence[Array],
        written: Written,
        places: dict[int, Place],
        load: Callable[[int, int], Array],
        store: bool,
    ):
        self.table: list[Any] = list(inputs)
        self.shape: tuple[int, ...] = tuple(self.table[0].shape)
        self.load = load
        self.store = store
        self.places = places
        self.values = written.values
        self.env: dict[int, Numbers] = {}
        self.known: dict[Any, int] = {}
        self.vectors: dict[int, Array] = {}  # of entries that are the same in all lanes
        start = 0
        for number, shape in enumerate(written.lane_shapes):
            size = int(np.prod(shape))
            self.env[number] = np.arange(start, start + size).reshape(shape)
            start += size
        if start != len(self.table):
            raise ValueError(f"The lane code takes {start} entries, but was given {len(inputs)}.")

    def add(self, entry: Any) -> int:
        self.table.append(entry)
        return len(self.table) - 1

    def numbers(self, value: Any) -> Numbers:
        """The entry numbers of a value of the function, whatever it depends on."""
        if not isinstance(value, int):
            return self._of_known(value)
        if value not in self.env:
            place = self.places.get(value)
            self.env[value] = (
                self._of_known(self.values[value]) if place is None else self._loaded(place)
            )
        return self.env[value]

    def _of_known(self, value: np.ndarray) -> Numbers:
        numbers = np.empty(value.shape, int)
        for at in np.ndindex(value.shape):
            key = (value.dtype, value[at].tobytes())
            if key not in self.known:
                self.known[key] = self.add(value[at])
            numbers[at] = self.known[key]
        return numbers

    def _loaded(self, place: Place) -> Numbers:
        size = int(np.prod(place.shape))
        entries = [self.add((place, place.start + k)) for k in range(size)]
        return np.asarray(entries, int).reshape(place.shape)

    def vector(self, number: int) -> Array:
        """An entry as a vector of lanes; constants are loaded when they are first used."""
        entry = self.table[number]
        if not isinstance(entry, (np.generic, tuple)):
            return entry
        if number not in self.vectors:
            known = isinstance(entry, np.generic)
            self.vectors[number] = self._spread(entry) if known else self._load(*entry)
        return self.vectors[number]

    def _spread(self, known: Any) -> Array:
        return lax.full(self.shape, known, known.dtype)

    def _load(self, place: Place, k: int) -> Array:
        x = lax.broadcast_in_dim(self.load(place.group, k), self.shape, ())
        return lax.ne(x, lax.full_like(x, 0)) if place.dtype == bool else x

    def bind(self, primitive: Callable, *numbers: int, **params) -> int:
        """An elementwise operation on entries."""
        return self.add(primitive(*(self.vector(number) for number in numbers), **params))

    def evaluate(self, operation: Operation) -> None:
        """Every operation on lane values, by name."""
        name = operation.primitive.name
        args = [self.numbers(x) for x in operation.inputs]
        if name == "materialise" and self.store:
            results = self._stored(args)
        elif name in _IDENTITIES:
            results = args
        elif name in _ELEMENTWISE:
            results = [self._elementwise(operation, args)]
        elif name == "select_n":
            results = [self._selected(*args)]
        elif name == "dot_general":
            results = [self._product(operation, *args)]
        elif name in _REDUCTIONS:
            results = [self._reduced(_REDUCTIONS[name], args[0], operation.params["axes"])]
        elif name in _INDEXED:
            results = [self._indexed(operation, args)]
        elif name in _REARRANGEMENTS:
            results = _REARRANGEMENTS[name](args, operation)
        else:
            raise NotImplementedError(
                f"`scalarise` has no rule for the operation `{name}` on values that differ between lanes."
            )
        self.env.update(zip(operation.outputs, results, strict=True))

    def _each(self, function: Callable[..., int], *args: Numbers) -> Numbers:
        args = tuple(np.broadcast_arrays(*args))
        out = np.empty(args[0].shape, int)
        for at in np.ndindex(out.shape):
            out[at] = function(*(int(x[at]) for x in args))
        return out

    def _elementwise(self, operation: Operation, args: list[Numbers]) -> Numbers:
        bind = ft.partial(self.bind, operation.primitive.bind, **operation.params)
        return self._each(bind, *args)

    def _stored(self, args: list[Numbers]) -> list[Numbers]:
        numbers = sorted({n for x in args for n in x.ravel().tolist()})
        vectors = materialise([self.vector(n) for n in numbers])
        stored = {n: self.add(x) for n, x in zip(numbers, vectors, strict=True)}
        return [self._each(lambda n: stored[n], x) for x in args]

    def _selected(self, which: Numbers, *cases: Numbers) -> Numbers:
        def choose(which: int, *cases: int) -> int:
            known = self.table[which]
            if isinstance(known, np.generic):
                return cases[int(known)]
            return self.bind(lax.select_n, which, *cases)

        return self._each(choose, which, *cases)

    def _total(self, operation: Callable, numbers: Sequence[int]) -> int:
        if not numbers:
            raise NotImplementedError("`scalarise` has no rule for a sum of no terms.")
        return ft.reduce(lambda a, b: self.bind(operation, a, b), numbers)

    def _reduced(self, operation: Callable, x: Numbers, axes: Sequence[int]) -> Numbers:
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        out = np.empty([x.shape[axis] for axis in kept], int)
        rows = x.transpose([*kept, *axes]).reshape(*out.shape, -1)
        for at in np.ndindex(out.shape):
            out[at] = self._total(operation, rows[at].tolist())
        return out

    def _product(self, operation: Operation, a: Numbers, b: Numbers) -> Numbers:
        """Sums of products in the order of the contracted axes."""
        (contract_a, contract_b), (batch_a, batch_b) = operation.params["dimension_numbers"]
        precision = operation.params["preferred_element_type"]
        if precision is not None:
            convert = ft.partial(self.bind, lax.convert_element_type, new_dtype=precision)
            a, b = self._each(convert, a), self._each(convert, b)
        free_a = [k for k in range(a.ndim) if k not in (*contract_a, *batch_a)]
        free_b = [k for k in range(b.ndim) if k not in (*contract_b, *batch_b)]
        batch = int(np.prod([a.shape[k] for k in batch_a]))
        inner = int(np.prod([a.shape[k] for k in contract_a]))
        rows = a.transpose([*batch_a, *free_a, *contract_a]).reshape(batch, -1, inner)
        columns = b.transpose([*batch_b, *free_b, *contract_b]).reshape(batch, -1, inner)
        out = np.empty((batch, rows.shape[1], columns.shape[1]), int)
        for k, i, j in np.ndindex(out.shape):
            pairs = zip(rows[k, i].tolist(), columns[k, j].tolist(), strict=True)
            out[k, i, j] = self._total(lax.add, [self.bind(lax.mul, x, y) for x, y in pairs])
        return out.reshape(operation.shapes[0])

    def _indexed(self, operation: Operation, args: list[Numbers]) -> Numbers:
        """The operation itself, on the numbers of the entries."""
        known = [[self.table[n] for n in x.ravel().tolist()] for x in args[1:]]
        if not all(isinstance(entry, np.generic) for entries in known for entry in entries):
            raise NotImplementedError(
                f"`scalarise` needs the indices of `{operation.primitive.name}` known while tracing."
            )
        indices = [np.reshape(k, x.shape) for k, x in zip(known, args[1:], strict=True)]
        params = operation.params
        if "fill_value" in params:
            params = params | {"fill_value": -1}  # no entry has this number
        with jax.ensure_compile_time_eval():
            operands = (jnp.asarray(args[0], jnp.int32), *map(jnp.asarray, indices))
            found = np.asarray(operation.primitive.bind(*operands, **params))
        if not np.isin(found, args[0]).all():
            raise NotImplementedError("`scalarise` has no rule for an index out of bounds.")
        return found


# --- rearrangements, on arrays of numbers ---


def _slice(args, operation):
    p = operation.params
    steps = p["strides"] or (1,) * args[0].ndim
    return [args[0][tuple(map(slice, p["start_indices"], p["limit_indices"], steps))]]


def _broadcast(args, operation):
    shape = [1] * len(operation.params["shape"])
    for axis, size in zip(operation.params["broadcast_dimensions"], args[0].shape, strict=True):
        shape[axis] = size
    return [np.broadcast_to(args[0].reshape(shape), operation.params["shape"])]


def _reshape(args, operation):
    return [args[0].reshape(operation.shapes[0])]


def _split_axis(args, operation):
    ends = np.cumsum(operation.params["sizes"])[:-1]
    return np.split(args[0], ends, operation.params["axis"])


def _unstack(args, operation):
    return list(np.moveaxis(args[0], operation.params["axis"], 0))


_REARRANGEMENTS: dict[str, Callable[[list[Numbers], Operation], list[Numbers]]] = {
    "slice": _slice,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "transpose": lambda args, op: [args[0].transpose(op.params["permutation"])],
    "rev": lambda args, op: [np.flip(args[0], op.params["dimensions"])],
    "concatenate": lambda args, op: [np.concatenate(args, op.params["dimension"])],
    "stack": lambda args, op: [np.stack(args, op.params["axis"])],
    "unstack": _unstack,
    "split": _split_axis,
}

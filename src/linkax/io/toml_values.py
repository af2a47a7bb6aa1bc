"""Keys and values of TOML tables are read strictly: every error names the table, the key and the value."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from linkax.model.description import Placement, Triple
from linkax.model.naming import suggestion
from linkax.model.placement import body_axis_quaternion


Table = dict[str, Any]

PLACEMENT_KEYS = ("position", "quaternion", "rpy")
UNIT_TOLERANCE = 1e-6


def where_of(kind: str, index: int, table: Table) -> str:
    name = table.get("name")
    return f"{kind} `{name}`" if isinstance(name, str) else f"[[{kind}]] number {index + 1}"


def check_keys(table: Table, valid: tuple[str, ...], where: str):
    for key in table:
        if key not in valid:
            raise ValueError(f"{where} has the unknown key `{key}`;{suggestion(key, valid)}")


def tables(table: Table, key: str) -> list[Table]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"`{key}` is not a list of tables; write [[{key}]] before each.")
    return value


def table_of(table: Table, key: str, valid: tuple[str, ...], where: str) -> Table:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(
            f"`{key}` of {where} is {value!r}, but it is a table of {', '.join(valid)}."
        )
    check_keys(value, valid, f"`{key}` of {where}")
    return value


def required(table: Table, key: str, where: str) -> str:
    if key not in table:
        raise ValueError(f"{where} has no `{key}`.")
    return string(table, key, where, "")


def string(table: Table, key: str, where: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{where} has {key}={value!r}, but it is a string.")
    return value


def strings(table: Table, key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"`{key}` is {value!r}, but it is a list of strings.")
    return value


def flag(table: Table, key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"`{key}` is {value!r}, but it is true or false.")
    return value


def number(table: Table, key: str, where: str, default: float) -> float:
    return numbers([table.get(key, default)], 1, f"{where} has {key}={table.get(key)!r}")[0]


def vector(table: Table, key: str, count: int, where: str) -> list[float]:
    return numbers(table[key], count, f"{where} has {key}={table[key]!r}")


def triple(table: Table, key: str, where: str, default: Triple) -> Triple:
    return optional_triple(table, key, where) or default


def optional_triple(table: Table, key: str, where: str) -> Triple | None:
    if key not in table:
        return None
    x, y, z = vector(table, key, 3, where)
    return (x, y, z)


def sequence(table: Table, key: str, where: str) -> float | tuple[float, ...] | None:
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, list):
        return tuple(numbers(value, len(value), f"{where} has {key}={value!r}"))
    return number(table, key, where, 0.0)


def numbers(values, count: int, problem: str) -> list[float]:
    """Floats of a list of the right length; truth values are not numbers."""
    good = isinstance(values, list) and len(values) == count
    if not good or any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        raise ValueError(
            f"{problem}, but it is {'a number' if count == 1 else f'{count} numbers'}."
        )
    return [float(value) for value in values]


def placement_of_table(table: Table, key: str, where: str) -> Placement:
    """The placement under a key of a table; the identity where the key is missing."""
    frame = table_of(table, key, PLACEMENT_KEYS, where)
    inside = f"{key} of {where}"
    position = triple(frame, "position", inside, (0.0, 0.0, 0.0))
    if "rpy" not in frame and "quaternion" not in frame:
        return Placement(position)
    if "rpy" in frame and "quaternion" in frame:
        raise ValueError(f"{inside} has both `quaternion` and `rpy`; give one of them.")
    if "rpy" in frame:
        return Placement(position, body_axis_quaternion(vector(frame, "rpy", 3, inside)))
    w, x, y, z = vector(frame, "quaternion", 4, inside)
    length = math.hypot(w, x, y, z)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ValueError(
            f"{inside} has a quaternion (w, x, y, z) of length {length:.9g}, but it must be 1."
        )
    return Placement(position, (w, x, y, z))


def _texts(table: Table, key: str, where: str) -> tuple[str, ...]:
    value = table[key]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{where} has {key}={value!r}, but it is a list of strings.")
    return tuple(value)


def _floats(table: Table, key: str, where: str) -> tuple[float, ...]:
    value = table[key]
    count = len(value) if isinstance(value, list) else 2
    return tuple(numbers(value, count, f"{where} has {key}={value!r}"))


def _value(kind: Any, table: Table, key: str, where: str) -> Any:
    """The value under a key, read as the type of a field says."""
    readers: tuple[tuple[Any, Callable[[], Any]], ...] = (
        (str, lambda: string(table, key, where, "")),
        (float, lambda: number(table, key, where, 0.0)),
        (Triple, lambda: optional_triple(table, key, where)),
        (Placement, lambda: placement_of_table(table, key, where)),
        (tuple[str, ...], lambda: _texts(table, key, where)),
        (tuple[float, ...], lambda: _floats(table, key, where)),
    )
    for of, read in readers:
        if kind in (of, of | None):
            return read()
    raise TypeError(f"`{key}` is of type {kind}, which no table has.")


def fields_of(kind: type[Any], table: Table, where: str, **known: Any) -> Any:
    """A dataclass from the table of its fields, those without a default being required.

    `known` holds what was read already.
    """
    fields = dataclasses.fields(kind)
    check_keys(table, tuple(field.name for field in fields), where)
    values: dict[str, Any] = {}
    for field in fields:
        needed = field.default is dataclasses.MISSING is field.default_factory
        if field.name in known:
            values[field.name] = known[field.name]
        elif field.name in table:
            values[field.name] = _value(field.type, table, field.name, where)
        elif needed:
            raise ValueError(f"{where} has no `{field.name}`.")
    return kind(**values)


# --- writing ---


def with_placements(table: Table) -> Table:
    """Identity placements are left out: they are what a missing key means."""
    identity = filled(Placement())
    return {key: value for key, value in table.items() if value != identity}


def filled(item) -> Table:
    """The fields of a dataclass that hold something."""
    values = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return {key: plain(value) for key, value in values.items() if value is not None}


def plain(value):
    """Dataclasses as tables, sequences as lists, numbers as Python's."""
    if dataclasses.is_dataclass(value):
        return filled(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def defaults_left_out(item) -> Table:
    """The fields of a dataclass that hold something else than a missing key means."""
    table = filled(item)
    for field in dataclasses.fields(item):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if field.name in table and table[field.name] == plain(default):
            del table[field.name]
    return table

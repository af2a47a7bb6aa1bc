"""`[[loop]]` and `[[drive]]`: the `type` of a table says which keys it has.

`length` of a distance and `offset` of a coupling may be "initial": what the initial coordinates give.
"""

import dataclasses
from typing import Any

from linkax.io.toml_values import (
    Table,
    check_keys,
    defaults_left_out,
    fields_of,
    number,
    numbers,
    optional_triple,
    placement_of_table,
    plain,
    required,
    where_of,
)
from linkax.joints import JOINTS
from linkax.model.description import (
    DRIVES,
    LOOPS,
    CouplingDescription,
    DifferentialDescription,
    DistanceDescription,
    DriveDescription,
    JointDescription,
    LoopDescription,
    RotorDescription,
)
from linkax.model.naming import suggestion


CONNECTION_KEYS = (
    *("name", "type", "parent", "child", "parent_frame", "child_frame"),
    *("axis", "axis2", "pitch"),
)
# What the initial coordinates may tell, and the word that says so.
INITIAL = "initial"
TOLD = {DistanceDescription: "length", CouplingDescription: "offset"}


# --- reading ---


def connection(table: Table, where: str) -> JointDescription:
    """What a joint of the tree and one that closes a loop have in common."""
    return JointDescription(
        *(required(table, key, where) for key in ("name", "type", "parent", "child")),
        parent_frame=placement_of_table(table, "parent_frame", where),
        child_frame=placement_of_table(table, "child_frame", where),
        axis=optional_triple(table, "axis", where),
        axis2=optional_triple(table, "axis2", where),
        pitch=number(table, "pitch", where, 0.0),
    )


def loop_of_table(table: Table, index: int) -> LoopDescription:
    """The loop of a `[[loop]]` table: a joint, or what else its `type` names."""
    where = where_of("loop", index, table)
    required(table, "name", where)
    kind = required(table, "type", where)
    if kind in JOINTS:
        check_keys(table, CONNECTION_KEYS, where)
        return connection(table, where)
    if kind not in LOOPS:
        raise ValueError(
            f"{where} has type `{kind}`, which is no type of loop;"
            f"{suggestion(kind, [*LOOPS, *JOINTS])}"
        )
    rest = {key: value for key, value in table.items() if key != "type"}
    key = TOLD.get(LOOPS[kind])
    if key is None or rest.get(key) != INITIAL:
        return fields_of(LOOPS[kind], rest, where)
    del rest[key]
    return dataclasses.replace(fields_of(LOOPS[kind], rest, where), **{key: None})


def drive_of_table(table: Table, index: int) -> DriveDescription:
    """The drive of a `[[drive]]` table, of the dataclass that its `type` names."""
    where = where_of("drive", index, table)
    kind = required(table, "type", where)
    if kind not in DRIVES:
        raise ValueError(
            f"{where} has type `{kind}`, which is no type of drive;{suggestion(kind, DRIVES)}"
        )
    rest = {key: value for key, value in table.items() if key != "type"}
    if DRIVES[kind] is not DifferentialDescription:
        return fields_of(DRIVES[kind], rest, where)
    nested = {"rotors": _rotors, "matrix": _matrix}
    read = {key: of(table, where) for key, of in nested.items() if key in table}
    return fields_of(DifferentialDescription, rest, where, **read)


def _rotors(table: Table, where: str) -> tuple[RotorDescription, ...]:
    items = table["rotors"]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        keys = ", ".join(f.name for f in dataclasses.fields(RotorDescription))
        raise ValueError(f"{where} has rotors={items!r}, but it is a list of tables of {keys}.")
    inside = [f"rotor {i} of {where}" for i in range(len(items))]
    return tuple(fields_of(RotorDescription, *pair) for pair in zip(items, inside, strict=True))


def _matrix(table: Table, where: str) -> tuple[tuple[float, ...], ...]:
    rows = table["matrix"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError(f"{where} has matrix={rows!r}, but it is a list of rows of numbers.")
    return tuple(tuple(numbers(row, len(row), f"{where} has matrix={rows!r}")) for row in rows)


# --- writing ---


def table_of_loop(loop: LoopDescription) -> Table:
    """The `[[loop]]` table of a loop that is no joint, without what a missing key means."""
    table = _typed(loop)
    key = TOLD.get(type(loop))
    if key is not None and getattr(loop, key) is None and getattr(type(loop), key) is not None:
        table[key] = INITIAL
    return table


def table_of_drive(drive: DriveDescription) -> Table:
    """The `[[drive]]` table, without what a missing key means."""
    table = _typed(drive)
    if isinstance(drive, DifferentialDescription):
        table["rotors"] = [defaults_left_out(rotor) for rotor in drive.rotors]
        table["matrix"] = plain(drive.matrix)
    return table


def _typed(item: Any) -> Table:
    fields = defaults_left_out(item)
    return {"name": fields.pop("name"), "type": item.type, **fields}

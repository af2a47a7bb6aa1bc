"""`[[element]]` and `[[motion]]`: what a field of the description holds says how its key is read."""

import dataclasses

from linkax.io.toml_values import (
    Table,
    check_keys,
    fields_of,
    filled,
    number,
    required,
    string,
    where_of,
)
from linkax.model.description import (
    ELEMENTS,
    ZERO,
    ElementDescription,
    ExpressionDescription,
    HarmonicDescription,
    MotionDescription,
)
from linkax.model.naming import suggestion


EXPRESSION_KEYS = tuple(f.name for f in dataclasses.fields(ExpressionDescription))
MOTION_KEYS = tuple(f.name for f in dataclasses.fields(MotionDescription))
HARMONICS = ("sine", "cosine")


# --- reading ---


def element_of_table(table: Table, index: int) -> ElementDescription:
    """The element of an `[[element]]` table, of the dataclass that its `type` names."""
    where = where_of("element", index, table)
    kind = required(table, "type", where)
    if kind not in ELEMENTS:
        raise ValueError(
            f"{where} has type `{kind}`, which is no element type;{suggestion(kind, ELEMENTS)}"
        )
    rest = {key: value for key, value in table.items() if key != "type"}
    return fields_of(ELEMENTS[kind], rest, where)


def motion_of_table(table: Table, index: int) -> MotionDescription:
    """The motion of a `[[motion]]` table, which prescribes a joint or a body."""
    where = where_of("motion", index, table)
    check_keys(table, MOTION_KEYS, where)
    name = required(table, "name", where)
    if ("joint" in table) == ("body" in table):
        both = "both `joint` and" if "joint" in table else "neither `joint` nor"
        raise ValueError(f"{where} has {both} `body`; give one of them.")
    key = "joint" if "joint" in table else "body"
    return MotionDescription(
        name, _expression(table, where), **{key: string(table, key, where, "")}
    )


def _expression(table: Table, where: str) -> ExpressionDescription:
    if "expression" not in table:
        raise ValueError(f"{where} has no `expression`.")
    inside, found = f"expression of {where}", table["expression"]
    if not isinstance(found, dict) or not found:
        raise ValueError(
            f"{inside} is {found!r}, but it is a table of at least one of "
            f"{', '.join(EXPRESSION_KEYS)}."
        )
    check_keys(found, EXPRESSION_KEYS, inside)
    sine, cosine = (_harmonics(found, key, inside) for key in HARMONICS)
    constant, ramp = (number(found, key, inside, 0.0) for key in ("constant", "ramp"))
    return ExpressionDescription(constant, ramp, sine, cosine)


def _harmonics(table: Table, key: str, where: str) -> list[HarmonicDescription]:
    """One table, or a list of them; none where the key is missing."""
    value = table.get(key, [])
    items = [value] if isinstance(value, dict) else value
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        keys = ", ".join(f.name for f in dataclasses.fields(HarmonicDescription))
        raise ValueError(
            f"`{key}` of {where} is {value!r}, but it is a table of {keys}, or a list of them."
        )
    return [fields_of(HarmonicDescription, item, f"{key} of {where}") for item in items]


# --- writing ---


def table_of_element(element: ElementDescription) -> Table:
    """The `[[element]]` table; points at the origin are left out, as a missing key means them."""
    fields = filled(element)
    table = {"name": fields.pop("name"), "type": element.type, **fields}
    origin = {"point_a", "point_b"}
    return {k: v for k, v in table.items() if k not in origin or v != list(ZERO)}


def table_of_motion(motion: MotionDescription) -> Table:
    """The `[[motion]]` table, its expression holding only terms that are not zero, or a zero."""
    table = filled(motion)
    terms = {key: value for key, value in table.pop("expression").items() if value not in (0.0, [])}
    return {**table, "expression": terms or {"constant": 0.0}}

"""A mechanism in TOML is written by hand and read strictly: an unknown key is an error.

Tables: `[run]`, `[world]`, `[[body]]`, `[[joint]]`, `[[frame]]`, `[[marker]]`, and `[[loop]]`,
`[[element]]`, `[[motion]]`, which are kept as dictionaries for the formulations that use them. A
frame is a table of `position` [m] and either `quaternion` (w, x, y, z) or `rpy` [rad], the turns
about x, the new y, the new z. `limits = [lower, upper]`, each a number or one number a coordinate.
An inertia is a 3x3 array or its diagonal. What `write_toml` writes, `read_toml` reads back as an
equal description.
"""

import dataclasses
import math
import tomllib
from pathlib import Path
from typing import Any

import tomli_w

from linkax.model.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    MarkerDescription,
    Matrix3,
    MimicDescription,
    Placement,
    RunDescription,
    Triple,
)
from linkax.model.naming import suggestion
from linkax.model.placement import body_axis_quaternion


Table = dict[str, Any]

LISTS = ("body", "joint", "frame", "marker", "loop", "element", "motion")
TOP_KEYS = ("name", "allow_improper_inertia", "notes", "run", "world", *LISTS)
WORLD_KEYS = ("gravity",)
RUN_KEYS = tuple(f.name for f in dataclasses.fields(RunDescription))
BODY_KEYS = tuple(f.name for f in dataclasses.fields(BodyDescription))
JOINT_KEYS = (*(f.name for f in dataclasses.fields(JointDescription)), "limits")
FRAME_KEYS = tuple(f.name for f in dataclasses.fields(FrameDescription))
MARKER_KEYS = tuple(f.name for f in dataclasses.fields(MarkerDescription))
MIMIC_KEYS = tuple(f.name for f in dataclasses.fields(MimicDescription))
PLACEMENT_KEYS = ("position", "quaternion", "rpy")
SEQUENCES = (
    *("armature", "damping", "lower", "upper"),
    *("effort", "velocity", "position", "speed"),
)
UNIT_TOLERANCE = 1e-6


# --- reading ---


def read_toml(path) -> Description:
    """The description of a TOML file; a `ValueError` names the file and what is wrong in it."""
    source = Path(path)
    try:
        return parse_toml(source.read_bytes().decode("utf-8"), name=source.stem)
    except UnicodeDecodeError:
        raise ValueError(f"{source}: the file is not UTF-8 text, as TOML must be.") from None
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def parse_toml(text: str, name: str = "mechanism") -> Description:
    """The description of TOML text; `name` is used where the text gives none."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the TOML is malformed: {error}.") from None
    _check_keys(table, TOP_KEYS, "the file")
    lists = {key: _tables(table, key) for key in LISTS}
    world = _table(table, "world", WORLD_KEYS, "the file")
    return Description(
        name=_string(table, "name", "the file", name),
        bodies=[_body(t, i) for i, t in enumerate(lists["body"])],
        joints=[joint_of_table(t, _where("joint", i, t)) for i, t in enumerate(lists["joint"])],
        frames=[_frame(t, i) for i, t in enumerate(lists["frame"])],
        markers=[_marker(t, i) for i, t in enumerate(lists["marker"])],
        loops=lists["loop"],
        elements=lists["element"],
        motions=lists["motion"],
        gravity=_triple(world, "gravity", "[world]", Description().gravity),
        run=_run(_table(table, "run", RUN_KEYS, "the file")),
        notes=_strings(table, "notes"),
        allow_improper_inertia=_flag(table, "allow_improper_inertia"),
    )


def joint_of_table(table: Table, where: str) -> JointDescription:
    """The joint of a `[[joint]]` table, or of a `[[loop]]` one, which has the same fields."""
    _check_keys(table, JOINT_KEYS, where)
    joint = JointDescription(
        *(_required(table, key, where) for key in ("name", "type", "parent", "child")),
        parent_frame=placement_of_table(table, "parent_frame", where),
        child_frame=placement_of_table(table, "child_frame", where),
        axis=_optional_triple(table, "axis", where),
        axis2=_optional_triple(table, "axis2", where),
        pitch=_number(table, "pitch", where, 0.0),
        mimic=_mimic(table, where),
    )
    for key in SEQUENCES:
        setattr(joint, key, _sequence(table, key, where))
    if "limits" in table:
        if joint.lower is not None or joint.upper is not None:
            raise ValueError(f"{where} has both `limits` and `lower` or `upper`; give one of them.")
        limits = table["limits"]
        if not isinstance(limits, list) or len(limits) != 2:
            raise ValueError(f"{where} has limits={limits!r}, but limits are [lower, upper].")
        sides = {"lower": limits[0], "upper": limits[1]}
        joint.lower, joint.upper = (_sequence(sides, key, where) for key in sides)
    return joint


def placement_of_table(table: Table, key: str, where: str) -> Placement:
    """The placement under a key of a table; the identity where the key is missing."""
    frame = _table(table, key, PLACEMENT_KEYS, where)
    inside = f"{key} of {where}"
    position = _triple(frame, "position", inside, (0.0, 0.0, 0.0))
    if "rpy" not in frame and "quaternion" not in frame:
        return Placement(position)
    if "rpy" in frame and "quaternion" in frame:
        raise ValueError(f"{inside} has both `quaternion` and `rpy`; give one of them.")
    if "rpy" in frame:
        return Placement(position, body_axis_quaternion(_vector(frame, "rpy", 3, inside)))
    w, x, y, z = _vector(frame, "quaternion", 4, inside)
    length = math.hypot(w, x, y, z)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ValueError(
            f"{inside} has a quaternion (w, x, y, z) of length {length:.9g}, but it must be 1."
        )
    return Placement(position, (w, x, y, z))


def _body(table: Table, index: int) -> BodyDescription:
    where = _where("body", index, table)
    _check_keys(table, BODY_KEYS, where)
    return BodyDescription(
        _required(table, "name", where),
        _number(table, "mass", where, 0.0),
        _triple(table, "com", where, (0.0, 0.0, 0.0)),
        _inertia(table, where),
    )


def _inertia(table: Table, where: str) -> Matrix3:
    rows = table.get("inertia", [0.0, 0.0, 0.0])
    if not isinstance(rows, list) or len(rows) != 3:
        raise ValueError(f"{where} has inertia={rows!r}, but it is a 3x3 array or its diagonal.")
    if not any(isinstance(row, list) for row in rows):
        x, y, z = _numbers(rows, 3, f"{where} has inertia={rows!r}")
        return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))
    (a, b, c), (d, e, f), (g, h, i) = (
        _numbers(row, 3, f"{where} has inertia={rows!r}") for row in rows
    )
    return ((a, b, c), (d, e, f), (g, h, i))


def _frame(table: Table, index: int) -> FrameDescription:
    where = _where("frame", index, table)
    _check_keys(table, FRAME_KEYS, where)
    name, body = _required(table, "name", where), _required(table, "body", where)
    return FrameDescription(name, body, placement_of_table(table, "placement", where))


def _marker(table: Table, index: int) -> MarkerDescription:
    where = _where("marker", index, table)
    _check_keys(table, MARKER_KEYS, where)
    name, body = _required(table, "name", where), _required(table, "body", where)
    return MarkerDescription(name, body, _triple(table, "point", where, (0.0, 0.0, 0.0)))


def _mimic(table: Table, where: str) -> MimicDescription | None:
    if "mimic" not in table:
        return None
    mimic = _table(table, "mimic", MIMIC_KEYS, where)
    inside = f"mimic of {where}"
    return MimicDescription(
        _required(mimic, "leader", inside),
        _number(mimic, "ratio", inside, 1.0),
        _number(mimic, "offset", inside, 0.0),
    )


def _run(table: Table) -> RunDescription:
    run = RunDescription()
    for key in ("duration", "dt"):
        if key in table:
            setattr(run, key, _number(table, key, "[run]", 0.0))
    for key in ("integrator", "formulation", "load_evaluation"):
        if key in table:
            setattr(run, key, _string(table, key, "[run]", ""))
    if "save_every" in table:
        every = table["save_every"]
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise ValueError(f"[run] has save_every={every!r}, but it is a whole number from 1 on.")
        run.save_every = every
    return run


# --- keys and values ---


def _where(kind: str, index: int, table: Table) -> str:
    name = table.get("name")
    return f"{kind} `{name}`" if isinstance(name, str) else f"[[{kind}]] number {index + 1}"


def _check_keys(table: Table, valid: tuple[str, ...], where: str):
    for key in table:
        if key not in valid:
            raise ValueError(f"{where} has the unknown key `{key}`;{suggestion(key, valid)}")


def _tables(table: Table, key: str) -> list[Table]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"`{key}` is not a list of tables; write [[{key}]] before each.")
    return value


def _table(table: Table, key: str, valid: tuple[str, ...], where: str) -> Table:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(
            f"`{key}` of {where} is {value!r}, but it is a table of {', '.join(valid)}."
        )
    _check_keys(value, valid, f"`{key}` of {where}")
    return value


def _required(table: Table, key: str, where: str) -> str:
    if key not in table:
        raise ValueError(f"{where} has no `{key}`.")
    return _string(table, key, where, "")


def _string(table: Table, key: str, where: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"{where} has {key}={value!r}, but it is a string.")
    return value


def _strings(table: Table, key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"`{key}` is {value!r}, but it is a list of strings.")
    return value


def _flag(table: Table, key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"`{key}` is {value!r}, but it is true or false.")
    return value


def _number(table: Table, key: str, where: str, default: float) -> float:
    return _numbers([table.get(key, default)], 1, f"{where} has {key}={table.get(key)!r}")[0]


def _vector(table: Table, key: str, count: int, where: str) -> list[float]:
    return _numbers(table[key], count, f"{where} has {key}={table[key]!r}")


def _triple(table: Table, key: str, where: str, default: Triple) -> Triple:
    return _optional_triple(table, key, where) or default


def _optional_triple(table: Table, key: str, where: str) -> Triple | None:
    if key not in table:
        return None
    x, y, z = _vector(table, key, 3, where)
    return (x, y, z)


def _sequence(table: Table, key: str, where: str) -> float | tuple[float, ...] | None:
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, list):
        return tuple(_numbers(value, len(value), f"{where} has {key}={value!r}"))
    return _number(table, key, where, 0.0)


def _numbers(values, count: int, problem: str) -> list[float]:
    """Floats of a list of the right length; truth values are not numbers."""
    good = isinstance(values, list) and len(values) == count
    if not good or any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        raise ValueError(
            f"{problem}, but it is {'a number' if count == 1 else f'{count} numbers'}."
        )
    return [float(value) for value in values]


# --- writing ---


def write_toml(description: Description, path=None) -> str:
    """The description as TOML text, written to `path` as well if one is given; nothing is lost."""
    table: Table = {"name": description.name}
    if description.allow_improper_inertia:
        table["allow_improper_inertia"] = True
    if description.notes:
        table["notes"] = list(description.notes)
    if run := _filled(description.run):
        table["run"] = run
    table["world"] = {"gravity": _plain(description.gravity)}
    table["body"] = [_filled(body) for body in description.bodies]
    table["joint"] = [_joint_table(joint) for joint in description.joints]
    table["frame"] = [_with_placements(_filled(frame)) for frame in description.frames]
    table["marker"] = [_filled(marker) for marker in description.markers]
    table["loop"] = _plain(description.loops)
    table["element"] = _plain(description.elements)
    table["motion"] = _plain(description.motions)
    text = tomli_w.dumps({key: value for key, value in table.items() if value != []})
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def _joint_table(joint: JointDescription) -> Table:
    table = _with_placements(_filled(joint))
    if "lower" in table and "upper" in table:
        table["limits"] = [table.pop("lower"), table.pop("upper")]
    if joint.pitch == 0.0:
        table.pop("pitch")
    return table


def _with_placements(table: Table) -> Table:
    """Identity placements are left out: they are what a missing key means."""
    identity = _filled(Placement())
    return {key: value for key, value in table.items() if value != identity}


def _filled(item) -> Table:
    """The fields of a dataclass that hold something."""
    values = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return {key: _plain(value) for key, value in values.items() if value is not None}


def _plain(value):
    """Dataclasses as tables, sequences as lists, numbers as Python's."""
    if dataclasses.is_dataclass(value):
        return _filled(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _plain(value.tolist()) if hasattr(value, "tolist") else value

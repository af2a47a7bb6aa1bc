"""A mechanism in TOML is written by hand and read strictly: an unknown key is an error.

Tables: `[run]`, `[world]`, `[[body]]`, `[[joint]]`, `[[frame]]`, `[[marker]]`, `[[loop]]`, `[[drive]]`,
`[[element]]` and `[[motion]]`. The `type` of a loop, a drive or an element says which keys it has: those of
its dataclass in `linkax.model.description`. `[[motion]]` prescribes the coordinate of a `joint` or the
planar angle of a `body` as an `expression`: a table of `constant`, `ramp`, `sine` and `cosine`, the last
two a table or a list of tables of `amplitude`, `frequency` [Hz], `phase` [rad] and `offset`.

A `[[loop]]` is of a joint's type, and then closes a loop as that joint, or

- "distance": `body_a`, `point_a`, `body_b`, `point_b` stay `length` apart, by default their distance at the
  initial coordinates (or in so many words, `length = "initial"`);
- "coupling": the sum of `coefficients` times the coordinates that `joints` names, plus `offset` (default
  0; "initial" for what the initial coordinates meet), is zero;
- "velocity": of the velocity of frame M on `child` relative to frame F on `parent`, the components in F's
  axes that `locked` names ("wx" to "vz") are zero.

A `[[drive]]` is a "gear" (a rotor that turns `ratio` times the coordinate of `joint`, with `rotor_inertia`
about its axis) or a "differential" (as many `rotors`, tables each, as `joints`; rotor coordinates are
`matrix` times joint coordinates). Building replaces drives by rotors and couplings (`expand_drives`).

A frame is a table of `position` [m] and either `quaternion` (w, x, y, z) or `rpy` [rad], the turns
about x, the new y, the new z. `limits = [lower, upper]`, each a number or one number a coordinate.
An inertia is a 3x3 array or its diagonal. What `write_toml` writes, `read_toml` reads back as an
equal description.
"""

import dataclasses
import tomllib
from pathlib import Path

import tomli_w

from linkax.io.toml_elements import (
    element_of_table,
    motion_of_table,
    table_of_element,
    table_of_motion,
)
from linkax.io.toml_loops import (
    connection,
    drive_of_table,
    loop_of_table,
    table_of_drive,
    table_of_loop,
)
from linkax.io.toml_values import (
    Table,
    check_keys,
    filled,
    flag,
    number,
    numbers,
    placement_of_table,
    plain,
    required,
    sequence,
    string,
    strings,
    table_of,
    tables,
    triple,
    where_of,
    with_placements,
)
from linkax.model.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    MarkerDescription,
    Matrix3,
    MimicDescription,
    RunDescription,
)


LISTS = ("body", "joint", "frame", "marker", "loop", "drive", "element", "motion")
TOP_KEYS = ("name", "allow_improper_inertia", "notes", "run", "world", *LISTS)
WORLD_KEYS = ("gravity",)
RUN_KEYS = tuple(f.name for f in dataclasses.fields(RunDescription))
BODY_KEYS = tuple(f.name for f in dataclasses.fields(BodyDescription))
JOINT_KEYS = (*(f.name for f in dataclasses.fields(JointDescription)), "limits")
FRAME_KEYS = tuple(f.name for f in dataclasses.fields(FrameDescription))
MARKER_KEYS = tuple(f.name for f in dataclasses.fields(MarkerDescription))
MIMIC_KEYS = tuple(f.name for f in dataclasses.fields(MimicDescription))
SEQUENCES = (
    *("armature", "damping", "lower", "upper"),
    *("effort", "velocity", "position", "speed"),
)


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
    check_keys(table, TOP_KEYS, "the file")
    lists = {key: tables(table, key) for key in LISTS}
    world = table_of(table, "world", WORLD_KEYS, "the file")
    return Description(
        name=string(table, "name", "the file", name),
        bodies=[_body(t, i) for i, t in enumerate(lists["body"])],
        joints=[_joint(t, i) for i, t in enumerate(lists["joint"])],
        frames=[_frame(t, i) for i, t in enumerate(lists["frame"])],
        markers=[_marker(t, i) for i, t in enumerate(lists["marker"])],
        loops=[loop_of_table(t, i) for i, t in enumerate(lists["loop"])],
        drives=[drive_of_table(t, i) for i, t in enumerate(lists["drive"])],
        elements=[element_of_table(t, i) for i, t in enumerate(lists["element"])],
        motions=[motion_of_table(t, i) for i, t in enumerate(lists["motion"])],
        gravity=triple(world, "gravity", "[world]", Description().gravity),
        run=_run(table_of(table, "run", RUN_KEYS, "the file")),
        notes=strings(table, "notes"),
        allow_improper_inertia=flag(table, "allow_improper_inertia"),
    )


def _joint(table: Table, index: int) -> JointDescription:
    where = where_of("joint", index, table)
    check_keys(table, JOINT_KEYS, where)
    joint = connection(table, where)
    joint.mimic = _mimic(table, where)
    for key in SEQUENCES:
        setattr(joint, key, sequence(table, key, where))
    if "limits" in table:
        if joint.lower is not None or joint.upper is not None:
            raise ValueError(f"{where} has both `limits` and `lower` or `upper`; give one of them.")
        limits = table["limits"]
        if not isinstance(limits, list) or len(limits) != 2:
            raise ValueError(f"{where} has limits={limits!r}, but limits are [lower, upper].")
        sides = {"lower": limits[0], "upper": limits[1]}
        joint.lower, joint.upper = (sequence(sides, key, where) for key in sides)
    return joint


def _body(table: Table, index: int) -> BodyDescription:
    where = where_of("body", index, table)
    check_keys(table, BODY_KEYS, where)
    return BodyDescription(
        required(table, "name", where),
        number(table, "mass", where, 0.0),
        triple(table, "com", where, (0.0, 0.0, 0.0)),
        _inertia(table, where),
    )


def _inertia(table: Table, where: str) -> Matrix3:
    rows = table.get("inertia", [0.0, 0.0, 0.0])
    if not isinstance(rows, list) or len(rows) != 3:
        raise ValueError(f"{where} has inertia={rows!r}, but it is a 3x3 array or its diagonal.")
    if not any(isinstance(row, list) for row in rows):
        x, y, z = numbers(rows, 3, f"{where} has inertia={rows!r}")
        return ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))
    (a, b, c), (d, e, f), (g, h, i) = (
        numbers(row, 3, f"{where} has inertia={rows!r}") for row in rows
    )
    return ((a, b, c), (d, e, f), (g, h, i))


def _frame(table: Table, index: int) -> FrameDescription:
    where = where_of("frame", index, table)
    check_keys(table, FRAME_KEYS, where)
    name, body = required(table, "name", where), required(table, "body", where)
    return FrameDescription(name, body, placement_of_table(table, "placement", where))


def _marker(table: Table, index: int) -> MarkerDescription:
    where = where_of("marker", index, table)
    check_keys(table, MARKER_KEYS, where)
    name, body = required(table, "name", where), required(table, "body", where)
    return MarkerDescription(name, body, triple(table, "point", where, (0.0, 0.0, 0.0)))


def _mimic(table: Table, where: str) -> MimicDescription | None:
    if "mimic" not in table:
        return None
    mimic = table_of(table, "mimic", MIMIC_KEYS, where)
    inside = f"mimic of {where}"
    return MimicDescription(
        required(mimic, "leader", inside),
        number(mimic, "ratio", inside, 1.0),
        number(mimic, "offset", inside, 0.0),
    )


def _run(table: Table) -> RunDescription:
    run = RunDescription()
    for key in ("duration", "dt"):
        if key in table:
            setattr(run, key, number(table, key, "[run]", 0.0))
    for key in ("integrator", "formulation", "load_evaluation"):
        if key in table:
            setattr(run, key, string(table, key, "[run]", ""))
    if "save_every" in table:
        every = table["save_every"]
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise ValueError(f"[run] has save_every={every!r}, but it is a whole number from 1 on.")
        run.save_every = every
    return run


# --- writing ---


def write_toml(description: Description, path=None) -> str:
    """The description as TOML text, written to `path` as well if one is given; nothing is lost."""
    table: Table = {"name": description.name}
    if description.allow_improper_inertia:
        table["allow_improper_inertia"] = True
    if description.notes:
        table["notes"] = list(description.notes)
    if run := filled(description.run):
        table["run"] = run
    table["world"] = {"gravity": plain(description.gravity)}
    table["body"] = [filled(body) for body in description.bodies]
    table["joint"] = [_joint_table(joint) for joint in description.joints]
    table["frame"] = [with_placements(filled(frame)) for frame in description.frames]
    table["marker"] = [filled(marker) for marker in description.markers]
    table["loop"] = [
        _joint_table(loop) if isinstance(loop, JointDescription) else table_of_loop(loop)
        for loop in description.loops
    ]
    table["drive"] = [table_of_drive(drive) for drive in description.drives]
    table["element"] = [table_of_element(element) for element in description.elements]
    table["motion"] = [table_of_motion(motion) for motion in description.motions]
    text = tomli_w.dumps({key: value for key, value in table.items() if value != []})
    if path is not None:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def _joint_table(joint: JointDescription) -> Table:
    table = with_placements(filled(joint))
    if "lower" in table and "upper" in table:
        table["limits"] = [table.pop("lower"), table.pop("upper")]
    if joint.pitch == 0.0:
        table.pop("pitch")
    return table

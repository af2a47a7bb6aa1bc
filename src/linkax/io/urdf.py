"""A URDF file is read as it is written: only what it says moves, and what is not honoured is noted.

Defaults are those of the format: origins are identities, the axis of a moving joint is x, a missing
<inertial> means zero mass, `continuous` joints have no bounds. `rpy` turns about fixed x, y, z.
A revolute or prismatic joint with neither `lower` nor `upper` is unlimited, not locked. Shapes are
never read and meshes never opened. A root link called "world" is the ground; any other root link
becomes a body without a joint, which `with_root` then attaches to the ground.

Source: the format's specification, wiki.ros.org/urdf/XML.
"""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from linkax.model.description import (
    GROUND,
    BodyDescription,
    Description,
    JointDescription,
    Matrix3,
    MimicDescription,
    Placement,
    Triple,
)
from linkax.model.naming import repeated, suggestion
from linkax.model.placement import fixed_axis_quaternion, rotation_matrix, unit_quaternion
from linkax.model.tree import check_tree


TYPES = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "floating",
    "planar": "planar",
}
WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
WITH_LIMITS = ("revolute", "prismatic")
SHAPES = ("visual", "collision")
LINK_TAGS = ("inertial", *SHAPES)
JOINT_TAGS = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")
ROBOT_TAGS = ("link", "joint", "material")  # a material colours shapes and nothing else

UNEXPANDED = "this is xacro source; expand it first, for instance with `xacro in.xacro > out.urdf`."
LOOP_HINT = "URDF describes trees only; remove the joint that closes the loop from the file."

Notes = dict[str, list[str]]


def read_urdf(path) -> Description:
    """The description of a URDF file; a `ValueError` names the file and what is wrong in it."""
    source = Path(path)
    try:
        return parse_urdf(source.read_bytes(), name=source.stem)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None


def parse_urdf(text: str | bytes, name: str = "robot") -> Description:
    """The description of URDF text; `name` is used where the text names no robot."""
    root = _robot_element(text)
    links = [(_name_of(element, "link"), element) for element in root.findall("link")]
    joints = [(_name_of(element, "joint"), element) for element in root.findall("joint")]
    if not links:
        # Only the declaration of the namespace tells an unexpanded file without any macro call.
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        hint = f"; {UNEXPANDED}" if "xmlns:xacro" in plain else "."
        raise ValueError(f"<robot> contains no <link>{hint}")
    for noun, items in (("links", links), ("joints", joints)):
        if twice := repeated(item for item, _ in items):
            raise ValueError(f"Two {noun} are called `{twice}`; names must be unique.")
    notes: Notes = {}
    for element in root:
        if element.tag not in ROBOT_TAGS:
            _note(notes, f"<{element.tag}> is not honoured", element.get("name", ""))

    bodies = [_body(link, element, notes) for link, element in links]
    link_names = [link for link, _ in links]
    joint_names = [joint for joint, _ in joints]
    description = Description(
        name=root.get("name") or name,
        bodies=[body for body in bodies if body.name != GROUND],
        joints=[_joint(joint, element, link_names, notes) for joint, element in joints],
    )
    for joint in description.joints:
        _drop_mimic_of_nothing(joint, joint_names, notes)
    _check_ground(bodies, notes)
    _check_roots(description, link_names)
    description.allow_improper_inertia = True
    description.notes = [_sentence(text, names) for text, names in notes.items()]
    return description


def _robot_element(text: str | bytes) -> ET.Element:
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if "<xacro:" in plain:
            raise ValueError(UNEXPANDED) from None
        raise ValueError(f"the XML is malformed: {error}.") from None
    if root.tag != "robot":
        raise ValueError(f"the root element is <{root.tag}>, but a URDF file has <robot>.")
    if any("xacro}" in element.tag for element in root.iter() if isinstance(element.tag, str)):
        raise ValueError(UNEXPANDED)
    for part in [*root.findall("link"), *root.findall("joint")]:
        for element in part.iter():
            if any("${" in value for value in element.attrib.values()):
                raise ValueError(UNEXPANDED)
    return root


# --- links ---


def _body(name: str, element: ET.Element, notes: Notes) -> BodyDescription:
    for child in element:
        if child.tag in SHAPES:
            _note(notes, "Shapes (<visual>, <collision>) are not read, no mesh is opened", name)
        elif child.tag not in LINK_TAGS:
            _note(notes, f"<{child.tag}> of a link is not honoured", name)
    where = f"Link `{name}`"
    inertial = _single(element, "inertial", where)
    if inertial is None:
        return BodyDescription(name)
    mass = _single(inertial, "mass", where)
    inertia = _single(inertial, "inertia", where)
    if mass is None or inertia is None:
        missing = "mass" if mass is None else "inertia"
        raise ValueError(f"{where} has an <inertial> without <{missing}>.")
    placement = _origin(inertial, where)
    return BodyDescription(
        name,
        _number(mass, "value", where),
        placement.position,
        _turned(_tensor(inertia, where), placement),
    )


def _tensor(element: ET.Element, where: str) -> np.ndarray:
    xx, yy, zz = (_number(element, key, where) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (_number(element, key, where, default=0.0) for key in ("ixy", "ixz", "iyz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _turned(tensor: np.ndarray, placement: Placement) -> Matrix3:
    """The tensor in link axes; it stays about the centre of mass."""
    if placement.quaternion != (1.0, 0.0, 0.0, 0.0):
        rotation = rotation_matrix(placement.quaternion)
        tensor = rotation @ tensor @ rotation.T
        tensor = 0.5 * (tensor + tensor.T)
    a, b, c = (tuple(row) for row in tensor.tolist())
    return (a, b, c)


# --- joints ---


def _joint(name: str, element: ET.Element, links: list[str], notes: Notes) -> JointDescription:
    where = f"Joint `{name}`"
    kind = element.get("type")
    if kind not in TYPES:
        raise ValueError(
            f"{where} has type `{kind}`, which is not supported;{suggestion(kind, TYPES)}"
        )
    for child in element:
        if child.tag not in JOINT_TAGS:
            _note(notes, f"<{child.tag}> of a joint is not honoured", name)
    ends = {end: _end(element, end, links, where) for end in ("parent", "child")}
    joint = JointDescription(
        name, TYPES[kind], ends["parent"], ends["child"], parent_frame=_origin(element, where)
    )
    if kind in WITH_AXIS:
        joint.axis = _axis(element, where)
    _read_limits(joint, element, kind, notes)
    _read_dynamics(joint, element, notes)
    _read_mimic(joint, element, notes)
    return joint


def _end(element: ET.Element, end: str, links: list[str], where: str) -> str:
    tag = _single(element, end, where)
    link = None if tag is None else tag.get("link")
    if link is None:
        raise ValueError(f'{where} has no <{end} link="...">.')
    if link not in links:
        raise ValueError(f"{where} has {end} `{link}`, which is no link;{suggestion(link, links)}")
    return link


def _axis(element: ET.Element, where: str) -> Triple:
    axis = _single(element, "axis", where)
    if axis is None:
        return (1.0, 0.0, 0.0)
    x, y, z = _triple(axis, "xyz", where)
    length = math.hypot(x, y, z)
    if length == 0.0:
        raise ValueError(f"{where} moves, but its axis is zero; give it a direction, like 0 0 1.")
    return (x / length, y / length, z / length)


def _read_limits(joint: JointDescription, element: ET.Element, kind: str, notes: Notes):
    where = f"Joint `{joint.name}`"
    limit = _single(element, "limit", where)
    bounds = {}
    if limit is not None:
        bounds = {
            key: _number(limit, key, where) for key in ("lower", "upper") if key in limit.attrib
        }
        if kind != "fixed":
            joint.effort = _optional(limit, "effort", where)
            joint.velocity = _optional(limit, "velocity", where)
    if kind not in WITH_LIMITS:
        if bounds and kind != "fixed":
            _note(notes, f"Position bounds of {kind} joints are not honoured", joint.name)
    elif not bounds:
        _note(notes, "Joints without position bounds are unlimited", joint.name)
    else:
        joint.lower, joint.upper = bounds.get("lower", 0.0), bounds.get("upper", 0.0)


def _read_dynamics(joint: JointDescription, element: ET.Element, notes: Notes):
    where = f"Joint `{joint.name}`"
    dynamics = _single(element, "dynamics", where)
    if dynamics is None or joint.type == "fixed":
        return
    joint.damping = _optional(dynamics, "damping", where)
    if _optional(dynamics, "friction", where):
        _note(notes, "Joint friction is not honoured", joint.name)


def _read_mimic(joint: JointDescription, element: ET.Element, notes: Notes):
    where = f"Joint `{joint.name}`"
    mimic = _single(element, "mimic", where)
    if mimic is None:
        return
    if joint.type == "fixed":
        _note(notes, "<mimic> on a fixed joint has no effect", joint.name)
        return
    leader = mimic.get("joint")
    if leader is None:
        raise ValueError(f'{where} has a <mimic> without joint="...".')
    joint.mimic = MimicDescription(
        leader,
        _number(mimic, "multiplier", where, default=1.0),
        _number(mimic, "offset", where, default=0.0),
    )


def _drop_mimic_of_nothing(joint: JointDescription, names: list[str], notes: Notes):
    """Published robots hold such leftovers; refusing them would lose the robot."""
    if joint.mimic is not None and joint.mimic.leader not in names:
        _note(notes, "<mimic> of a joint that does not exist leaves the joint free", joint.name)
        joint.mimic = None


# --- the whole ---


def _check_ground(bodies: list[BodyDescription], notes: Notes):
    for body in bodies:
        if body.name == GROUND and body.mass != 0.0:
            _note(notes, "The root link is the ground, so its mass is not honoured", body.name)


def _check_roots(description: Description, links: list[str]):
    children = {joint.child for joint in description.joints}
    roots = [link for link in links if link not in children]
    if len(roots) > 1:
        listed = ", ".join(f"`{root}`" for root in roots)
        raise ValueError(
            f"The file has {len(roots)} root links ({listed}), but a robot has one; "
            "join the others to it, by fixed joints if they do not move."
        )
    check_tree(description, noun="Link", hint=LOOP_HINT)


# --- elements and attributes ---


def _single(element: ET.Element, tag: str, where: str) -> ET.Element | None:
    found = element.findall(tag)
    if len(found) > 1:
        raise ValueError(f"{where} has {len(found)} <{tag}> elements, but at most one is allowed.")
    return found[0] if found else None


def _name_of(element: ET.Element, tag: str) -> str:
    name = element.get("name")
    if not name:
        raise ValueError(f"A <{tag}> has no name.")
    return name


def _origin(element: ET.Element, where: str) -> Placement:
    origin = _single(element, "origin", where)
    if origin is None:
        return Placement()
    position = _triple(origin, "xyz", where)
    if "quat_xyzw" in origin.attrib:
        x, y, z, w = _numbers(origin, "quat_xyzw", 4, where)
        if not any((x, y, z, w)):
            raise ValueError(f"{where} has quat_xyzw of zero length.")
        return Placement(position, unit_quaternion((w, x, y, z)))
    return Placement(position, fixed_axis_quaternion(_triple(origin, "rpy", where)))


def _triple(element: ET.Element, key: str, where: str) -> Triple:
    if key not in element.attrib:
        return (0.0, 0.0, 0.0)
    x, y, z = _numbers(element, key, 3, where)
    return (x, y, z)


def _number(element: ET.Element, key: str, where: str, default: float | None = None) -> float:
    if key in element.attrib:
        return _numbers(element, key, 1, where)[0]
    if default is None:
        raise ValueError(f"{where} has a <{element.tag}> without {key}.")
    return default


def _optional(element: ET.Element, key: str, where: str) -> float | None:
    return _number(element, key, where) if key in element.attrib else None


def _numbers(element: ET.Element, key: str, count: int, where: str) -> list[float]:
    text = element.attrib[key]
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or not all(math.isfinite(value) for value in values):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise ValueError(f'{where} has <{element.tag} {key}="{text}">, but {key} is {wanted}.')
    return values


def _note(notes: Notes, sentence: str, name: str):
    names = notes.setdefault(sentence, [])
    if name not in names:
        names.append(name)


def _sentence(text: str, names: list[str], shown: int = 3) -> str:
    named = [name for name in names if name]
    if not named:
        return f"{text}."
    rest = f" and {len(named) - shown} more" if len(named) > shown else ""
    return f"{text}: {', '.join(named[:shown])}{rest}."

"""A file is read by what it is called and, where the ending leaves it open, by its root element."""

import xml.etree.ElementTree as ET
from pathlib import Path

from linkax.io.toml import read_toml
from linkax.io.urdf import UNEXPANDED, read_urdf
from linkax.model.description import Description


SUFFIXES = (".urdf", ".toml", ".xml")


def describe(path) -> Description:
    """The mechanism a file describes, as plain data: .urdf, .toml, and .xml that holds a robot.

    `FileNotFoundError` where there is no such file; `ValueError`, one sentence that begins with the
    path, for a file that is not what its ending promises.
    """
    source = Path(path)
    if not source.exists():
        raise FileNotFoundError(f"{source}: there is no such file.")
    if source.is_dir():
        raise ValueError(f"{source}: this is a folder; name a file in it.")
    suffix = source.suffix.lower()
    if suffix == ".toml":
        return read_toml(source)
    if suffix in (".urdf", ".xml"):
        if _root_tag(source) == "mujoco":
            raise ValueError(f"{source}: MJCF is not read yet; give a .urdf or .toml file.")
        return read_urdf(source)
    if suffix == ".xacro":
        raise ValueError(f"{source}: {UNEXPANDED}")
    raise ValueError(f"{source}: the ending is `{suffix}`, but valid are {', '.join(SUFFIXES)}.")


def _root_tag(source: Path) -> str | None:
    """The tag of the root element, None where the XML breaks before it."""
    try:
        with source.open("rb") as stream:
            for _, element in ET.iterparse(stream, events=("start",)):
                return element.tag
    except ET.ParseError:
        pass
    return None

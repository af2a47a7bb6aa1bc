"""The published robots that the sweep is about, found where Python finds its packages."""

from importlib.util import find_spec
from pathlib import Path


def folder() -> Path | None:
    """The robots of example-robot-data, or None where the package is not installed."""
    spec = find_spec("cmeel")
    for place in () if spec is None else spec.submodule_search_locations or ():
        found = Path(place).parent / "cmeel.prefix/share/example-robot-data/robots"
        if found.is_dir():
            return found
    return None


def robots() -> list[Path]:
    """All URDF files of the collection, sorted; empty where it is not installed."""
    root = folder()
    return [] if root is None else sorted(root.glob("**/*.urdf"))


def title(path: Path) -> str:
    """A name that tells files of one stem apart: `anymal_c_simple_description/anymal`."""
    root = folder()
    top = path.relative_to(root).parts[0] if root else path.parent.name
    return f"{top}/{path.stem}"

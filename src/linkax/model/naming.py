"""An unknown name is answered with the names it may have been meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name, names: Iterable[str]) -> str:
    """The end of an error sentence: near matches of `name`, or all names if none is near."""
    valid = list(dict.fromkeys(names))
    near = get_close_matches(str(name), valid, n=3)
    if near:
        return f" did you mean {_either(near)}?"
    if not valid:
        return " there are none."
    rest = f" and {len(valid) - 12} more" if len(valid) > 12 else ""
    return f" valid are {', '.join(f'`{item}`' for item in valid[:12])}{rest}."


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs a second time, or None."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _either(names: list[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)

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


def index_of(kind: str, name: str | int, names: tuple[str, ...]) -> int:
    """The index of a name, or an index in range as it is; the error says which there are."""
    if isinstance(name, int):
        if not 0 <= name < len(names):
            raise ValueError(
                f"There is no {kind} {name}: indices run from 0 to {len(names) - 1} (ground is -1)."
            )
        return name
    if name in names:
        return names.index(name)
    near = get_close_matches(name, names, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names[:12])}."
    raise ValueError(f"There is no {kind} `{name}`; {hint}")

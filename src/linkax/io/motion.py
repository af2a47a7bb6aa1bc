"""Tables over time as OpenSim's storage files (.sto, .mot) have them: a head, then columns of numbers.

The head gives the table a name, the numbers of rows and columns, and whether angles are in degrees; it ends
with `endheader`. A line of names follows, `time` first, then a line of numbers a point. Numbers are written
so that they are read back to the bit, angles in degrees too: those have more digits than a float64 holds and
are converted as decimal numbers.
"""

import decimal
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


# Seventeen digits tell float64 numbers apart; a product with a rounded pi needs a few more.
_DIGITS = decimal.Context(prec=24)
_DEGREE = decimal.Decimal("0.017453292519943295769236907684886127134428718885")  # [rad]
_DEGREES = {"yes": True, "no": False}


class Motion(NamedTuple):
    """Columns of numbers at increasing times; angles in radians."""

    time: Float[np.ndarray, " points"]  # [s]
    names: tuple[str, ...]
    values: Float[np.ndarray, "points columns"]
    name: str = "motion"

    def column(self, name: str) -> Float[np.ndarray, " points"]:
        """One column by name."""
        if name not in self.names:
            raise ValueError(f"There is no column `{name}`; there are {', '.join(self.names)}.")
        return self.values[:, self.names.index(name)]


def write_motion(
    path: str | os.PathLike[str],
    motion: Motion,
    degrees: bool = False,
    angles: Collection[str] = (),
) -> Path:
    """Write a table to `path` and return it.

    Args:
        path: ends in .sto or .mot as a rule; the folder must exist.
        motion: what to write.
        degrees: whether the file has its angles in degrees.
        angles: names of the columns that are angles or their rates [rad, rad/s].

    Raises:
        ValueError: for shapes that do not fit, times that do not increase, names that the format cannot hold.
    """
    _check(motion)
    turned = _among(motion.names, angles, degrees)
    rows = (
        "\t".join([repr(float(t)), *map(_text, row.tolist(), turned)])
        for t, row in zip(motion.time, motion.values, strict=True)
    )
    head = (
        motion.name,
        "version=1",
        f"nRows={len(motion.time)}",
        f"nColumns={1 + len(motion.names)}",
        f"inDegrees={'yes' if degrees else 'no'}",
        "endheader",
        "\t".join(["time", *motion.names]),
    )
    path = Path(path)
    path.write_text("\n".join([*head, *rows]) + "\n", encoding="utf-8")
    return path


def read_motion(path: str | os.PathLike[str], angles: Collection[str] = ()) -> Motion:
    """The table of a .sto or .mot file.

    Args:
        path: the file.
        angles: names of the columns that are angles or their rates; where the file is in degrees they are
            converted to radians.

    Raises:
        ValueError: naming the file, the line and what is wrong there.
    """
    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    ends = [i for i, line in enumerate(lines) if line.strip().lower() == "endheader"]
    if not ends or len(lines) < ends[0] + 2:
        raise ValueError(
            f"{path}: this is no storage file: it has no line `endheader` before its columns."
        )
    head, start = lines[: ends[0]], ends[0] + 1
    said: dict[str, str] = {}
    for line in head:
        key, equals, value = line.partition("=")
        if equals:
            said[key.strip()] = value.strip()
    flag = said.get("inDegrees", "no").lower()
    if flag not in _DEGREES:
        raise ValueError(f"{path}: `inDegrees` is {flag}, but must be yes or no.")
    names = [name for name in lines[start].split() if name]
    if not names or names[0] != "time":
        raise ValueError(
            f"{path}: line {start + 1} names the columns, and the first must be `time`."
        )
    turned = _among(tuple(names[1:]), angles, _DEGREES[flag])
    table = [
        _numbers(path, i + 1, line, len(names), (False, *turned))
        for i, line in enumerate(lines[start + 1 :], start + 1)
        if line.strip()
    ]
    _check_count(path, said, "nRows", len(table))
    _check_count(path, said, "nColumns", len(names))
    numbers = np.asarray(table, float).reshape(len(table), len(names))
    title = head[0].strip() if head and "=" not in head[0] else "motion"
    return Motion(numbers[:, 0], tuple(names[1:]), numbers[:, 1:], title)


def _among(names: tuple[str, ...], angles: Collection[str], degrees: bool) -> tuple[bool, ...]:
    """Which columns are to be converted."""
    wanted = {angles} if isinstance(angles, str) else set(angles)
    if unknown := sorted(wanted - set(names)):
        raise ValueError(f"There is no column `{unknown[0]}`; there are {', '.join(names)}.")
    return tuple(degrees and name in wanted for name in names)


def _text(x: float, turned: bool) -> str:
    if not turned or not np.isfinite(x):
        return repr(x)
    return str(_DIGITS.divide(decimal.Decimal(x), _DEGREE))


def _numbers(path: Path, line: int, text: str, count: int, turned: tuple[bool, ...]) -> list[float]:
    words = text.split()
    if len(words) != count:
        raise ValueError(f"{path}: line {line} has {len(words)} numbers for {count} columns.")
    try:
        return [_number(word, flag) for word, flag in zip(words, turned, strict=True)]
    except (ValueError, decimal.InvalidOperation) as error:
        raise ValueError(f"{path}: line {line} holds something that is no number.") from error


def _number(word: str, turned: bool) -> float:
    if not turned or not np.isfinite(float(word)):
        return float(word)
    return float(_DIGITS.multiply(decimal.Decimal(word), _DEGREE))


def _check_count(path: Path, said: dict[str, str], key: str, found: int) -> None:
    if key in said and said[key] != str(found):
        raise ValueError(f"{path}: the head says {key}={said[key]}, but there are {found}.")


def _check(motion: Motion) -> None:
    points, columns = np.shape(motion.values)
    if np.shape(motion.time) != (points,) or columns != len(motion.names):
        raise ValueError(
            f"A table of {len(motion.names)} names and {len(motion.time)} times has values of shape "
            f"({len(motion.time)}, {len(motion.names)}), but they are of shape {np.shape(motion.values)}."
        )
    if not np.all(np.diff(motion.time) > 0.0):
        raise ValueError("Times must increase from row to row.")
    for name in motion.names:
        if not name or len(name.split()) != 1 or name == "time":
            raise ValueError(
                f"A column cannot be called {name!r}: names are single words other than `time`."
            )
    if len(set(motion.names)) != len(motion.names):
        raise ValueError("Two columns have the same name; names must be unique.")
    if not motion.name or "\n" in motion.name or "=" in motion.name:
        raise ValueError(
            f"A table cannot be called {motion.name!r}: its name is a line without `=`."
        )

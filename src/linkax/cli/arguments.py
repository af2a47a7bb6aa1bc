"""What subcommands share: bad input as one sentence, values checked as they are read, the file."""

import argparse
import contextlib
import dataclasses
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from linkax.io import describe
from linkax.model import Description, with_root
from linkax.model.naming import suggestion
from linkax.system import System, build


class BadInput(Exception):
    """The user can mend it: `main` prints the sentence and exits with status 2."""


@contextlib.contextmanager
def input_errors(prefix: str = "") -> Iterator[None]:
    """Errors of reading and building become `BadInput`; those of a program's own faults pass."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise BadInput(prefix + in_shell_words(_sentence(error))) from error


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def in_shell_words(sentence: str) -> str:
    """Python keywords of a message as the options that the shell has for them."""
    return re.sub(r'\b(root|massless|formulation)="(\w+)"', r"--\1 \2", sentence)


# --- values ---


def one_of(names: Iterable[str], noun: str) -> Callable[[str], str]:
    """A reader of one of the names; an unknown one is answered with near matches."""
    valid = tuple(names)

    def read(text: str) -> str:
        if text not in valid:
            near = [name for name in valid if _letters(text) in _letters(name)]
            hint = suggestion(near[0] if near else text, near or valid)
            raise argparse.ArgumentTypeError(f"there is no {noun} `{text}`;{hint}")
        return text

    return read


def _letters(name: str) -> str:
    """What is left of a name when case and hyphens do not count: RungeKutta4 is runge-kutta4."""
    return name.lower().replace("-", "").replace("_", "") or "-"


def positive_number(unit: str) -> Callable[[str], float]:
    """A reader of finite numbers above zero."""
    return _number(lambda x: x > 0.0, f"a positive number of {unit}")


def number_from_zero(unit: str) -> Callable[[str], float]:
    """A reader of finite numbers from zero on."""
    return _number(lambda x: x >= 0.0, f"a number of {unit} from zero on")


def _number(good: Callable[[float], bool], wanted: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and good(value)):
            raise argparse.ArgumentTypeError(f"the value is `{text}`, but it must be {wanted}.")
        return value

    return read


def whole_number(least: int) -> Callable[[str], int]:
    """A reader of integers from `least` on."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(
                f"the value is `{text}`, but it must be a whole number from {least} on."
            )
        return value

    return read


def output_file(suffixes: tuple[str, ...]) -> Callable[[str], Path]:
    """A reader of paths that can be written: better to learn before a long run than after it."""

    def read(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in suffixes:
            raise argparse.ArgumentTypeError(
                f"the file is `{text}`, but its ending must be {' or '.join(suffixes)}."
            )
        if problem := unwritable(path):
            raise argparse.ArgumentTypeError(problem)
        return path

    return read


def unwritable(path: Path) -> str | None:
    """Why a file cannot be written, as a sentence that begins with it, or None if it can."""
    if not path.parent.is_dir():
        return f"`{path}` cannot be written: the folder {path.parent} does not exist."
    if path.is_dir():
        return f"`{path}` cannot be written: it is a folder."
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return f"`{path}` cannot be written: its permissions forbid it."
    return None


# --- the mechanism ---


@dataclasses.dataclass(frozen=True)
class Machine:
    """A file, what it says, and what was built from it."""

    path: Path
    description: Description
    system: System


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how a file becomes a system."""
    parser.add_argument(
        "--root",
        type=one_of(("fixed", "floating"), "root"),
        default="fixed",
        metavar="fixed|floating",
        help="how a robot without a joint to the ground is attached to it (default: fixed)",
    )
    parser.add_argument(
        "--massless",
        type=one_of(("error", "weld"), "policy for massless links"),
        default="error",
        metavar="error|weld",
        help="what becomes of joints that move no inertia: refused, or held (default: error)",
    )


def add_precision_option(parser: argparse.ArgumentParser) -> None:
    """The option that chooses single or double precision."""
    parser.add_argument(
        "--precision",
        type=one_of(("f32", "f64"), "precision"),
        default="f64",
        metavar="f32|f64",
        help="single or double precision (default: f64)",
    )


def read_machine(
    path: str, root: str, massless: str = "error", formulation: str | None = None
) -> Machine:
    """The system of a file; the file's own formulation, or a tree, where none is asked for."""
    with input_errors():
        description = describe(path)
    with input_errors(f"{path}: "):
        chosen = formulation or description.run.formulation or "tree"
        system = build(with_root(description, root), chosen, massless)
    return Machine(Path(path), description, system)

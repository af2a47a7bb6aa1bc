"""`linkax simulate | info | check | view | bench`: the shell's door, and how it says no.

Exit status 0: done. 2: bad input. 3: a solve failed, its results are written all the same. 2 and 3
come with one sentence on standard error; only a fault of the program itself shows a traceback.
"""

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from linkax.cli import bench, check, info, simulate, view
from linkax.cli.arguments import BadInput
from linkax.model.naming import suggestion


COMMANDS: dict[str, ModuleType] = {
    "simulate": simulate,
    "info": info,
    "check": check,
    "view": view,
    "bench": bench,
}


class _Parser(argparse.ArgumentParser):
    """Errors are bad input like any other: no usage text in front, no exit from inside."""

    def error(self, message: str) -> NoReturn:
        """Raises instead of exiting."""
        sentence = message.removeprefix("argument ")
        raise BadInput(sentence if sentence.endswith((".", "?")) else f"{sentence}.")


def _parser() -> _Parser:
    from linkax import __version__

    parser = _Parser(
        prog="linkax",
        description="Rigid-multibody dynamics from the shell.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"linkax {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS.values():
        module.add_parser(subparsers)
    return parser


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise BadInput(f"There is no command `{argv[0]}`;{suggestion(argv[0], COMMANDS)}")
    parser = _parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        # An unknown option comes with its value; the option is what is wrong.
        first = next((word for word in unknown if word.startswith("-")), unknown[0])
        raise BadInput(_unknown_word(first, argv[0]))
    return arguments


def _unknown_word(word: str, command: str) -> str:
    if not word.startswith("-"):
        return f"`{word}` is one word too many for `linkax {command}`."
    options = argparse.ArgumentParser(add_help=False)
    subparsers = options.add_subparsers()
    COMMANDS[command].add_parser(subparsers)
    known = subparsers.choices[command]._option_string_actions
    name = word.partition("=")[0]
    return f"`linkax {command}` has no option `{name}`;{suggestion(name, known)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = _parsed(words)
        return arguments.command(arguments)
    except BadInput as error:
        print(f"linkax: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("linkax: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

"""Rows of words as aligned columns of plain text."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], indent: str = "  ") -> str:
    """Columns as wide as their widest word; numbers keep to the right, words to the left."""
    body = [list(row) for row in rows]
    columns = list(zip(header, *body, strict=True))
    widths = [max(len(word) for word in column) for column in columns]
    right = [all(_is_number(word) for word in column[1:]) for column in columns]

    def line(words: Sequence[str]) -> str:
        cells = [
            word.rjust(width) if number else word.ljust(width)
            for word, width, number in zip(words, widths, right, strict=True)
        ]
        return (indent + "  ".join(cells)).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, body)])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return word == ""
    return True

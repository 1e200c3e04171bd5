"""Text laid out for a width: paragraphs with an indent, tables whose last column wraps, and long texts cut in the middle.

Whatever comes in may hold anything. It is made printable here, before its width is counted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from harness.printable import printable
from harness.reading.model import Cell

NARROWEST, WIDEST = 40, 160
LONGEST_TEXT = 900
"""Characters of a text that is shown whole."""

_HEAD, _TAIL = 600, 250
_WIDEST_COLUMN = 40
"""Characters of a column that is not the last."""

_GAP = "  "
_LONGEST_LINE = 10_000
"""Characters of a line that is broken between words."""


def cut(text: str, most: int = LONGEST_TEXT) -> str:
    """A long text without its middle, and with the number of characters that it lacks."""
    if len(text) <= most:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}\n[... {left_out:,} characters left out ...]\n{text[-_TAIL:]}"


def paragraph(text: str, width: int, indent: str = "", first: str | None = None) -> Iterator[str]:
    """The lines of a text, wrapped to a width; `first` stands before the first line instead of the indent."""
    before = indent if first is None else first
    for line in printable(text).expandtabs(4).split("\n"):
        room = max(NARROWEST // 2, width - max(len(before), len(indent)))
        for part in _wrapped(line, room):
            yield (before + part).rstrip()
            before = indent


def _wrapped(line: str, room: int) -> list[str]:
    if len(line) <= room:
        return [line]
    if len(line) > _LONGEST_LINE:
        # looking for words takes the square of the time in a line without any
        return [line[place : place + room] for place in range(0, len(line), room)]
    leading = " " * min(len(line) - len(line.lstrip(" ")), room // 2)
    return textwrap.wrap(
        line.lstrip(" "), room, initial_indent=leading, subsequent_indent=leading, break_on_hyphens=False, tabsize=4
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, *, whole: bool = False) -> Iterator[str]:
    """Rows under their columns' names; numbers stand to the right, the last column wraps in what is left of the width."""
    shown = [[_cell(value, whole=whole or number < len(columns) - 1) for number, value in enumerate(row)] for row in rows]
    numeric = [all(isinstance(row[place], int | float | None) for row in rows) for place in range(len(columns))]
    places = range(len(columns) - 1)
    widths = [min(_WIDEST_COLUMN, max([len(columns[place]), *(len(row[place]) for row in shown)])) for place in places]
    last = max([len(columns[-1]), *(len(row[-1]) for row in shown)])
    widths = _squeezed(widths, width - min(last, width // 3))
    for row in [list(columns), *shown]:
        before = "".join(_placed(row[place], size, right=numeric[place]) + _GAP for place, size in enumerate(widths))
        yield from paragraph(row[-1], width, " " * len(before), before)


def _squeezed(widths: list[int], room: int) -> list[int]:
    """The widest columns made narrower until all fit."""
    while sum(widths) + len(_GAP) * len(widths) > room and max(widths, default=0) > 8:
        widths[widths.index(max(widths))] -= 1
    return widths


def _placed(text: str, size: int, *, right: bool) -> str:
    short = text if len(text) <= size else text[: size - 2] + ".."
    return short.rjust(size) if right else short.ljust(size)


def _cell(value: Cell, *, whole: bool) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:g}"
    text = printable(str(value))
    return text.replace("\n", " ") if whole else cut(text).replace("\n", " ")

"""Plain-text tables in aligned columns, identical on a terminal and in a pipe; names are never broken.

1. A row is one line if it fits the width. Otherwise (`parley.tables`), long texts are wrapped at blanks first, down to a
minimum width.
2. If that is not enough, the columns are stacked in blocks, and each block begins with the columns that name its rows.
3. A word is cut only if it is wider than the whole width. Columns of numbers are right-aligned.

Programs read --json and --csv. A table printed beside a JSON document goes to stderr.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from harness.output import people
from harness.plugins import optional
from harness.sanitize import printable

GAP = "  "
_NUMBER = re.compile(r"[-+<>$]?\d[\d.,]*(\.\.[-+]?\d[\d.,]*)?( ?%| \(\d+ %\))?|-|")

Rows = Sequence[Sequence[str]]


class TextLine(NamedTuple):
    """Line of a table; `is_head` is true for the line of column names."""

    text: str
    is_head: bool


def laid_out(header: Sequence[str], rows: Rows, width: int | None) -> Iterator[TextLine]:
    """Yield the lines of a table no wider than `width` cells if possible; one line per row if `width` is None."""
    natural = [max(map(cell_len, cells)) for cells in columns_of(header, rows)]
    if width is None or room(natural) <= width:
        yield from _block(header, rows, natural)
        return
    for place, (block, widths) in enumerate(optional("narrow blocks")(header, rows, natural, width)):
        if place:
            yield TextLine("", is_head=False)
        yield from _block([header[column] for column in block], [[row[column] for column in block] for row in rows], widths)


def is_number(text: str) -> bool:
    """Return True if a cell is a number, an interval, a share, or empty (`-`)."""
    return _NUMBER.fullmatch(text) is not None


def columns_of(header: Sequence[str], rows: Rows) -> list[tuple[str, ...]]:
    """Return the title and the cells of each column."""
    return list(zip(header, *rows, strict=True))


def room(widths: Sequence[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _block(header: Sequence[str], rows: Rows, widths: Sequence[int]) -> Iterator[TextLine]:
    right = [all(map(is_number, cells)) for _, *cells in columns_of(header, rows)]
    for place, row in enumerate((header, *rows)):
        cells = [_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        for line in range(max(map(len, cells))):
            pieces = [lines[line] if line < len(lines) else "" for lines in cells]
            yield TextLine(GAP.join(map(_placed, pieces, widths, right)).rstrip(), is_head=not place)


def _placed(text: str, width: int, right: bool) -> str:
    return " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text wrapped at blanks into lines of at most `width` cells."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += chop_cells(word, width) if cell_len(word) > width else [word]
    return lines or [""]


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, beside_json: bool = False
) -> None:
    """Print rows under column names: on stdout, or on stderr beside JSON. On a terminal, fit the table to its width."""
    console = people if beside_json else Console(highlight=False, markup=False, soft_wrap=True)
    cells = [[_cell(cell) for cell in row] for row in rows]
    width = console.width if console.is_terminal else None
    if title:
        console.print(Text(printable(title), "bold"))
    for line in laid_out([_cell(column) for column in columns], cells, width):
        console.print(Text(line.text, "bold" if line.is_head else ""))


def _cell(value: object) -> str:
    """Return a value as printable text on one line."""
    return printable(str(value)).replace("\n", " ").replace("\t", " ")

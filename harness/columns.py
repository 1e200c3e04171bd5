"""Plain-text tables in aligned columns, identical on a terminal and in a pipe; names are never broken.

1. A row is one line if it fits. Otherwise, long texts are wrapped at blanks first, down to `_NARROW`.
2. If that is not enough, the columns are stacked in blocks, and each block begins with the columns that name its rows.
3. A word is cut only if it is wider than the whole page. Columns of numbers are right-aligned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

GAP = "  "
_NARROW, _NARROW_HEAD = 28, 16
"""Width in cells up to which a text or a title is not wrapped."""

_MOST_KEYS = 3
_NUMBER = re.compile(r"[-+<>$]?\d[\d.,]*(\.\.[-+]?\d[\d.,]*)?( ?%| \(\d+ %\))?|-|")

Rows = Sequence[Sequence[str]]


class TextLine(NamedTuple):
    """Line of a table; `is_head` is true for the line of column names."""

    text: str
    is_head: bool


def laid_out(header: Sequence[str], rows: Rows, width: int | None) -> Iterator[TextLine]:
    """Yield the lines of a table no wider than `width` cells if possible; one line per row if `width` is None."""
    natural = [max(map(cell_len, cells)) for cells in _columns(header, rows)]
    if width is None or _room(natural) <= width:
        yield from _block(header, rows, natural)
        return
    least = [min(width, one) for one in _least(header, rows)]
    for place, block in enumerate(_stacked(header, rows, least, width)):
        if place:
            yield TextLine("", is_head=False)
        widths = _shrunk([natural[column] for column in block], [least[column] for column in block], width)
        yield from _block([header[column] for column in block], [[row[column] for column in block] for row in rows], widths)


def is_number(text: str) -> bool:
    """Return True if a cell is a number, an interval, a share, or empty (`-`)."""
    return _NUMBER.fullmatch(text) is not None


def keys(rows: Rows) -> int:
    """Return the number of leftmost columns that name the rows: they contain text, and together are unique if possible."""
    most = min(_MOST_KEYS, len(rows[0]) - 1) if rows else 0
    texts = [count for count in range(1, most + 1) if not all(is_number(row[count - 1]) for row in rows)]
    least = min(texts, default=1)
    return next((count for count in range(least, most + 1) if len({tuple(row[:count]) for row in rows}) == len(rows)), least)


def _columns(header: Sequence[str], rows: Rows) -> list[tuple[str, ...]]:
    return list(zip(header, *rows, strict=True))


def _room(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _least(header: Sequence[str], rows: Rows) -> list[int]:
    """Return the minimum width of each column: its longest word, short titles and short texts unwrapped."""
    return [
        max(_needed(title, _NARROW_HEAD), *(_needed(cell, _NARROW) for cell in cells), 1)
        for title, *cells in _columns(header, rows or [[""] * len(header)])
    ]


def _needed(text: str, short: int) -> int:
    return cell_len(text) if cell_len(text) <= short else max(short // 2, *map(cell_len, text.split() or [""]))


def _stacked(header: Sequence[str], rows: Rows, least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each block, as many as fit, with the key columns in front.

    Key columns that would leave no space for others are not repeated.
    """
    repeated = list(range(keys(rows)))
    if repeated and _room([least[column] for column in repeated]) > width // 2:
        repeated = repeated[:1]
    blocks: list[list[int]] = [[]]
    for column in range(len(header)):
        if blocks[-1] and _room([least[one] for one in (*blocks[-1], column)]) > width:
            fits = _room([least[one] for one in (*repeated, column)]) <= width
            blocks.append([*(repeated if fits and column not in repeated else [])])
        blocks[-1].append(column)
    return blocks


def _shrunk(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return widths that fit, by shrinking the column with the most room to spare, one cell at a time."""
    widths = list(natural)
    while _room(widths) > width:
        spare = [wide - low for wide, low in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            break
        widths[spare.index(max(spare))] -= 1
    return widths


def _block(header: Sequence[str], rows: Rows, widths: Sequence[int]) -> Iterator[TextLine]:
    right = [all(map(is_number, cells)) for _, *cells in _columns(header, rows)]
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

"""Layout of tables that are wider than the terminal, by the rules in `harness.tables`, and of the notes below tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from harness.output import people
from harness.sanitize import printable
from harness.tables import Rows, columns_of, is_number, room

_NARROW, _NARROW_HEAD = 28, 16
"""Width in cells up to which a text or a title is not wrapped."""

_MOST_KEYS = 3


def narrow_blocks(
    header: Sequence[str], rows: Rows, natural: Sequence[int], width: int
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the columns of each block with their widths, so that no block is wider than `width` if possible."""
    least = [min(width, one) for one in _least(header, rows)]
    for block in _stacked(header, rows, least, width):
        yield block, _shrunk([natural[column] for column in block], [least[column] for column in block], width)


def keys(rows: Rows) -> int:
    """Return the number of leftmost columns that identify a row: text columns, as many as make rows unique if possible."""
    most = min(_MOST_KEYS, len(rows[0]) - 1) if rows else 0
    texts = [count for count in range(1, most + 1) if not all(is_number(row[count - 1]) for row in rows)]
    least = min(texts, default=1)
    return next((count for count in range(least, most + 1) if len({tuple(row[:count]) for row in rows}) == len(rows)), least)


def _least(header: Sequence[str], rows: Rows) -> list[int]:
    """Return the minimum width of each column: its longest word, short titles and short texts unwrapped."""
    return [
        max(_needed(title, _NARROW_HEAD), *(_needed(cell, _NARROW) for cell in cells), 1)
        for title, *cells in columns_of(header, rows or [[""] * len(header)])
    ]


def _needed(text: str, short: int) -> int:
    return cell_len(text) if cell_len(text) <= short else max(short // 2, *map(cell_len, text.split() or [""]))


def _stacked(header: Sequence[str], rows: Rows, least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each block, as many as fit, with the key columns in front.

    Key columns that would leave no space for others are not repeated.
    """
    repeated = list(range(keys(rows)))
    if repeated and room([least[column] for column in repeated]) > width // 2:
        repeated = repeated[:1]
    blocks: list[list[int]] = [[]]
    for column in range(len(header)):
        if blocks[-1] and room([least[one] for one in (*blocks[-1], column)]) > width:
            fits = room([least[one] for one in (*repeated, column)]) <= width
            blocks.append([*(repeated if fits and column not in repeated else [])])
        blocks[-1].append(column)
    return blocks


def _shrunk(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return widths that fit, by shrinking the column with the most room to spare, one cell at a time."""
    widths = list(natural)
    while room(widths) > width:
        spare = [wide - low for wide, low in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            break
        widths[spare.index(max(spare))] -= 1
    return widths


def say_notes(notes: Iterable[str], *, beside_json: bool = False) -> None:
    """Print notes under a table, on the same stream as the table; on a terminal, wrap them at blanks."""
    console = people if beside_json else Console(highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        lines = textwrap.wrap(printable(note), max(20, console.width - 4)) if console.is_terminal else [printable(note)]
        for place, line in enumerate(lines):
            console.print(Text(f"  {'  ' * bool(place)}{line}"))

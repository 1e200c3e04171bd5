"""Where text goes: what a command makes goes to stdout, what it says while it does so to stderr.

`say` prints one line for a person, `emit` one JSON document for a program, `show_table` the rows that a command was asked
for: in aligned columns on a terminal and elsewhere alike (`harness.columns`), so that `harness doctor > file` holds what was
seen, while programs read --json and --csv. A table that stands beside a JSON document goes to stderr. With `-v` the log of our
own rooms goes there too, with times.
"""

from __future__ import annotations

import json
import logging
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from harness.columns import laid_out
from harness.printable import printable
from harness.saying import about, say

__all__ = ["about", "emit", "is_verbose", "log_to_stderr", "people", "say", "say_notes", "show_table", "wrapped"]

people = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


_OURS = logging.getLogger("harness")


class _ToStderr(logging.Handler):
    """Writes to whatever stderr is by then: a live table takes its place."""

    def emit(self, record: logging.LogRecord) -> None:
        # in one piece: several processes may be writing
        sys.stderr.write(f"{self.format(record)}\n")
        sys.stderr.flush()


def log_to_stderr() -> None:
    """Show the log of our own rooms from now on: what begins, and how long it took."""
    if not is_verbose():
        handler = _ToStderr()
        handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(message)s", "%H:%M:%S"))
        _OURS.addHandler(handler)
        _OURS.setLevel(logging.INFO)


def is_verbose() -> bool:
    """Whether that log is shown."""
    return any(isinstance(handler, _ToStderr) for handler in _OURS.handlers)


def emit(document: Any) -> None:
    """One JSON document for a program."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")
    sys.stdout.flush()


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, beside_json: bool = False
) -> None:
    """Rows under column names, on stdout but beside JSON: aligned, and on a terminal no wider than it is."""
    console = people if beside_json else Console(highlight=False, markup=False, soft_wrap=True)
    cells = [[_cell(cell) for cell in row] for row in rows]
    width = console.width if console.is_terminal else None
    if title:
        console.print(Text(printable(title), "bold"))
    for line in laid_out([_cell(column) for column in columns], cells, width):
        console.print(Text(line.text, "bold" if line.is_head else ""))


def wrapped(line: str) -> str:
    """Return a line for stderr, wrapped at blanks where that is a terminal, and as it is elsewhere."""
    if not people.is_terminal:
        return line
    return textwrap.fill(line, max(20, people.width), subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def say_notes(notes: Iterable[str], *, beside_json: bool = False) -> None:
    """Notes under a table, where the table is; on a terminal wrapped at blanks."""
    console = people if beside_json else Console(highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        lines = textwrap.wrap(printable(note), max(20, console.width - 4)) if console.is_terminal else [printable(note)]
        for place, line in enumerate(lines):
            console.print(Text(f"  {'  ' * bool(place)}{line}"))


def _cell(value: object) -> str:
    """A value on one line, whatever it holds."""
    return printable(str(value)).replace("\n", " ").replace("\t", " ")

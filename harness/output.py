"""Console output: results of a command go to stdout, messages and progress to stderr.

`say` prints one line for people, `emit` one JSON document for programs, and `show_table` a command's table in aligned columns
(`harness.columns`), which is the same on a terminal and in a file. Programs read --json and --csv. A table printed beside a
JSON document goes to stderr. With `-v`, the log of the project's own packages goes to stderr too, with times.
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
from harness.log_context import about, say
from harness.sanitize import printable

__all__ = ["about", "emit", "is_verbose", "log_to_stderr", "people", "say", "say_notes", "show_table", "wrapped"]

people = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


_OURS = logging.getLogger("harness")


class _ToStderr(logging.Handler):
    """Log handler that writes to the current stderr, which a live table may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        # in one write: several processes may be printing
        sys.stderr.write(f"{self.format(record)}\n")
        sys.stderr.flush()


def log_to_stderr() -> None:
    """Show the log of the project's own packages from now on: which steps begin, and how long they took."""
    if not is_verbose():
        handler = _ToStderr()
        handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(message)s", "%H:%M:%S"))
        _OURS.addHandler(handler)
        _OURS.setLevel(logging.INFO)


def is_verbose() -> bool:
    """Return True if the log is shown."""
    return any(isinstance(handler, _ToStderr) for handler in _OURS.handlers)


def emit(document: Any) -> None:
    """Print one JSON document for programs."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")
    sys.stdout.flush()


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


def wrapped(line: str) -> str:
    """Return a line for stderr, wrapped at blanks on a terminal and unchanged otherwise."""
    if not people.is_terminal:
        return line
    return textwrap.fill(line, max(20, people.width), subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def say_notes(notes: Iterable[str], *, beside_json: bool = False) -> None:
    """Print notes under a table, on the same stream as the table; on a terminal, wrap them at blanks."""
    console = people if beside_json else Console(highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        lines = textwrap.wrap(printable(note), max(20, console.width - 4)) if console.is_terminal else [printable(note)]
        for place, line in enumerate(lines):
            console.print(Text(f"  {'  ' * bool(place)}{line}"))


def _cell(value: object) -> str:
    """Return a value as printable text on one line."""
    return printable(str(value)).replace("\n", " ").replace("\t", " ")

"""Where text goes: people read stderr, programs read stdout.

`say` prints one line for a person, `emit` one JSON document for a program. On a terminal tables are drawn; elsewhere the same
rows come as plain lines, so that a log stays readable.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

people = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def say(line: str) -> None:
    """One line for a person."""
    print(line, file=sys.stderr, flush=True)


def emit(document: Any) -> None:
    """One JSON document for a program."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, default=str)
    sys.stdout.write("\n")
    sys.stdout.flush()


def show_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None, to_stdout: bool = False
) -> None:
    """Rows under column names: a drawn table on a terminal, tab-separated lines elsewhere."""
    console = Console(highlight=False, markup=False, soft_wrap=True) if to_stdout else people
    if not console.is_terminal:
        for row in ([title] if title else []), columns, *rows:
            if row:
                print("\t".join(str(cell) for cell in row), file=sys.stdout if to_stdout else sys.stderr)
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console.print(table)

"""A table is data: named columns, rows of plain values, notes. How it looks is decided afterwards, once for all tables.

Values stay exact (a rate is a float in 0..1) and go into JSON as they are; a column's form says how people read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal[
    "text", "number", "percent", "rate", "signed", "points", "interval", "signed_interval", "tally", "p", "span", "usd"
]  # fmt: skip
Value = str | int | float | bool | tuple[float, float] | None
Row = Mapping[str, Value]

MISSING = "-"

_FORMS: dict[Form, Callable[[Any], str]] = {
    "text": str,
    "number": lambda number: f"{number:.3f}",
    "percent": lambda rate: f"{100 * rate:.1f}",
    "rate": lambda rate: f"{rate:.2f}",
    "signed": lambda number: f"{number:+.2f}",
    "points": lambda difference: f"{100 * difference:+.1f}",
    "interval": lambda ends: f"{100 * ends[0]:.1f}..{100 * ends[1]:.1f}",
    "signed_interval": lambda ends: f"{ends[0]:+.2f}..{ends[1]:+.2f}",
    "tally": lambda counted: f"{counted[0]} ({100 * counted[1]:.0f} %)",
    "span": lambda ends: f"{ends[0]:.2f}..{ends[1]:.2f}",
    "usd": lambda dollars: f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}",
    "p": lambda p: f"{p:.3f}" if p >= 0.0005 else "<0.001",
}


@dataclass(frozen=True)
class Column:
    """One column; one that is not `shown` is for programs only."""

    key: str
    title: str
    form: Form = "text"
    shown: bool = True
    kept: bool = False
    """Whether people read it also where no row says anything in it: what could not be measured must be seen."""


@dataclass(frozen=True)
class Table:
    """Rows under columns; a row may leave a column out."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> list[Column]:
        """The columns that people read: kept ones, and those in which some row says something; all where there are no rows."""
        said = {key for row in self.rows for key, value in row.items() if value is not None}
        return [column for column in self.columns if column.shown and (column.kept or column.key in said or not self.rows)]

    @property
    def header(self) -> list[str]:
        """The titles that people read."""
        return [column.title for column in self.shown]

    def cells(self) -> list[list[str]]:
        """The rows as people read them."""
        return [[_cell(column, row.get(column.key)) for column in self.shown] for row in self.rows]

    def markdown(self) -> str:
        """A heading, a pipe table, and the notes as a list."""
        lines = [f"### {self.title}", "", _piped(self.header), "|" + "---|" * len(self.header)]
        lines += [_piped(row) for row in self.cells()]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def document(self) -> dict[str, Any]:
        """The table for programs: exact values by column key."""
        columns = [{"key": column.key, "title": column.title, "form": column.form} for column in self.columns]
        rows = [{column.key: row.get(column.key) for column in self.columns} for row in self.rows]
        return {"name": self.name, "title": self.title, "columns": columns, "rows": rows, "notes": list(self.notes)}


def _cell(column: Column, value: Value) -> str:
    """A value in its column's form; text stands for itself in any column, and an interval where rates are is a span of them."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    return _FORMS["span" if column.form == "rate" and isinstance(value, tuple) else column.form](value)


def _piped(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

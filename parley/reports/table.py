"""Tables as data: named columns, rows of plain values, and notes. Rendering is shared by all tables.

Values stay exact (a rate is a float in 0..1) and go into JSON unchanged; a column's form determines how they are printed.

CSV files have exact values under column keys, as in JSON, one file per table.

1. An interval fills two columns with its ends; a tally fills two columns with its count and its share. An empty cell is a
missing value.
2. Text that a spreadsheet would evaluate as a formula is prefixed with an apostrophe, because names of models are untrusted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
    """A column of a table; if it is not `shown`, it is for programs only."""

    key: str
    title: str
    form: Form = "text"
    shown: bool = True
    kept: bool = False
    """True if the column is shown even without any value, so that readers see what could not be measured."""

    of: Callable[[Any], Any] | None = None
    """Function from the subject of a row to the value (`row_of`); None if the maker of the row provides it."""


class WithInterval(NamedTuple):
    """A figure and its 95 % interval, for the two columns of `with_interval`."""

    value: float | None
    interval: tuple[float, float] | None


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
        """The printed columns: kept ones, and those with a value in some row; all of them if there are no rows."""
        said = {key for row in self.rows for key, value in row.items() if value is not None}
        return [column for column in self.columns if column.shown and (column.kept or column.key in said or not self.rows)]

    @property
    def header(self) -> list[str]:
        """The titles of the printed columns."""
        return [column.title for column in self.shown]

    def cells(self) -> list[list[str]]:
        """Return the rows as printed text."""
        return [[_cell(column, row.get(column.key)) for column in self.shown] for row in self.rows]

    def markdown(self) -> str:
        """Return a heading, a pipe table, and the notes as a list."""
        lines = [f"### {self.title}", "", _piped(self.header), "|" + "---|" * len(self.header)]
        lines += [_piped(row) for row in self.cells()]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def document(self) -> dict[str, Any]:
        """Return the table for programs: exact values by column key."""
        columns = [{"key": column.key, "title": column.title, "form": column.form} for column in self.columns]
        rows = [{column.key: row.get(column.key) for column in self.columns} for row in self.rows]
        return {"name": self.name, "title": self.title, "columns": columns, "rows": rows, "notes": list(self.notes)}


def titled(form: Form = "text", /, *, shown: bool = True, **titles: str) -> tuple[Column, ...]:
    """Return columns with the same form from keys and titles."""
    return tuple(Column(key, title, form, shown) for key, title in titles.items())


def with_interval(
    key: str,
    title: str,
    form: Form = "rate",
    ends: Form = "span",
    of: Callable[[Any], Any] | None = None,
    *,
    kept: bool = False,
) -> tuple[Column, Column]:
    """Return the column of a figure and the column of its 95 % interval after it."""
    return Column(key, title, form, kept=kept, of=of), Column(f"{key}_interval", "95 %", ends)


def row_of(columns: Iterable[Column], about: Any) -> dict[str, Value]:
    """Return the values of columns for the subject of a row; a figure with an interval fills its column and the next."""
    row: dict[str, Value] = {}
    for column in columns:
        value = column.of(about) if column.of is not None else None
        if isinstance(value, WithInterval):
            row |= {column.key: value.value, f"{column.key}_interval": value.interval}
        elif column.of is not None:
            row[column.key] = value
    return row


def table_of(
    name: str, title: str, columns: Iterable[Column], subjects: Iterable[Any], notes: Iterable[str] = ()
) -> list[Table]:
    """Return one table with a row for each subject, or with the subject itself if it is a row; no table without rows."""
    columns = tuple(columns)
    rows = tuple(one if isinstance(one, Mapping) else row_of(columns, one) for one in subjects)
    return [Table(name, title, columns, rows, tuple(notes))] if rows else []


def _cell(column: Column, value: Value) -> str:
    """Return a value formatted by its column; text is unchanged, and an interval in a column of rates becomes a span."""
    if value is None:
        return MISSING
    if isinstance(value, str):
        return value
    return _FORMS["span" if column.form == "rate" and isinstance(value, tuple) else column.form](value)


def _piped(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_PAIRS = {"interval": ("low", "high"), "signed_interval": ("low", "high"), "span": ("low", "high"), "tally": ("count", "share")}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """Return the whole table as CSV, with a header line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_field(name) for column in table.columns for name in _names(column)])
    for row in table.rows:
        writer.writerow([cell for column in table.columns for cell in _fields(column, row.get(column.key))])
    return text.getvalue()


def _names(column: Column) -> list[str]:
    return [f"{column.key}_{end}" for end in _PAIRS.get(column.form, ())] or [column.key]


def _fields(column: Column, value: Value) -> Iterator[str]:
    if column.form in _PAIRS:
        ends = value if isinstance(value, tuple) else (value, None)
        yield from map(_field, ends)
    elif isinstance(value, tuple):
        yield "..".join(map(_field, value))
    else:
        yield _field(value)


def _field(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return str(value).lower() if isinstance(value, bool) else repr(value)

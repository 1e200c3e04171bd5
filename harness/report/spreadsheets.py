"""Tables as CSV: exact values under column keys, as in JSON, one file a table.

1. An interval fills two columns, its ends; a tally two, its count and its share. An empty cell is a value that does not exist.
2. A text that a spreadsheet would take for a formula begins with an apostrophe: names of models are not ours.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from harness.report.table import Column, Table, Value

_PAIRS = {"interval": ("low", "high"), "signed_interval": ("low", "high"), "span": ("low", "high"), "tally": ("count", "share")}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: Table) -> str:
    """The whole table, with a line of column names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([name for column in table.columns for name in _names(column)])
    for row in table.rows:
        writer.writerow([cell for column in table.columns for cell in _cells(column, row.get(column.key))])
    return text.getvalue()


def _names(column: Column) -> list[str]:
    return [f"{column.key}_{end}" for end in _PAIRS.get(column.form, ())] or [column.key]


def _cells(column: Column, value: Value) -> Iterator[str]:
    if column.form in _PAIRS:
        ends = value if isinstance(value, tuple) else (value, None)
        yield from map(_cell, ends)
    elif isinstance(value, tuple):
        yield "..".join(map(_cell, value))
    else:
        yield _cell(value)


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return str(value).lower() if isinstance(value, bool) else repr(value)

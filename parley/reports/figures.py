"""The figures of a report: for each family, the figures whose tables are in the report."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.plugins import family_part_or_none
from parley.reports.svg import Mark, Panel, joined, panel_chart
from parley.reports.table import Row, Table
from parley.reports.whole import LEVELS, FamilyReport, WholeReport


@dataclass(frozen=True)
class Figure:
    """A picture, and the tables that it was drawn from."""

    svg: str
    sources: tuple[str, ...]


def figures_of(section: FamilyReport) -> dict[str, Figure]:
    """Return each figure that can be drawn from these tables."""
    by_name = {table.name: table for table in section.tables}
    part = family_part_or_none(section.family, "figure")
    drawers = {**(part.FIGURES if part else {}), LEVELS: level_figure}
    drawn = {}
    for name, draw in drawers.items():
        watched = _Watched(by_name)
        if (svg := draw(watched)) is not None:
            drawn[name] = Figure(svg, tuple(watched.read))
    return drawn


def every_figure(made: WholeReport) -> dict[str, str]:
    """Return each figure of a report, by family and name."""
    return {f"{one.family}-{name}": drawn.svg for one in made.sections for name, drawn in figures_of(one).items()}


def level_figure(made: Mapping[str, Table]) -> str | None:
    """Return a chart of success rates over levels, with one line per player and set-up; None without data."""
    if LEVELS not in made:
        return None
    rows = [row for row in made[LEVELS].rows if row["rate"] is not None]
    marks = tuple(_mark(row) for row in rows)
    panel = Panel("", "level", "success rate, %", marks, joined(marks))
    return panel_chart("Success by level", [panel]) if marks else None


def _mark(row: Row) -> Mark:
    name = ", ".join(str(row[key]) for key in ("player", "setup") if row[key])
    rate, level = (float(str(row[key])) for key in ("rate", "level"))
    return Mark(name, level, 100 * rate, f"{name}, level {level:g}: {100 * rate:.1f} %, n = {row['episodes']}")


class _Watched(UserDict[str, Table]):
    """Tables by name that record which of them were read."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Table:
        """Return the table and record that it was read."""
        table = super().__getitem__(name)
        self.read[name] = None
        return table

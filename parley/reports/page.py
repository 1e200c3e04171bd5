"""A report as one static page without scripts, legible in light and dark mode, in print and to screen readers.

All text from runs is untrusted: Jinja escapes it, and the page's content security policy forbids loading or running anything.
The only style sheet is inline and allowed by its hash; figures are drawn by this package with escaped text. A figure is placed
before the tables that it was drawn from, but after the first table of a family, which readers look for first. An episode links
to its page if there is one beside the report (`harness view --bundle`); otherwise the page has the command that shows the
episode.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.errors import quoted
from harness.frames import grouped
from harness.headline import ungraded_by
from harness.plugins import family_part_or_none
from harness.records import Result
from harness.sanitize import printable
from harness.tables import is_number
from parley.reports.evidence import Run
from parley.reports.svg import Mark, Panel, joined, panel_chart, shade
from parley.reports.table import Column, Row, Table
from parley.reports.whole import LEVELS, FamilyReport, WholeReport
from parley.tables import keys


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


_FOLDER = Path(__file__).with_name("pages")
_MOST_EPISODES = 1000
"""Maximum number of episodes in a family's list; failures come first."""

_STOPS = ((240, 138, 128), (250, 225, 140), (139, 208, 150))
"""Background colours of pass rates at 0, 0.5 and 1, pale enough for dark text."""


Data = dict[str, Any]
"""Data for the template, by name."""


def as_page(report: WholeReport, folder: Path) -> str:
    """Return the page for a file in `folder`, in which pages of episodes are looked up."""
    style = _environment().get_template("style.css.j2").render(heat=[shade(_STOPS, step / 10) for step in range(11)])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = _environment().get_template("report.html.j2").render(
        title=f"Report on {len(report.runs)} run{'s' * (len(report.runs) != 1)}",
        style=Markup(style),  # noqa: S704 - our own file
        digest=f"sha256-{digest}",
        facts=list(_facts(report)),
        sections=[_section(section, report.runs, folder) for section in report.sections],
        spent=_table("spent", report.spent),
        runs=[printable(run.path.name) for run in report.runs],
    )  # fmt: skip
    # remove blank lines of the macros before the first line
    return text.lstrip()


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _facts(report: WholeReport) -> Iterator[tuple[str, str]]:
    for caveat in report.caveats:
        yield "Caveat", printable(caveat)
    results = [result for run in report.runs for result in run.results]
    yield "Episodes", str(len(results))
    lost = [result for result in results if result.status == "ungraded"]
    yield "Ungraded", f"{len(lost)} ({ungraded_by(lost)})" if lost else "0"
    yield "Tasks", str(len({(result.family, result.task_id) for result in results}))
    yield "Players", str(len([row for row in report.spent.rows if row["player"] != "all"]))
    total = dict(zip(report.spent.header, report.spent.cells()[-1], strict=True))
    yield "Dollars", total["Dollars"] if report.spent.rows[-1]["usd"] is not None else "none known"


def _section(section: FamilyReport, runs: Sequence[Run], folder: Path) -> Data:
    ordered = [_table(f"{section.family}-{number}-{table.name}", table) for number, table in enumerate(section.tables)]
    made = grouped(zip(section.tables, ordered, strict=True), lambda both: both[0].name)
    figures: dict[str, list[Data]] = {}
    for name, figure in figures_of(section).items():
        sources = [one for source in figure.sources for _, one in made[source]]
        drawn = {"name": name, "svg": Markup(figure.svg), "sources": sources}  # noqa: S704 - drawn by us
        figures.setdefault(sources[0]["id"], []).append(drawn)
    played = [(run, result) for run in runs for result in run.results if result.family == section.family]
    chosen = sorted(played, key=lambda one: one[1].success)[:_MOST_EPISODES] if len(played) > _MOST_EPISODES else played
    return {
        "id": _id(section.family),
        "family": section.family,
        "blocks": [{"table": table, "figures": figures.get(table["id"], [])} for table in ordered],
        "episodes": [_episode(run, result, folder) for run, result in chosen],
        "played": len(played),
    }


def _table(name: str, table: Table) -> Data:
    shown, cells = table.shown, table.cells()
    right = [all(is_number(row[place]) for row in cells) for place in range(len(shown))]
    named = keys(cells) - 1
    return {
        "id": _id(name),
        "title": table.title,
        "heads": [{"title": printable(column.title), "is_number": one} for column, one in zip(shown, right, strict=True)],
        "rows": [
            {"kind": _kind(row), "cells": [*_cells(shown, row, texts, right, named)]}
            for row, texts in zip(table.rows, cells, strict=True)
        ],
        "notes": [*map(printable, table.notes)],
    }


def _cells(shown: Sequence[Column], row: Row, texts: Sequence[str], right: Sequence[bool], named: int) -> Iterator[Data]:
    is_map = row.get("row") in {"task", "mean"}
    for place, (column, text) in enumerate(zip(shown, texts, strict=True)):
        styles, value = ["n"] if right[place] else [], row.get(column.key)
        if is_map and column.form == "rate" and isinstance(value, int | float):
            styles.append(f"heat-{round(10 * value)}")
        yield {"text": printable(text), "is_head": place == named, "style": " ".join(styles)}


def _kind(row: Row) -> str:
    if str(row.get("source", "")).startswith("published"):
        return "published"
    return "mean" if row.get("row") == "mean" else ""


def _episode(run: Run, result: Result, folder: Path) -> Data:
    name = f"episodes/{result.key.name}"
    pages = [path for path in (f"{run.path.name}/{name}.html", f"{name}.html") if (folder / path).is_file()]
    model = result.model or ", ".join(dict.fromkeys(seat.model or seat.name for seat in result.seats))
    return {
        "task": result.task_id,
        "player": printable(model or result.agent),
        "seed": result.seed,
        "attempt": result.attempt,
        "outcome": printable(result.outcome),
        "reward": "-" if result.reward is None else f"{result.reward:.2f}",
        "page": quote(pages[0]) if pages else "",
        "command": printable(f"harness show {quoted(f'{run.path}/{name}')}"),
    }


def _id(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)

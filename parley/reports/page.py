"""A report as one static page without scripts, legible in light and dark mode, in print and to screen readers.

1. All text from runs (names of models, notes, labels) is untrusted: Jinja escapes it, and the page's content security policy
   forbids loading or running anything. The only style sheet is inline and allowed by its hash; figures are drawn by this
   package with escaped text.
2. A figure is placed before the tables that it was drawn from, which hold every number in it. The first table of a family is
   an exception: it comes before its figures, because readers look for it first.
3. An episode links to its page if one lies beside the report (`harness view --bundle`); otherwise the command that shows it is
   printed. The same runs give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.columns import is_number, keys
from harness.errors import quoted
from harness.headline import ungraded_by
from harness.records import Result
from harness.sanitize import printable
from parley.reports.evidence import Run
from parley.reports.figures import figures_of
from parley.reports.svg import shade
from parley.reports.table import Column, Row, Table, Value
from parley.reports.whole import FamilyReport, WholeReport

_FOLDER = Path(__file__).with_name("pages")
_LONG = 60
"""Tables with more rows are collapsed."""

_MOST_EPISODES = 1000
"""Maximum number of episodes in a family's list; failures come first."""

_STOPS = ((240, 138, 128), (250, 225, 140), (139, 208, 150))
"""Background colours of pass rates at 0, 0.5 and 1, pale enough for dark text."""


@dataclass(frozen=True)
class Head:
    """Head of one column."""

    title: str
    is_number: bool


@dataclass(frozen=True)
class PageCell:
    """A cell of a table; `style` is its CSS class."""

    text: str
    is_head: bool = False
    style: str = ""


@dataclass(frozen=True)
class PageRow:
    """A row of a table; `kind` is its CSS class."""

    cells: tuple[PageCell, ...]
    kind: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table ready for the template."""

    id: str
    title: str
    heads: tuple[Head, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PageFigure:
    """A figure and the tables that hold its numbers."""

    name: str
    svg: Markup
    sources: tuple[PageTable, ...]


@dataclass(frozen=True)
class Block:
    """A table with the figures before it."""

    table: PageTable
    figures: tuple[PageFigure, ...]

    @property
    def is_long(self) -> bool:
        """True if the table is collapsed."""
        return len(self.table.rows) > _LONG


@dataclass(frozen=True)
class EpisodeLine:
    """An episode in a list."""

    task: str
    player: str
    seed: int
    attempt: int
    outcome: str
    reward: str
    page: str
    """URL of its page, relative to the report; "" if there is none."""

    command: str


@dataclass(frozen=True)
class PageSection:
    """Section of one family."""

    id: str
    family: str
    blocks: tuple[Block, ...]
    episodes: tuple[EpisodeLine, ...]
    played: int


def as_page(report: WholeReport, folder: Path) -> str:
    """Return the page for a file in `folder`, beside which pages of episodes are looked up."""
    style = _environment().get_template("style.css.j2").render(heat=[shade(_STOPS, step / 10) for step in range(11)])
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    text = _environment().get_template("report.html.j2").render(
        title=f"Report on {_many(len(report.runs), 'run')}",
        style=Markup(style),  # noqa: S704 - our own file
        digest=f"sha256-{digest}",
        facts=list(_facts(report)),
        sections=[_section(section, report.runs, folder) for section in report.sections],
        spent=_table("spent", report.spent),
        runs=[printable(run.path.name) for run in report.runs],
    )  # fmt: skip
    # what the macros leave before the first line
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
    total = report.spent.rows[-1]
    yield "Dollars", report.spent.cells()[-1][_place(report.spent, "usd")] if total["usd"] is not None else "none known"


def _place(table: Table, key: str) -> int:
    return [column.key for column in table.shown].index(key)


def _section(section: FamilyReport, runs: Sequence[Run], folder: Path) -> PageSection:
    tables: dict[str, list[PageTable]] = {}
    ordered: list[PageTable] = []
    for number, table in enumerate(section.tables):
        ordered.append(_table(f"{section.family}-{number}-{table.name}", table))
        tables.setdefault(table.name, []).append(ordered[-1])
    figures: dict[str, list[PageFigure]] = {}
    for name, figure in figures_of(section).items():
        sources = tuple(one for source in figure.sources for one in tables[source])
        figures.setdefault(sources[0].id, []).append(PageFigure(name, Markup(figure.svg), sources))  # noqa: S704 - drawn by us
    blocks = tuple(Block(table, tuple(figures.get(table.id, ()))) for table in ordered)
    played = [(run, result) for run in runs for result in run.results if result.family == section.family]
    chosen = sorted(played, key=lambda one: one[1].success)[:_MOST_EPISODES] if len(played) > _MOST_EPISODES else played
    lines = tuple(_episode(run, result, folder) for run, result in chosen)
    return PageSection(_id(section.family), section.family, blocks, lines, len(played))


def _table(name: str, table: Table) -> PageTable:
    shown, cells = table.shown, table.cells()
    right = [all(is_number(row[place]) for row in cells) for place in range(len(shown))]
    named = keys(cells) - 1
    rows = tuple(
        PageRow(tuple(_cells(shown, row, texts, right, named)), _kind(row))
        for row, texts in zip(table.rows, cells, strict=True)
    )
    heads = tuple(Head(printable(column.title), one) for column, one in zip(shown, right, strict=True))
    return PageTable(_id(name), table.title, heads, rows, tuple(map(printable, table.notes)))


def _cells(
    shown: Sequence[Column], row: Row, texts: Sequence[str], right: Sequence[bool], named: int
) -> Iterator[PageCell]:  # fmt: skip
    is_map = row.get("row") in {"task", "mean"}
    for place, (column, text) in enumerate(zip(shown, texts, strict=True)):
        styles = ["n"] if right[place] else []
        if is_map and column.form == "rate" and (step := _step(row.get(column.key))) is not None:
            styles.append(f"heat-{step}")
        yield PageCell(printable(text), is_head=place == named, style=" ".join(styles))


def _kind(row: Row) -> str:
    if str(row.get("source", "")).startswith("published"):
        return "published"
    return "mean" if row.get("row") == "mean" else ""


def _step(value: Value) -> int | None:
    return round(10 * value) if isinstance(value, int | float) else None


def _episode(run: Run, result: Result, folder: Path) -> EpisodeLine:
    name = f"episodes/{result.key.name}"
    pages = [path for path in (f"{run.path.name}/{name}.html", f"{name}.html") if (folder / path).is_file()]
    model = result.model or ", ".join(dict.fromkeys(seat.model or seat.name for seat in result.seats))
    return EpisodeLine(
        task=result.task_id,
        player=printable(model or result.agent),
        seed=result.seed,
        attempt=result.attempt,
        outcome=printable(result.outcome),
        reward="-" if result.reward is None else f"{result.reward:.2f}",
        page=quote(pages[0]) if pages else "",
        command=printable(f"harness show {quoted(f'{run.path}/{name}')}"),
    )


def _id(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"

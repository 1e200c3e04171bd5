"""What `harness verify --curve` plays, how it tells of it, and how the table gets into a page between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.authoring.curve import SEEDS, CurvePoint, curve
from harness.authoring.paces import HASTE_S, ONE_IN, PACES, THINKING_S
from harness.console import emit, say, show_table
from harness.errors import UsageError
from harness.registry import Task
from harness.report.table import Column, Row, Table
from harness.runs.plan import parse_seeds
from harness.writing import writing

BEGIN, END = "<!-- curve: harness verify contract --curve --into docs/contract.md -->", "<!-- end of curve -->"
"""Between these lines of a page stands the curve."""

_COPYING = f"one character in {ONE_IN:,} of long values wrong"
NOTES = (
    f"hasty: no wait is longer than {HASTE_S} s",
    f"careless: {THINKING_S[0]} to {THINKING_S[1]} s of thought before a request, {_COPYING}",
)
"""Who the clients are, in short."""

OVER_ALL = "all"
"""The row of the means."""


def draw_curve(tasks: Sequence[Task], seeds: str | None, into: Path | None, *, json: bool) -> None:
    """Print the curve of these tasks, and write it into a page; raises UsageError for a page without a place for it."""
    if into is not None:
        replaced(into, "")
    chosen = parse_seeds(seeds) if seeds else list(SEEDS)
    points = curve(tasks, chosen, say)
    if not points:
        raise UsageError("no task here is played by one client", hint="harness verify contract --curve")
    table = curve_table(points)
    if json:
        emit({**table.document(), "points": [point.model_dump() for point in points]})
    else:
        show_table(table.header, table.cells(), title=table.title)
        say("\n".join(table.notes))
    if into is not None:
        with writing(into):
            into.write_text(replaced(into, table.markdown()), encoding="utf-8")
        say(f"wrote {into}")


def curve_table(points: Sequence[CurvePoint]) -> Table:
    """A row a task, a column a level, and the means over the tasks that have it."""
    levels = sorted({point.level for point in points})
    names = list(dict.fromkeys(point.task_id for point in points))
    rows = [*(_row(name, [point for point in points if point.task_id == name]) for name in names), _row(OVER_ALL, points)]
    return Table(
        "curve", f"Wins in percent by level: {', '.join(PACES)}",
        (Column("task", "task"), *(Column(f"level_{level}", f"level {level}") for level in levels)), tuple(rows),
        (f"{points[0].episodes} seeds; a dash is a level that the task does not have, the last row is over the tasks that do",
         *NOTES),
    )  # fmt: skip


def replaced(page: Path, text: str) -> str:
    """The page with this between its markers; raises UsageError where it has none."""
    try:
        before, begun, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    except OSError as error:
        raise UsageError(f"{page}: {error.strerror}") from None
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise UsageError(f"{page} has no place for the curve: a line {BEGIN!r}, and after it {END!r}")
    return f"{before}{begun}\n\n{text}\n{ended}{after}"


def _row(name: str, points: Sequence[CurvePoint]) -> Row:
    cells: dict[str, Any] = {"task": name}
    for level in sorted({point.level for point in points}):
        there = [point for point in points if point.level == level]
        cells[f"level_{level}"] = " / ".join(_rate([point for point in there if point.client == client]) for client in PACES)
    return cells


def _rate(points: Sequence[CurvePoint]) -> str:
    return f"{100 * sum(point.wins for point in points) / sum(point.episodes for point in points):.0f}"

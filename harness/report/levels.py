"""Difficulty curves: each player's success and reward by level, of runs with `--set level=1..4`. One table for any family.

Level 1 is the default, so a run that names no level is of it. A curve needs two levels under otherwise the same conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from harness.records import Result
from harness.report.evidence import Evidence
from harness.report.statistics import METHOD, rate_interval
from harness.report.svg import Mark, Panel, Segment, panel_chart
from harness.report.table import Column, Row, Table, row_of


def _mean_reward(graded: Sequence[Result]) -> float | None:
    return sum(result.reward or 0.0 for result in graded) / len(graded) if graded else None


def _by_task(graded: Sequence[Result]) -> dict[str, list[bool]]:
    tasks: dict[str, list[bool]] = {}
    for result in graded:
        tasks.setdefault(result.task_id, []).append(result.success)
    return tasks


NAME = "levels"
NEEDED = ("one player at two levels", "harness run ... --set level=1..4")
_COLUMNS = (
    Column("player", "Player"),
    Column("setup", "Set-up"),
    Column("level", "Level"),
    Column("tasks", "Tasks", of=lambda graded: len(_by_task(graded))),
    Column("episodes", "Eps", of=len),
    Column("passed", "Pass", of=lambda graded: sum(result.success for result in graded)),
    Column("rate", "SR %", "percent", of=lambda graded: fmean(result.success for result in graded) if graded else None),
    Column("interval", "95 %", "interval", of=lambda graded: rate_interval(list(_by_task(graded).values()))),
    Column("reward", "Reward", "rate", of=_mean_reward),
    Column("ungraded", "Ungraded"),
)


def tables(evidence: Evidence) -> list[Table]:
    """One table; none where nobody was met at two levels."""
    curves: dict[tuple[str, str], dict[int, tuple[list[Result], int]]] = {}
    for group in evidence.played:
        how = ", ".join(word for word in group.setup.how if not word.startswith("level="))
        for level in {_level(result) for result in (*group.graded, *group.ungraded)}:
            graded = [result for result in group.graded if _level(result) == level]
            lost = sum(_level(result) == level for result in group.ungraded)
            curves.setdefault((group.title, how), {})[level] = (graded, lost)
    rows = [
        {
            "player": player,
            "setup": how or None,
            "level": level,
            **row_of(_COLUMNS, points[level][0]),
            "ungraded": points[level][1],
        }
        for (player, how), points in curves.items()
        if len(points) > 1
        for level in sorted(points)
    ]
    title = f"Curves of difficulty, {evidence.family}"
    return [Table(NAME, title, _COLUMNS, tuple(rows), ("level 1 is the default", METHOD))] if rows else []


def figure(made: Mapping[str, Table]) -> str | None:
    """Success rate over levels, one line a player and set-up."""
    if NAME not in made:
        return None
    rows = [row for row in made[NAME].rows if row["rate"] is not None]
    marks = tuple(_mark(row) for row in rows)
    lines = [
        Segment(one.series, (one.x, one.y), (other.x, other.y)) for one, other in pairwise(marks) if one.series == other.series
    ]
    panel = Panel("", "level", "success rate, %", marks, tuple(lines))
    return panel_chart("Success by level", [panel]) if marks else None


def _level(result: Result) -> int:
    level = result.options.get("level", 1)
    return int(level) if isinstance(level, int | str) and str(level).isdecimal() else 1


def _mark(row: Row) -> Mark:
    name = ", ".join(str(row[key]) for key in ("player", "setup") if row[key])
    rate, level = (float(str(row[key])) for key in ("rate", "level"))
    return Mark(name, level, 100 * rate, f"{name}, level {level:g}: {100 * rate:.1f} %, n = {row['episodes']}")

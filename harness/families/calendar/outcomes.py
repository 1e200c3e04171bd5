"""The paper's five measures by player and cost setting (Tables 1 and 2), with its own rows for the protocols beside ours.

1. Each is the mean over seats of a game, then over the games of a task, then over tasks: a task counts once.
2. Excess, fairness and regret are on the scored scale (1, 2, 3). VPS is the protocol-semantic one: it is no measure of a model.
3. The interval of coordination is over tasks, since attempts at one task are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean

from harness.families.calendar.published import MARK, protocol_rows, source
from harness.records import Result
from harness.report.evidence import Evidence, Group
from harness.report.statistics import mean_interval
from harness.report.table import Column, Row, Table

_COLUMNS = (
    Column("setting", "Costs"),
    Column("method", "Player"),
    Column("setup", "Set-up"),
    Column("tasks", "Tasks"),
    Column("coordination", "Coord. %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("excess", "Excess", "rate"),
    Column("messages", "Msgs", "rate"),
    Column("fairness", "Fairness", "number"),
    Column("vps", "VPS", "rate"),
    Column("adjusted", "Adj. cost", "rate"),
    Column("reward", "Reward", "rate"),
    Column("source", "Source"),
    Column("episodes", "Games", shown=False),
    Column("excess_kept", "Excess without failed rounds", "rate", shown=False),
    Column("vps_raw", "VPS before the floor", "rate", shown=False),
    Column("ungraded", "Ungraded", shown=False),
)
_MEASURES = {
    "coordination": "coordination",
    "excess": "excess",
    "messages": "messages_per_scheduled",
    "fairness": "fairness",
    "vps": "excess_vps",
    "adjusted": "adjusted_cost",
    "excess_kept": "excess_kept",
    "vps_raw": "vps",
}
"""Column -> the measure of a game, as the verdict names it."""

_NOTE = (
    "means over seats, games and tasks; Coord. = meetings scheduled of those a seat takes part in, Excess = cost above the "
    "optimum of what was scheduled, Msgs = sent per scheduled meeting, VPS = slots told beyond five"
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none without graded games."""
    of = settings(evidence)
    rows = [row for setting in sorted(set(of.values())) for row in _rows(evidence, setting, of, published=published)]
    notes = (_NOTE, *([source("Table 2")] if published else []))
    return [Table("outcomes", "Outcomes, calendar", _COLUMNS, tuple(rows), notes)] if rows else []


def settings(evidence: Evidence) -> dict[str, str]:
    """The setting of each task that was graded: what its verdicts say, else its pattern in the registry, else nothing.

    A verdict knows its scenario, so tasks that the registry does not have (imports, those of another folder) are told apart.
    """
    told = {}
    for group in evidence.played:
        for result in group.graded:
            told[result.task_id] = result.metrics.get("setting") or _patterned(evidence, result.task_id)
    return told


def _patterned(evidence: Evidence, task: str) -> str:
    known = evidence.registry.get(task)
    return (known.parley.pattern or "").lower().replace(" costs", "", 1) if known and known.parley else ""


def _rows(evidence: Evidence, setting: str, of: Mapping[str, str], *, published: bool) -> Iterator[Row]:
    shown: set[str] = set()
    for group in evidence.played:
        tasks = {task: mine for task, mine in group.tasks.items() if of[task] == setting}
        if not tasks:
            continue
        lost = sum((of.get(result.task_id) or _patterned(evidence, result.task_id)) == setting for result in group.ungraded)
        yield {**_ours(group, setting, tasks), "ungraded": lost or None}
        if published and group.title not in shown:
            shown.add(group.title)
            yield from (
                {**row, "coordination": row["coordination"] / 100, "source": MARK}
                for row in protocol_rows(setting, group.title)
            )


def _ours(group: Group, setting: str, tasks: Mapping[str, list[Result]]) -> Row:
    means = {column: [_mean(mine, name) for mine in tasks.values()] for column, name in _MEASURES.items()}
    known = {column: [value for value in values if value is not None] for column, values in means.items()}
    return {
        "setting": setting,
        "method": group.title,
        "setup": ", ".join(group.setup.how),
        "tasks": len(tasks),
        "episodes": sum(map(len, tasks.values())),
        **{column: fmean(values) if values else None for column, values in known.items()},
        "interval": mean_interval(known["coordination"]),
        "reward": fmean(fmean(result.reward or 0.0 for result in mine) for mine in tasks.values()),
        "source": "ours",
    }


def _mean(results: list[Result], name: str) -> float | None:
    """A measure over the games of one task; a game without any meeting scheduled may have none."""
    means = [value for result in results if (value := result.metrics.get("means", {}).get(name)) is not None]
    return fmean(means) if means else None

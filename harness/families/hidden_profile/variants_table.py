"""What an instruction does to accuracy after the talk (paper, Tables A1 and A2), by the average and the majority rule.

1. A player's variants stand together, the plain one first, then in the paper's order, then others by name.
2. The difference to the plain variant is over the tasks that both were played on, with a two-level bootstrap of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.families.hidden_profile import standing
from harness.families.hidden_profile.arms import Arm, Tasks, accuracy, arms
from harness.families.hidden_profile.bootstrap import METHOD, Cell, enough, interval, replicates
from harness.families.hidden_profile.figures import figures
from harness.families.hidden_profile.published import numbers, source, variant_rows
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

PLAIN = "none"
_COLUMNS = (
    Column("player", "Player"),
    Column("setup", "Set-up"),
    Column("variant", "Variant"),
    Column("tasks", "Tasks"),
    Column("sessions", "Sessions"),
    Column("average", "Average %", "percent"),
    Column("interval", "95 %", "interval"),
    Column("majority", "Majority %", "percent"),
    Column("difference", "To none, pp", "points"),
    Column("difference_interval", "95 %", "interval"),
    Column("pre", "Ypre", "percent", shown=False),
    Column("source", "Source"),
)
_NOTE = "accuracy after the talk in the hidden profile; the difference is of the average rule, on the tasks played under both"


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none unless some variant was played in the hidden profile."""
    played = [arm for arm in arms(evidence) if arm.tasks("hidden")]
    families: dict[tuple[str, str], list[Arm]] = {}
    for arm in played:
        families.setdefault((arm.title, arm.setup), []).append(arm)
    rows = [row for mine in families.values() if _varied(mine) for row in _rows(sorted(mine, key=_place))]
    if not rows:
        return []
    notes = [_NOTE, *standing.notes(arm.standing for arm in played), f"{METHOD}; wording of the variants is our own"]
    if published and evidence.shows(numbers()["variants"]["player"]):
        rows += variant_rows()
        notes.append(source("Tables A1 and A2, 30 sessions on each of three tasks"))
    return [Table("variants", "Instruction variants, hidden-profile", _COLUMNS, tuple(rows), tuple(notes))]


def _varied(mine: Sequence[Arm]) -> bool:
    return any(arm.variant != PLAIN for arm in mine)


def _place(arm: Arm) -> tuple[int, str]:
    order = [str(row["variant"]) for row in variant_rows()]
    return (order.index(arm.variant) if arm.variant in order else len(order)), arm.variant


def _rows(mine: Sequence[Arm]) -> Iterator[Row]:
    plain = next((arm.tasks("hidden") for arm in mine if arm.variant == PLAIN), {})
    for arm in mine:
        tasks = arm.tasks("hidden")
        shown = figures(tasks, {}, "average")
        cells: list[Cell] = [[_after(tasks, task)] for task in tasks]
        against = _against(tasks, plain) if arm.variant != PLAIN else {}
        yield {
            "player": arm.title,
            "setup": arm.setup or None,
            "variant": arm.variant,
            "tasks": len(tasks),
            "sessions": sum(map(len, tasks.values())),
            "pre": shown.pre,
            "average": shown.post,
            "interval": interval(replicates(cells)[0][:, 0]) if enough(cells) else None,
            "majority": figures(tasks, {}, "majority").post,
            "source": "ours",
            **against,
        }


def _against(tasks: Tasks, plain: Tasks) -> Row:
    """One variant less the plain one, on the tasks of both."""
    both = [task for task in tasks if task in plain]
    if not both:
        return {}
    mine, base = (figures({task: some[task] for task in both}, {}, "average").post for some in (tasks, plain))
    assert mine is not None and base is not None, "tasks have sessions"  # noqa: PT018 - one state
    cells: list[Cell] = [[_after(tasks, task), _after(plain, task)] for task in both]
    if not enough(cells):
        return {"difference": mine - base}
    ours, theirs = replicates(cells)
    return {"difference": mine - base, "difference_interval": interval(ours[:, 0] - theirs[:, 0])}


def _after(tasks: Tasks, task: str) -> list[list[float]]:
    return [[accuracy(result, "after", "average")] for result in tasks[task]]

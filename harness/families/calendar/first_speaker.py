"""Whether who speaks first pays or tells more (paper, G.2; Table 12, Figure 6): paired tests, corrected for their number.

1. The unit is a seat's meeting. Cost is what a participant paid for a scheduled meeting above the certificate's schedule,
   nothing below 0; VPS is what it told in the round, protocol-semantic or reflection-calibrated, before the floor, which is
   one for a whole game.
2. A seat's first-speaker meetings are held against its others in the same game: mean minus mean. The test is Student's t on
   these differences, averaged by task: seats of one task are alike.
3. q is Benjamini and Hochberg's, within each measure, over all rows of the table: players, all of them at one table, and
   every cost setting besides both together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from harness.families.calendar.held import ALL, COLUMNS, Block, Held, HeldSeat, RoundMeasured, held, over_settings
from harness.families.calendar.published import MARK, model_rows, source
from harness.report.evidence import Evidence
from harness.report.statistics import false_discoveries, mean_interval, paired_p, positive_mean_interval
from harness.report.table import Column, Row, Table

EVERYBODY = "everybody"
"""The player of a row over all holders at one table."""

_COLUMNS = (
    *COLUMNS,
    Column("measure", "Measure"),
    Column("first", "First", "rate"),
    Column("first_interval", "95 %", "span"),
    Column("subsequent", "Subsequent", "rate"),
    Column("subsequent_interval", "95 %", "span"),
    Column("pairs", "Pairs"),
    Column("tasks", "Tasks"),
    Column("difference", "Difference", "signed"),
    Column("difference_interval", "95 %", "signed_interval"),
    Column("p", "p", "p"),
    Column("q", "q", "p"),
    Column("source", "Source"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTES = (
    "first, subsequent = means over the meetings of seats, by role; difference = paired within a seat's game, averaged by task",
    "p of Student's t over tasks, q by Benjamini and Hochberg within a measure, over all rows of this table",
    "excess = above the certificate's schedule, where scheduled; VPS = slots told in the round, before the floor of a game",
)
Unit = tuple[bool, float]
"""Whether a seat spoke first about a meeting, and its number there."""


def _excess(seat: HeldSeat, one: RoundMeasured) -> float | None:
    scheduled = seat.result.metrics["rounds"][one.round - 1]["coordinated"]
    return float(max(0, one.cost - one.oracle_cost)) if scheduled and one.oracle_cost is not None else None


_TYPED = "protocol VPS"

_MEASURES: dict[str, Callable[[HeldSeat, RoundMeasured], float | None]] = {
    "excess": _excess,
    _TYPED: lambda _seat, one: one.vps,
    "reflection VPS": lambda _seat, one: one.reflection_vps,
}
_PUBLISHED = {"excess": "cost", "reflection VPS": "vps"}


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none where no seat spoke first in some meetings and not in others."""
    rows = _wanted(held(evidence))
    over_all = any(row.setting == ALL for row in rows)
    made: list[Row] = []
    for measure in _MEASURES:
        lines = [(row, line) for row in rows if (line := _line(row, measure))]
        qs = false_discoveries([line["p"] for _, line in lines])
        for (row, line), q in zip(lines, qs, strict=True):
            made.append({**line, "q": q, "source": "ours"})
            made += _published(row, measure) if published and (row.setting == ALL or not over_all) else []
    notes = (*_NOTES, *([source("Table 12")] if any(row["source"] == MARK for row in made) else []))
    return [Table("first-speaker", "First speakers, calendar", _COLUMNS, tuple(made), notes)] if made else []


def units(seat: HeldSeat, measure: str) -> list[Unit]:
    """A seat's meetings that have the measure."""
    taking_part = [one for one in seat.rounds if one.role != "outsider"]
    known = [(one.role == "first", _MEASURES[measure](seat, one)) for one in taking_part]
    return [(first, value) for first, value in known if value is not None]


def difference(mine: Sequence[Unit]) -> float | None:
    """First-speaker meetings minus the others of one seat's game, mean minus mean; None where either is missing."""
    sides = [[value for first, value in mine if first is side] for side in (True, False)]
    return fmean(sides[0]) - fmean(sides[1]) if all(sides) else None


def _wanted(rows: Iterable[Held]) -> list[Held]:
    """Every row by setting and over all of them, each also for everybody at its table where several sit there."""
    by_setting = [*rows]
    both = over_settings(by_setting) if len({row.setting for row in by_setting}) > 1 else []
    together: dict[tuple[str, str], list[Held]] = {}
    for row in (*both, *by_setting):
        together.setdefault((row.setting, row.group), []).append(row)
    tables_of_all = [_everybody(mine) for mine in together.values() if len(mine) > 1]
    return [*tables_of_all, *both, *by_setting]


def _everybody(rows: Sequence[Held]) -> Held:
    block: Block = "model" if any(row.block == "model" for row in rows) else "protocol"
    first = rows[0]
    seats = [seat for row in rows for seat in row.seats]
    return Held(first.setting, block, EVERYBODY, None, "", first.setup, first.group, seats)


def _line(row: Held, measure: str) -> dict[str, Any] | None:
    if measure == _TYPED and row.has_prose:
        return None
    by_task = [[units(seat, measure) for seat in mine] for mine in row.by_task.values()]
    pairs = [[d for mine in seats if (d := difference(mine)) is not None] for seats in by_task]
    differences = [fmean(mine) for mine in pairs if mine]
    if not differences:
        return None
    sides = {
        side: [[value for mine in seats for first, value in mine if first is wanted] for seats in by_task]
        for side, wanted in (("first", True), ("subsequent", False))
    }
    means = {side: fmean([value for mine in values for value in mine]) for side, values in sides.items()}
    ends = {f"{side}_interval": positive_mean_interval(values) for side, values in sides.items()}
    return {
        **row.head(), "measure": measure, **means, **ends, "pairs": sum(map(len, pairs)), "tasks": len(differences),
        "difference": fmean(differences), "difference_interval": mean_interval(differences), "p": paired_p(differences),
    }  # fmt: skip


def _published(row: Held, measure: str) -> list[Row]:
    """The paper's row of the same model, over both settings."""
    name = _PUBLISHED.get(measure)
    if name is None:
        return []
    rows = model_rows("first_speaker", None, row.model)
    head = {"setting": ALL, "player": row.player, "block": row.block, "measure": measure, "source": MARK}
    return [{**head, "difference": one[name], "q": one[f"{name}_q"]} for one in rows]

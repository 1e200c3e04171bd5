"""The paper's Table 1: a row for each holder of seats and cost setting, models first, protocols in a table of their own below.

1. Means are over seats, and intervals are clustered by task (`harness.report.statistics`).
2. Protocol-semantic VPS and reflection-calibrated VPS measure by different means and never share a column (Table 2, caption).
   What could not be measured is a dash: a nought would be the best value there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from harness.families.calendar.held import COLUMNS, Block, Held, HeldSeat, held, mean
from harness.families.calendar.published import MARK, model_rows, protocol_rows, source
from harness.report.evidence import Evidence
from harness.report.statistics import BOUNDED, Interval, positive_mean_interval, share_interval
from harness.report.table import Column, Form, Row, Table


class _Measure(NamedTuple):
    key: str
    title: str
    form: Form
    of: Callable[[HeldSeat], float | None]

    def columns(self) -> tuple[Column, Column]:
        ends: Form = "interval" if self.form == "percent" else "span"
        kept = "vps" in self.key
        return Column(self.key, self.title, self.form, kept=kept), Column(f"{self.key}_interval", "95 %", ends)

    def interval(self, values: list[list[float]]) -> Interval | None:
        return share_interval(values) if self.form == "percent" else positive_mean_interval(values)


MEASURES = (
    _Measure("coordination", "Coord. %", "percent", lambda seat: seat.measured.coordination),
    _Measure("excess", "Excess", "rate", lambda seat: seat.measured.excess),
    _Measure("adjusted", "Adj. cost", "rate", lambda seat: seat.measured.adjusted_cost),
    _Measure("messages", "Msgs", "rate", lambda seat: seat.measured.messages_per_scheduled),
    _Measure("fairness", "Fairness", "number", lambda seat: seat.measured.fairness),
    _Measure("protocol_vps", "Protocol VPS", "rate", lambda seat: seat.vps),
    _Measure("reflection_vps", "Reflection VPS", "rate", lambda seat: seat.measured.excess_reflection_vps),
)
_COLUMNS = (
    *COLUMNS,
    Column("tasks", "Tasks"),
    Column("meetings", "Meetings", "rate"),
    *(column for measure in MEASURES for column in measure.columns()),
    Column("source", "Source"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
    Column("costed", "Seats with a known optimum", shown=False),
    Column("beliefs", "Answers about beliefs", shown=False),
    Column("unreadable", "Unreadable answers", shown=False),
)
_TITLES: Mapping[Block, tuple[str, str]] = {
    "model": ("seats", "Seats of models, calendar"),
    "protocol": ("seats-protocols", "Seats of protocols, calendar"),
}
_NOTES = (
    "N = seats of games; means over seats; meetings = scheduled of those that a seat takes part in",
    "excess = cost above the optimum of what was scheduled, adj. = with each missed meeting at its span from best to worst",
    "msgs = sent per scheduled meeting, fairness = distance of its excess from the game's mean, VPS = slots told beyond five",
)
_DASH = "protocol VPS is of typed messages, so a row with prose has none; reflection VPS is of runs that asked for it"


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """The models' table and the protocols', each where it has seats."""
    rows = held(evidence)
    return [
        _table(block, mine, published=published) for block in _TITLES if (mine := [row for row in rows if row.block == block])
    ]


def _table(block: Block, rows: list[Held], *, published: bool) -> Table:
    name, title = _TITLES[block]
    made = [line for row in rows for line in _lines(row, rows, published=published)]
    paper = "Table 1" if block == "model" else "Table 2"
    notes = (*_NOTES, _DASH, *_unread(rows), BOUNDED, *([source(paper)] if any(row["source"] == MARK for row in made) else []))
    return Table(name, title, _COLUMNS, tuple(made), notes)


def _unread(rows: list[Held]) -> Iterator[str]:
    """How many answers of these seats about others' calendars could not be read, where they were asked."""
    # a script that holds all seats, such as a task's own solution, was never going to answer
    seats = [one.measured for row in rows for one in row.seats if one.holder and one.measured.beliefs is not None]
    if seats:
        unread, read = sum(one.unreadable or 0 for one in seats), sum(one.beliefs or 0 for one in seats)
        yield f"{unread} of {unread + read} answers about beliefs could not be read, and add nothing to reflection VPS"
    known = [one for one in seats if one.weighed is not None]
    if known:
        weighed, read = sum(one.weighed or 0 for one in known), sum(one.beliefs or 0 for one in known)
        yield f"{weighed} of {read} answers that could be read count by token probabilities, the others as written"


def _lines(row: Held, rows: list[Held], *, published: bool) -> Iterator[Row]:
    """A row, and the paper's under the first of its name in a setting: its models sat in mixed teams, its protocols alone."""
    yield {**row.head(), **measured(row), "source": "ours"}
    alike = (one for one in rows if (one.setting, one.player) == (row.setting, row.player))
    first = next((one for one in alike if row.block == "model" or not one.others), None)
    if published and first is row:
        yield from _published(row)


def measured(row: Held) -> Row:
    """Every measure of a row with its interval."""
    made: dict[str, Any] = {
        "tasks": len(row.by_task),
        "meetings": mean(row.values(lambda seat: seat.measured.scheduled)),
        "costed": sum(seat.measured.excess is not None for seat in row.seats),
        "unreadable": _total(row, lambda seat: seat.measured.unreadable),
        "beliefs": _total(row, lambda seat: seat.measured.beliefs),
    }
    for one in MEASURES:
        values = row.values(one.of) if not (one.key == "protocol_vps" and row.has_prose) else []
        made |= {one.key: mean(values), f"{one.key}_interval": one.interval(values)}
    if not made["meetings"]:
        # who scheduled none has no such value, and not the best one
        made |= {f"{key}{end}": None for key in ("excess", "messages", "fairness") for end in ("", "_interval")}
    return made


def _total(row: Held, counted: Callable[[HeldSeat], int | None]) -> int | None:
    known = [count for one in row.seats if (count := counted(one)) is not None]
    return sum(known) if known else None


def _published(row: Held) -> Iterator[Row]:
    """What the paper prints of the same model or protocol."""
    vps = "reflection_vps" if row.block == "model" else "protocol_vps"
    rows = model_rows("models", row.setting, row.model) if row.block == "model" else protocol_rows(row.setting, row.player)
    for one in rows:
        numbers = {key: one[key] for key in ("n", "meetings", "excess", "messages", "fairness") if key in one}
        head = {"setting": row.setting, "player": row.player, "block": row.block, "source": MARK}
        yield {**head, **numbers, "coordination": one["coordination"] / 100, vps: one["vps"]}

"""Messages against cost (paper, 4.3 and Figure 3): a point a seat, and a least-squares line through each player's points.

The slope says what one more message for each scheduled meeting goes with. Its interval is clustered by task: the seats of a
game share its talk.
"""

from __future__ import annotations

from statistics import fmean

from harness.families.calendar.held import COLUMNS, Held, held
from harness.report.evidence import Evidence
from harness.report.statistics import line_through
from harness.report.table import Column, Row, Table

_COLUMNS = (
    *COLUMNS,
    Column("messages", "Msgs", "rate"),
    Column("excess", "Excess", "rate"),
    Column("slope", "Slope", "signed"),
    Column("slope_interval", "95 %", "signed_interval"),
    Column("correlation", "r", "signed"),
    Column("intercept", "Intercept", "rate", shown=False),
    Column("points", "Messages,excess of each seat", shown=False),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTE = (
    "slope = excess for one more message a scheduled meeting, by least squares over seats; its 95 % by the sandwich error "
    "clustered by task"
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """One table; none without seats that have an optimum."""
    rows = [line for row in held(evidence) if (line := _line(row))]
    return [Table("communication", "Messages against excess, calendar", _COLUMNS, tuple(rows), (_NOTE,))] if rows else []


def _line(row: Held) -> Row | None:
    points = [
        [
            (seat.measured.messages_per_scheduled, float(seat.measured.excess))
            for seat in mine
            if seat.measured.excess is not None and seat.measured.messages_per_scheduled is not None
        ]
        for mine in row.by_task.values()
    ]
    flat = [point for mine in points for point in mine]
    if not flat:
        return None
    line = line_through([mine for mine in points if mine])
    fitted = line._asdict() if line else {}
    means = {"messages": fmean(x for x, _ in flat), "excess": fmean(y for _, y in flat)}
    return {**row.head(), **means, **fitted, "points": " ".join(f"{x:g},{y:g}" for x, y in flat)}

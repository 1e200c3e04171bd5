"""Meetings moved once more (paper, G.4 and Figure 9), by whom, jointly or alone; and what outsiders moved when asked to.

1. The paper's number is a game's: how many different earlier meetings a seat moved. Everything that was committed counts, also
   where its round failed and was undone: a meeting that is moved alone breaks, and fails its round.
2. A move is joint where all participants of the meeting moved it in that round.
3. Voluntary moves are those of outsiders, items of any kind: participants move when they decide.
"""

from __future__ import annotations

from harness.families.calendar.held import COLUMNS, Held, HeldSeat, held, mean
from harness.report.evidence import Evidence
from harness.report.statistics import BOUNDED, positive_mean_interval, share_interval
from harness.report.table import Column, Row, Table

_COLUMNS = (
    *COLUMNS,
    Column("moved", "Prior moved", "rate"),
    Column("moved_interval", "95 %", "span"),
    Column("movers", "Seats with any %", "percent"),
    Column("movers_interval", "95 %", "interval"),
    Column("joint", "Jointly"),
    Column("alone", "Alone"),
    Column("by_participants", "By participants"),
    Column("by_outsiders", "By outsiders"),
    Column("voluntary", "Voluntary", "rate"),
    Column("voluntary_interval", "95 %", "span"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTES = (
    "prior moved = different earlier meetings that a seat moved in a game; jointly, alone, by whom: counted in each round",
    "voluntary = items of any kind that a seat moved as an outsider, a game",
    BOUNDED,
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """One table; none where verdicts do not say what was moved in each round."""
    rows = [_line(row) for row in held(evidence) if any(seat.rounds for seat in row.seats)]
    return [Table("moves", "Moves of earlier meetings, calendar", _COLUMNS, tuple(rows), _NOTES)] if rows else []


def moved(seat: HeldSeat) -> float | None:
    """How many different earlier meetings a seat moved in its game; None where the verdict does not say."""
    rounds = seat.rounds
    return float(len({meeting for one in rounds for meeting in one.moved})) if rounds else None


def voluntary(seat: HeldSeat) -> float | None:
    """How many items a seat moved as an outsider."""
    rounds = seat.rounds
    return float(sum(one.moves for one in rounds if one.role == "outsider")) if rounds else None


def _line(row: Held) -> Row:
    numbers, asked = row.values(moved), row.values(voluntary)
    any_moved = [[float(number > 0) for number in mine] for mine in numbers]
    rounds = [one for seat in row.seats for one in seat.rounds]
    counted, alone = sum(len(one.moved) for one in rounds), sum(len(one.alone) for one in rounds)
    outside = sum(len(one.moved) for one in rounds if one.role == "outsider")
    return {
        **row.head(),
        "moved": mean(numbers),
        "moved_interval": positive_mean_interval(numbers),
        "movers": mean(any_moved),
        "movers_interval": share_interval(any_moved),
        "joint": counted - alone,
        "alone": alone,
        "by_participants": counted - outside,
        "by_outsiders": outside,
        "voluntary": mean(asked),
        "voluntary_interval": positive_mean_interval(asked),
    }

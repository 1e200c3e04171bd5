"""How far costs depend on which of several best schedules a seat is held against: envelopes over ties.

1. Several schedules may cost the optimum and share it out differently; the certificate takes one of them. Where a game's
   meetings were all scheduled it knows the least and the most that each seat pays over all of them (`ranges`). Where what was
   scheduled costs nothing at best, every seat's share is 0 in each, so a game in part has no ties either.
2. Of other games in part no ranges are proved. `bounds` holds for any of them: a share lies between 0 and the whole optimum.
3. Adjusted cost is a seat's excess a meeting where it missed none. A missed meeting counts by the worst schedule, whose ties
   no certificate tells, so those seats have no envelope.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

from harness.families.calendar.held import COLUMNS, Held, HeldSeat, held
from harness.report.evidence import Evidence
from harness.report.table import Column, Row, Table

Envelope = tuple[float, float]
"""Least and most."""

_COLUMNS = (
    *COLUMNS,
    Column("known", "Known"),
    Column("excess", "Excess", "rate"),
    Column("ties", "Over ties", "span"),
    Column("fairest", "Fairest", "rate"),
    Column("adjusted_known", "Known"),
    Column("adjusted", "Adj. cost", "rate"),
    Column("adjusted_ties", "Over ties", "span"),
    Column("all_excess", "Excess of all", "rate"),
    Column("bounds", "Bounds", "span"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTES = (
    "known = seats whose share is proved over all best schedules: of games scheduled whole, or in part and for nothing at best",
    "excess and its least..most over ties are of these; fairest = against the fairest best schedule, where it is known",
    "adj. cost: of those that missed no meeting; a missed one counts by the worst schedule, whose ties are not proved",
    "bounds: of all seats with an optimum, since a share lies between nothing and the whole optimum",
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the paper prints no envelopes
    """One table; none without seats that have an optimum."""
    rows = [line for row in held(evidence) if (line := _line(row))]
    return [Table("ties", "Costs over ties of the optimum, calendar", _COLUMNS, tuple(rows), _NOTES)] if rows else []


def excess_envelope(seat: HeldSeat) -> Envelope | None:
    """The least and the most excess of a seat over all best schedules of what was scheduled; None where that is not proved."""
    if seat.measured.excess_range is not None:
        return seat.measured.excess_range
    if seat.measured.excess is not None and seat.result.metrics.get("optimum") == 0:
        return seat.measured.excess, seat.measured.excess
    return None


def adjusted_envelope(seat: HeldSeat) -> Envelope | None:
    """The least and the most adjusted cost of a seat over ties; None where it missed a meeting, or its excess has none."""
    ends, meetings = excess_envelope(seat), seat.measured.meetings
    if ends is None or not meetings or seat.measured.scheduled < meetings:
        return None
    return ends[0] / meetings, ends[1] / meetings


def bounds(seat: HeldSeat) -> Envelope | None:
    """What its excess lies between whatever share of the optimum is its own; None without an optimum."""
    optimum = seat.result.metrics.get("optimum")
    return None if optimum is None else (max(0, seat.measured.paid - optimum), seat.measured.paid)


def _line(row: Held) -> Row | None:
    made: dict[str, Any] = {}
    costed = [(seat, ends) for seat in row.seats if (ends := bounds(seat)) and seat.measured.excess is not None]
    if not costed:
        return None
    if known := [(seat, ends) for seat in row.seats if (ends := excess_envelope(seat))]:
        fairest = [seat.measured.excess_fairest for seat, _ in known if seat.measured.excess_fairest is not None]
        made |= {"known": len(known), "excess": fmean(seat.measured.excess or 0 for seat, _ in known)}
        made |= {"ties": _means([ends for _, ends in known]), "fairest": fmean(fairest) if fairest else None}
    if known := [(seat, ends) for seat in row.seats if (ends := adjusted_envelope(seat))]:
        made |= {"adjusted_known": len(known), "adjusted": fmean(seat.measured.adjusted_cost or 0.0 for seat, _ in known)}
        made |= {"adjusted_ties": _means([ends for _, ends in known])}
    all_excess = fmean(seat.measured.excess or 0 for seat, _ in costed)
    return {**row.head(), **made, "all_excess": all_excess, "bounds": _means([ends for _, ends in costed])}


def _means(envelopes: list[Envelope]) -> Envelope:
    return fmean(low for low, _ in envelopes), fmean(high for _, high in envelopes)

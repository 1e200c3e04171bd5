"""Cost of those who got everything scheduled (paper, G.1 and Table 11): what is regretted where nothing was missed.

1. Scope `seats` is the paper's: seats with all their own meetings scheduled. Scope `games` keeps those of them in whose game
   every meeting was scheduled, where nobody bought a low cost by letting others fail.
2. Mean excess is a seat's excess for each meeting that it had scheduled; nonzero regret is the share of seats with any excess.
3. Costs are on the scored scale. The paper's column must be on the shown one (6.00 a meeting, where Table 1 has 1.49 a game).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from harness.families.calendar.held import ALL, COLUMNS, Held, HeldSeat, held, mean, over_settings
from harness.families.calendar.published import MARK, model_rows, source
from harness.report.evidence import Evidence
from harness.report.statistics import BOUNDED, positive_mean_interval, share_interval
from harness.report.table import Column, Row, Table

_COLUMNS = (
    *COLUMNS,
    Column("scope", "Scope"),
    Column("full", "Full"),
    Column("excess", "Mean excess", "rate"),
    Column("excess_interval", "95 %", "span"),
    Column("nonzero", "Nonzero %", "percent"),
    Column("nonzero_interval", "95 %", "interval"),
    Column("source", "Source"),
    Column("group", "Row of", shown=False),
    Column("block", "Block", shown=False),
)
_NOTE = (
    "full = seats of which all meetings were scheduled (seats), also all others of their game (games); mean excess = of a "
    "scheduled meeting; nonzero = share of these seats with any excess"
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:
    """One table; none without a full seat."""
    rows = held(evidence)
    whole = over_settings(rows) if len({row.setting for row in rows}) > 1 else []
    made = [line for row in (*rows, *whole) for line in _lines(row, published=published and (row.setting == ALL or not whole))]
    notes = (_NOTE, BOUNDED, *([source("Table 11")] if any(row["source"] == MARK for row in made) else []))
    return [Table("regret", "Regret of full seats, calendar", _COLUMNS, tuple(made), notes)] if made else []


def is_full(seat: HeldSeat) -> bool:
    """Whether all meetings of a seat were scheduled; one without meetings has nothing to regret."""
    return 0 < seat.measured.meetings == seat.measured.scheduled


def is_whole(seat: HeldSeat) -> bool:
    """Whether also every other meeting of its game was."""
    metrics = seat.result.metrics
    return is_full(seat) and metrics["scheduled"] == metrics["meetings"]


_SCOPES: Mapping[str, Callable[[HeldSeat], bool]] = {"seats": is_full, "games": is_whole}


def excess_a_meeting(seat: HeldSeat) -> float | None:
    """A full seat's excess for each of its meetings; None where no certificate says what these cost."""
    return None if seat.measured.excess is None else seat.measured.excess / seat.measured.scheduled


def _lines(row: Held, *, published: bool) -> Iterator[Row]:
    for scope, holds in _SCOPES.items():
        full = [seat for seat in row.seats if holds(seat)]
        if full:
            yield {**row.head(), "scope": scope, "source": "ours", **_measured(row, holds), "full": len(full)}
    for one in model_rows("regret", None, row.model) if published else ():
        told = {"full": one["full"], "excess": one["excess"], "nonzero": one["nonzero"] / 100}
        yield {"setting": ALL, "player": row.player, "block": row.block, "scope": "seats", "source": MARK, **told}


def _measured(row: Held, holds: Callable[[HeldSeat], bool]) -> Row:
    costs = row.values(lambda seat: excess_a_meeting(seat) if holds(seat) else None)
    regretted = [[float(cost > 0) for cost in mine] for mine in costs]
    return {
        "excess": mean(costs),
        "excess_interval": positive_mean_interval(costs),
        "nonzero": mean(regretted),
        "nonzero_interval": share_interval(regretted),
    }

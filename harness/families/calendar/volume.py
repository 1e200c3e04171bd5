"""How much seats talk (paper, G.3; Figures 7 and 8): messages a seat sent about each meeting, and by its role there.

1. A round is one meeting, in the order in which they arrive. All seats count, also those that take no part: they may be
   written to, and answer.
2. First speaker, other participant and outsider are roles in a round; the mean of a role is over the seats that had it.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.families.calendar.held import COLUMNS, Held, RoundMeasured, held, mean
from harness.report.evidence import Evidence
from harness.report.statistics import BOUNDED, positive_mean_interval
from harness.report.table import Column, Row, Table

ROLES = {"first": "First", "participant": "Participant", "outsider": "Outsider"}
_NOTES = (
    "messages of a seat about the 1st, 2nd, ... meeting; first speakers, other participants, outsiders: of seats in that role",
    BOUNDED,
)


def tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figures print no numbers
    """One table; none where verdicts do not say what was sent in each round."""
    rows = [(row, rounds) for row in held(evidence) if (rounds := _rounds(row))]
    if not rows:
        return []
    last = max(one.round for _, rounds in rows for mine in rounds for one in mine)
    numbers = [Column(f"round_{number}", f"M{number}", "rate") for number in range(1, last + 1)]
    roles = [
        column
        for role, title in ROLES.items()
        for column in (Column(role, title, "rate"), Column(f"{role}_interval", "95 %", "span"))
    ]
    ends = [Column(f"round_{number}_interval", f"M{number}, 95 %", "span", shown=False) for number in range(1, last + 1)]
    hidden = (Column("group", "Row of", shown=False), Column("block", "Block", shown=False))
    made = tuple(_line(row, rounds, last) for row, rounds in rows)
    columns = (*COLUMNS, *numbers, *roles, *ends, *hidden)
    return [Table("volume", "Messages by meeting and role, calendar", columns, made, _NOTES)]


def _rounds(row: Held) -> list[list[RoundMeasured]]:
    """What its seats did in each round, by task."""
    by_task = [[one for seat in mine for one in seat.rounds] for mine in row.by_task.values()]
    return [mine for mine in by_task if mine]


def _line(row: Held, rounds: list[list[RoundMeasured]], last: int) -> Row:
    wanted: dict[str, Callable[[RoundMeasured], bool]] = {
        **{f"round_{number}": _in_round(number) for number in range(1, last + 1)},
        **{role: _in_role(role) for role in ROLES},
    }
    made = dict(row.head())
    for key, holds in wanted.items():
        values = [[float(one.messages) for one in mine if holds(one)] for mine in rounds]
        made |= {key: mean(values), f"{key}_interval": positive_mean_interval(values)}
    return made


def _in_round(number: int) -> Callable[[RoundMeasured], bool]:
    return lambda one: one.round == number


def _in_role(role: str) -> Callable[[RoundMeasured], bool]:
    return lambda one: one.role == role

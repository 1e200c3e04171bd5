"""Tables about rounds: first speakers, volume of messages, and moved meetings (docs/calendar.md).

1. First speakers (paper, G.2; Table 12, Figure 6): the unit is a seat's meeting. The mean of a seat's first-speaker meetings is
compared with the mean of its other meetings in the same game. Student's t test uses these differences averaged by task, because
seats of one task are correlated; q is Benjamini and Hochberg's within each measure, over all rows of the table.
2. Volume (paper, G.3; Figures 7 and 8): all seats count, including seats outside the meeting, which may receive and answer.
3. Moves (paper, G.4 and Figure 9): all committed moves count, even if the round failed and was rolled back. A move is joint if
all participants of the moved meeting moved it in that round. Voluntary moves are moves of any item by seats outside the round's
meeting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from harness.frames import grouped
from parley.families.calendar.seat_rows import (
    ALL,
    SOURCE,
    Block,
    Held,
    HeldSeat,
    RoundMeasured,
    estimate,
    head,
    held,
    held_table,
    measured,
    model_rows,
    over_settings,
    published_row,
)
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, WithInterval, row_of, with_interval
from parley.statistics import BOUNDED, false_discoveries, mean_interval, paired_p

EVERYBODY = "everybody"
"""The player of a row over all players in a game."""

_COLUMNS = (
    Column("measure", "Measure"),
    *with_interval("first", "First", of=lambda by_task: _of_role(by_task, first=True)),
    *with_interval("subsequent", "Subsequent", of=lambda by_task: _of_role(by_task, first=False)),
    Column("pairs", "Pairs", of=lambda by_task: sum(map(len, _pairs(by_task)))),
    Column("tasks", "Tasks", of=lambda by_task: len(_differences(by_task))),
    *with_interval("difference", "Difference", "signed", "signed_interval", lambda by_task: _paired(_differences(by_task))),
    Column("p", "p", "p", of=lambda by_task: paired_p(_differences(by_task))),
    Column("q", "q", "p"),
    SOURCE,
)
_NOTES = (
    "first, subsequent = means over the meetings of seats, by role; difference = paired within a seat's game, averaged by task",
    "p of Student's t over tasks, q by Benjamini and Hochberg within a measure, over all rows of this table",
    "excess = above the certificate's schedule, where scheduled; VPS = slots told in the round, before the floor of a game",
)
Unit = tuple[bool, float]
"""True if a seat spoke first about a meeting, and its value there."""

ByTask = Sequence[Sequence[Sequence[Unit]]]
"""Units by task and seat."""


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
    """Return one table; none if no seat spoke first in some meetings and not in others."""
    rows = _wanted(held(evidence))
    over_all = any(row.who.setting == ALL for row in rows)
    made: list[Row] = []
    for measure in _MEASURES:
        compared = [(row, by_task) for row in rows if _differences(by_task := _units(row, measure))]
        lines = [{**head(row), "measure": measure, **row_of(_COLUMNS, by_task)} for row, by_task in compared]
        qs = false_discoveries([paired_p(_differences(by_task)) for _, by_task in compared])
        for (row, _), line, q in zip(compared, lines, qs, strict=True):
            made.append({**line, "q": q})
            made += _published(row, measure) if published and (row.who.setting == ALL or not over_all) else []
    return held_table("first-speaker", "First speakers", _COLUMNS, made, _NOTES, paper="Table 12")


def _units(row: Held, measure: str) -> ByTask:
    """Return the meetings of a row that have the measure, by task and seat."""
    if measure == _TYPED and row.has_prose:
        return []

    def of(seat: HeldSeat) -> list[Unit]:
        values = [(one.role == "first", _MEASURES[measure](seat, one)) for one in seat.rounds if one.role != "outsider"]
        return [(first, value) for first, value in values if value is not None]

    return [list(map(of, seats)) for seats in row.by_task.values()]


def _of_role(by_task: ByTask, *, first: bool) -> WithInterval:
    return estimate([[value for mine in seats for spoke_first, value in mine if spoke_first is first] for seats in by_task])


def difference(mine: Sequence[Unit]) -> float | None:
    """Return the mean of first-speaker meetings minus that of the others of one seat's game; None if either is missing."""
    sides = [[value for first, value in mine if first is side] for side in (True, False)]
    return fmean(sides[0]) - fmean(sides[1]) if all(sides) else None


def _pairs(by_task: ByTask) -> list[list[float]]:
    return [[d for mine in seats if (d := difference(mine)) is not None] for seats in by_task]


def _differences(by_task: ByTask) -> list[float]:
    return [fmean(mine) for mine in _pairs(by_task) if mine]


def _paired(differences: Sequence[float]) -> WithInterval:
    return WithInterval(fmean(differences), mean_interval(differences))


def _wanted(rows: Sequence[Held]) -> list[Held]:
    """Return every row, by setting and over all settings; games of several players also have rows over all players."""
    both = over_settings(rows) if len({row.who.setting for row in rows}) > 1 else []
    together = grouped((*both, *rows), lambda row: (row.who.setting, row.who.group)).values()
    return [*(_everybody(mine) for mine in together if len(mine) > 1), *both, *rows]


def _everybody(rows: Sequence[Held]) -> Held:
    block: Block = "model" if any(row.who.block == "model" for row in rows) else "protocol"
    who = rows[0].who._replace(block=block, player=EVERYBODY, others="")
    return Held(who, None, [seat for row in rows for seat in row.seats])


def _published(row: Held, measure: str) -> list[Row]:
    """Return the paper's row of the same model, over both cost settings."""
    name = _PUBLISHED.get(measure)
    if name is None:
        return []
    rows = model_rows("first_speaker", None, row.model)
    return [published_row(row, {"difference": one[name], "q": one[f"{name}_q"]}, setting=ALL, measure=measure) for one in rows]


ROLES = {"first": "First", "participant": "Participant", "outsider": "Outsider"}
_VOLUME_NOTES = (
    "messages of a seat about the 1st, 2nd, ... meeting; first speakers, other participants, outsiders: of seats in that role",
    BOUNDED,
)


def volume_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figures print no numbers
    """Return one table; none if verdicts do not have the messages of each round."""
    rows = [row for row in held(evidence) if row.rounds]
    numbers = range(1, max((one.round for row in rows for mine in row.rounds for one in mine), default=0) + 1)
    means, ends = zip(*(_messages(f"round_{number}", f"M{number}") for number in numbers), strict=True) if rows else ((), ())
    hidden = [replace(column, title=f"M{number}, 95 %", shown=False) for number, column in zip(numbers, ends, strict=True)]
    roles = [column for role, title in ROLES.items() for column in _messages(role, title)]
    return held_table("volume", "Messages by meeting and role", (*means, *roles, *hidden), rows, _VOLUME_NOTES)


def _messages(key: str, title: str) -> tuple[Column, Column]:
    """Return the columns of messages in a round, or of seats in a role."""
    return with_interval(key, title, of=lambda row: estimate([
        [float(one.messages) for one in mine if key in {f"round_{one.round}", one.role}] for mine in row.rounds
    ]))  # fmt: skip


def _moved(seat: HeldSeat) -> float | None:
    """Return the number of different earlier meetings that a seat moved in its game; None if the verdict does not have it."""
    return float(len({meeting for one in seat.rounds for meeting in one.moved})) if seat.rounds else None


def _voluntary(seat: HeldSeat) -> float | None:
    """Return the number of items that a seat moved in rounds of meetings in which it does not take part."""
    return float(sum(one.moves for one in seat.rounds if one.role == "outsider")) if seat.rounds else None


def _has_moved(seat: HeldSeat) -> float | None:
    number = _moved(seat)
    return None if number is None else float(number > 0)


def _counted(key: str, title: str, count: Callable[[RoundMeasured], int]) -> Column:
    """Return the column of a count over the rounds of all seats."""
    return Column(key, title, of=lambda row: sum(count(one) for mine in row.rounds for one in mine))


_MOVE_COLUMNS = (
    *measured("moved", "Prior moved", _moved),
    *measured("movers", "Seats with any %", _has_moved, "percent"),
    _counted("joint", "Jointly", lambda one: len(one.moved) - len(one.alone)),
    _counted("alone", "Alone", lambda one: len(one.alone)),
    _counted("by_participants", "By participants", lambda one: len(one.moved) if one.role != "outsider" else 0),
    _counted("by_outsiders", "By outsiders", lambda one: len(one.moved) if one.role == "outsider" else 0),
    *measured("voluntary", "Voluntary", _voluntary),
)
_MOVE_NOTES = (
    "prior moved = different earlier meetings that a seat moved in a game; jointly, alone, by whom: counted in each round",
    "voluntary = items of any kind that a seat moved as an outsider, a game",
    BOUNDED,
)


def move_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """Return one table; none if verdicts do not have the moves of each round."""
    rows = [row for row in held(evidence) if row.rounds]
    return held_table("moves", "Moves of earlier meetings", _MOVE_COLUMNS, rows, _MOVE_NOTES)

"""Tables about rounds: first speakers, volume of messages, and moved meetings.

The table of first speakers tests if speaking first pays or tells more (paper, G.2; Table 12, Figure 6), with paired tests that
are corrected for their number.

1. The unit is a seat's meeting. Cost is a participant's cost of a scheduled meeting above the certificate's schedule, at least
   0; VPS is the slots told in the round, protocol-semantic or reflection-calibrated, before the floor, which is one for a whole
   game.
2. A seat's first-speaker meetings are compared with its others in the same game: mean minus mean. The test is Student's t on
   these differences, averaged by task, because seats of one task are correlated.
3. q is Benjamini and Hochberg's, within each measure, over all rows of the table: players, all players of a game together, and
   every cost setting besides both together.

The table of volume (paper, G.3; Figures 7 and 8) has messages per seat about each meeting, and by its role there.

1. A round is one meeting, in the order in which they arrive. All seats count, including those that take no part, because they
   may receive messages and answer.
2. First speaker, other participant and outsider are roles in a round; the mean of a role is over the seats that had it.

The table of moves has moved earlier meetings (paper, G.4 and Figure 9), by seat, jointly or alone, and moves of outsiders on
request.

1. The paper's number is per game: the number of different earlier meetings that a seat moved. Everything committed counts, even
   if its round failed and was rolled back: a meeting that is moved alone breaks, and fails its round.
2. A move is joint if all participants of the meeting moved it in that round.
3. Voluntary moves are those of outsiders, items of any kind: participants move in the decision phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from harness.statistics import BOUNDED, false_discoveries, mean_interval, paired_p, share_interval
from parley.families.calendar.seat_rows import (
    ALL,
    MARK,
    Block,
    Held,
    HeldSeat,
    RoundMeasured,
    figured,
    held,
    held_table,
    model_rows,
    over_settings,
)
from parley.reports.evidence import Evidence
from parley.reports.table import Column, Row, Table, titled, with_interval

EVERYBODY = "everybody"
"""The player of a row over all holders in a game."""

_COLUMNS = (
    Column("measure", "Measure"),
    *with_interval("first", "First"),
    *with_interval("subsequent", "Subsequent"),
    *titled(pairs="Pairs", tasks="Tasks"),
    *with_interval("difference", "Difference", "signed", "signed_interval"),
    *titled("p", p="p", q="q"),
    Column("source", "Source"),
)
_NOTES = (
    "first, subsequent = means over the meetings of seats, by role; difference = paired within a seat's game, averaged by task",
    "p of Student's t over tasks, q by Benjamini and Hochberg within a measure, over all rows of this table",
    "excess = above the certificate's schedule, where scheduled; VPS = slots told in the round, before the floor of a game",
)
Unit = tuple[bool, float]
"""True if a seat spoke first about a meeting, and its value there."""


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
    over_all = any(row.setting == ALL for row in rows)
    made: list[Row] = []
    for measure in _MEASURES:
        lines = [(row, line) for row in rows if (line := _line(row, measure))]
        qs = false_discoveries([line["p"] for _, line in lines])
        for (row, line), q in zip(lines, qs, strict=True):
            made.append({**line, "q": q, "source": "ours"})
            made += _published(row, measure) if published and (row.setting == ALL or not over_all) else []
    return held_table("first-speaker", "First speakers", _COLUMNS, made, _NOTES, paper="Table 12")


def units(seat: HeldSeat, measure: str) -> list[Unit]:
    """Return a seat's meetings that have the measure."""
    taking_part = [one for one in seat.rounds if one.role != "outsider"]
    known = [(one.role == "first", _MEASURES[measure](seat, one)) for one in taking_part]
    return [(first, value) for first, value in known if value is not None]


def difference(mine: Sequence[Unit]) -> float | None:
    """Return the mean of first-speaker meetings minus that of the others of one seat's game; None if either is missing."""
    sides = [[value for first, value in mine if first is side] for side in (True, False)]
    return fmean(sides[0]) - fmean(sides[1]) if all(sides) else None


def _wanted(rows: Iterable[Held]) -> list[Held]:
    """Return every row by setting and over all of them, each also for all players of its game if there are several."""
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
    return {
        **row.head(), "measure": measure, **figured("first", sides["first"]), **figured("subsequent", sides["subsequent"]),
        "pairs": sum(map(len, pairs)), "tasks": len(differences), "difference": fmean(differences),
        "difference_interval": mean_interval(differences), "p": paired_p(differences),
    }  # fmt: skip


def _published(row: Held, measure: str) -> list[Row]:
    """Return the paper's row of the same model, over both settings."""
    name = _PUBLISHED.get(measure)
    if name is None:
        return []
    rows = model_rows("first_speaker", None, row.model)
    head = {"setting": ALL, "player": row.player, "block": row.block, "measure": measure, "source": MARK}
    return [{**head, "difference": one[name], "q": one[f"{name}_q"]} for one in rows]


ROLES = {"first": "First", "participant": "Participant", "outsider": "Outsider"}
_VOLUME_NOTES = (
    "messages of a seat about the 1st, 2nd, ... meeting; first speakers, other participants, outsiders: of seats in that role",
    BOUNDED,
)


def volume_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figures print no numbers
    """Return one table; none if verdicts do not have the messages of each round."""
    rows = [(row, rounds) for row in held(evidence) if (rounds := _rounds(row))]
    numbers = range(1, max((one.round for _, rounds in rows for mine in rounds for one in mine), default=0) + 1)
    means = [Column(f"round_{number}", f"M{number}", "rate") for number in numbers]
    roles = [column for role, title in ROLES.items() for column in with_interval(role, title)]
    ends = [Column(f"round_{number}_interval", f"M{number}, 95 %", "span", shown=False) for number in numbers]
    made = [_volume(row, rounds, numbers) for row, rounds in rows]
    return held_table("volume", "Messages by meeting and role", (*means, *roles, *ends), made, _VOLUME_NOTES)


def _rounds(row: Held) -> list[list[RoundMeasured]]:
    """Return its seats' measures in each round, by task."""
    by_task = [[one for seat in mine for one in seat.rounds] for mine in row.by_task.values()]
    return [mine for mine in by_task if mine]


def _volume(row: Held, rounds: list[list[RoundMeasured]], numbers: Iterable[int]) -> Row:
    made = dict(row.head())
    for key in (*(f"round_{number}" for number in numbers), *ROLES):
        made |= figured(
            key, [[float(one.messages) for one in mine if key in {f"round_{one.round}", one.role}] for mine in rounds]
        )
    return made


_MOVE_COLUMNS = (
    *with_interval("moved", "Prior moved"),
    *with_interval("movers", "Seats with any %", "percent", "interval"),
    *titled(joint="Jointly", alone="Alone", by_participants="By participants", by_outsiders="By outsiders"),
    *with_interval("voluntary", "Voluntary"),
)
_MOVE_NOTES = (
    "prior moved = different earlier meetings that a seat moved in a game; jointly, alone, by whom: counted in each round",
    "voluntary = items of any kind that a seat moved as an outsider, a game",
    BOUNDED,
)


def move_tables(evidence: Evidence, *, published: bool) -> list[Table]:  # noqa: ARG001 - the figure prints no numbers
    """Return one table; none if verdicts do not have the moves of each round."""
    rows = [_moves(row) for row in held(evidence) if any(seat.rounds for seat in row.seats)]
    return held_table("moves", "Moves of earlier meetings", _MOVE_COLUMNS, rows, _MOVE_NOTES)


def moved(seat: HeldSeat) -> float | None:
    """Return the number of different earlier meetings that a seat moved in its game; None if the verdict does not have it."""
    rounds = seat.rounds
    return float(len({meeting for one in rounds for meeting in one.moved})) if rounds else None


def voluntary(seat: HeldSeat) -> float | None:
    """Return the number of items that a seat moved as an outsider."""
    rounds = seat.rounds
    return float(sum(one.moves for one in rounds if one.role == "outsider")) if rounds else None


def _moves(row: Held) -> Row:
    numbers, asked = row.values(moved), row.values(voluntary)
    any_moved = [[float(number > 0) for number in mine] for mine in numbers]
    rounds = [one for seat in row.seats for one in seat.rounds]
    counted, alone = sum(len(one.moved) for one in rounds), sum(len(one.alone) for one in rounds)
    outside = sum(len(one.moved) for one in rounds if one.role == "outsider")
    return {
        **row.head(),
        **figured("moved", numbers),
        **figured("movers", any_moved, share_interval),
        "joint": counted - alone,
        "alone": alone,
        "by_participants": counted - outside,
        "by_outsiders": outside,
        **figured("voluntary", asked),
    }

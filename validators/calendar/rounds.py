"""A game, rebuilt round by round: talk, decisions, what was committed, and what that came to under the game's options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from validators.calendar.board import Board, Now
from validators.calendar.deciding import RebuiltDecision, commit, decide
from validators.calendar.faults import find_faults
from validators.calendar.history import Resolved
from validators.calendar.reflecting import reflect
from validators.calendar.talking import talk
from worlds.calendar.labels import Label, reason
from worlds.calendar.rules.items import Cells, items_of
from worlds.calendar.rules.outcome import outcome_line
from worlds.calendar.rules.resolution import Resolution, resolve
from worlds.calendar.rules.scenario import Scenario
from worlds.core.faults import SeatFault


def follow(board: Board) -> None:
    """Follow a game to its end; raises Unanswered where the log ends before it, Lost where it cannot be followed."""
    for number, meeting in enumerate(board.scenario.meetings, start=1):
        board.tape.exactly(
            "round_start", None,
            {
                "round": number, "meeting": meeting.id, "participants": list(meeting.participants),
                "speakers": list(meeting.order), "duration": meeting.duration,
            },
        )  # fmt: skip
        _round(board, Now(number, meeting))
    board.tape.exactly("game_end", None, {"spent": board.spent, "sent": board.sent})
    board.tape.rest()


def misplaced(scenario: Scenario, calendars: Sequence[Cells]) -> Iterator[str]:
    """What no valid batch can do: errands lost or doubled, blocked ones moved, meetings with the wrong people."""
    for agent, (before, after) in enumerate(zip(scenario.calendars, calendars, strict=True)):
        had, has = Counter(item for item in before if item), Counter(item for item in after if item)
        grown = Counter({item: count for item, count in (has - had).items() if item.kind == "errand"})
        if had - has or grown:
            yield f"agent {agent} lost or doubled {', '.join(sorted(item.name for item in (had - has) + grown))}"
        at = {item: slot for slot, item in items_of(after)}
        for slot, item in items_of(before):
            if item.blocked and at.get(item) != slot:
                yield f"agent {agent}: {item.name} is blocked and was moved"
        for item in has:
            if item.kind == "meeting" and (agent not in item.participants or has[item] != item.duration):
                yield f"agent {agent} has {item.name} in {has[item]} slots"


def _round(board: Board, now: Now) -> None:
    before, first = list(board.calendars), len(board.committed)
    board.refused = []
    contacted = talk(board, now)
    voluntary = decide(board, now, contacted, "VOLUNTARY") if contacted else []
    if board.settings.voluntary == "immediate" and voluntary:
        commit(board, now, voluntary, None)
        before, first = list(board.calendars), len(board.committed)
        voluntary = []
    decided = decide(board, now, now.meeting.order, "DECISION")
    spent = list(board.spent)
    _commit(board, now, voluntary, decided)
    _resolve(board, now, decided, before, spent, first)
    if board.settings.asks:
        reflect(board, now)


def _commit(board: Board, now: Now, voluntary: Sequence[RebuiltDecision], decided: Sequence[RebuiltDecision]) -> None:
    exhausted = any(one.batch is None for one in decided)
    if not _doomed(board) and not (exhausted and board.settings.exhausted == "rollback"):
        commit(board, now, voluntary, None)
        commit(board, now, decided, now.meeting)


def _doomed(board: Board) -> bool:
    """Whether a try on a blocked item, even a mended one, fails the round."""
    return board.settings.blocked_attempts == "doom" and any(one.is_blocked for one in board.refused)


def _resolve(
    board: Board, now: Now, decided: Sequence[RebuiltDecision], before: Sequence[Cells], spent: Sequence[int], first: int
) -> None:
    """`before` and `spent` are what an undone round goes back to; its batches begin at `first` of those committed."""
    resolution = resolve(board.calendars, now.meeting, board.registered)
    label = reason(resolution, [one.conflicts for one in decided if one.batch is None], doomed=_doomed(board))
    charged = [after - paid for after, paid in zip(board.spent, spent, strict=True)]
    faults = () if label is Label.SUCCESS else _faults(board, decided, resolution)
    kept = label is Label.SUCCESS or board.settings.failed_rounds == "keep"
    _tell(board, now, resolution, label, charged, kept=kept)
    if not kept:
        board.calendars, board.spent = list(before), list(spent)
    elif resolution.agreed:
        board.registered.append(now.meeting)
    board.settle()
    success = label is Label.SUCCESS
    if board.settings.outcomes == "told":
        line = outcome_line(now.number, now.meeting, resolution, success=success)
        for seat in now.meeting.participants:
            board.untold[seat].append(line)
    for place, one in enumerate(board.committed):
        if one.round == now.number:
            board.committed[place] = one._replace(stands=kept or place < first, success=success)
    board.resolved.append(
        Resolved(
            now.number,
            now.meeting,
            label,
            resolution.slots,
            resolution.standing,
            resolution.broken,
            kept,
            len(board.refused),
            sum(one.is_blocked for one in board.refused),
            tuple(board.calendars),
            faults,
        )
    )


def _faults(board: Board, decided: Sequence[RebuiltDecision], resolution: Resolution) -> tuple[SeatFault, ...]:
    """Return the faults of a failed round, before anything is undone."""
    doomed_by = board.refused if _doomed(board) else []
    return find_faults(decided, resolution.slots, [board.moved(meeting) for meeting in resolution.broken], doomed_by)


def _tell(board: Board, now: Now, resolution: Resolution, label: Label, charged: list[int], *, kept: bool) -> None:
    board.tape.exactly(
        "resolution", None,
        {
            "round": now.number, "meeting": now.meeting.id, "label": str(label), "kept": kept,
            "broken": list(resolution.broken),
            "slots": {str(agent): slot for agent, slot in resolution.slots.items()}, "charged": charged,
            "standing": {str(meeting): slot for meeting, slot in resolution.standing.items()},
        },
    )  # fmt: skip

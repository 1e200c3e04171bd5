"""A game, rebuilt round by round: talk, decisions, what was committed, and what that came to under the game's options.

Which seats lost a calendar round, where the rules say it: pure functions of what each seat decided and of the calendars.

`CAUSES` has the causes that each label can have; docs/calendar.md, "Whose failure it is", defines each cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.calendar.board import Board, Now
from validators.calendar.deciding import RebuiltDecision, commit, decide, talk
from validators.calendar.history import MovedMeeting, Resolved, Touch
from validators.calendar.reflecting import reflect
from worlds.calendar.labels import Label, reason
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.items import Cells, items_of
from worlds.calendar.rules.outcome import outcome_line
from worlds.calendar.rules.resolution import Resolution, Slots, resolve
from worlds.calendar.rules.scenario import Scenario
from worlds.core.faults import LONGEST_DETAIL, FaultCause, SeatFault

_NO_BATCH: tuple[FaultCause, ...] = ("no_reply", "unreadable", "refused")
CAUSES: dict[Label, tuple[FaultCause, ...]] = {
    Label.SUCCESS: (),
    Label.SLOT_MISMATCH: ("other_slot", "different_slots", *_NO_BATCH),
    Label.BLOCKED_ITEM: ("refused", "touched_blocked", *_NO_BATCH),
    Label.NO_SCHEDULE: _NO_BATCH,
    Label.PRIOR_MEETING_MOVED: ("moved_meeting", *_NO_BATCH),
    Label.SLOT_OCCUPIED: _NO_BATCH,
    Label.TARGET_OCCUPIED: _NO_BATCH,
    Label.SEVERAL: ("other_slot", "different_slots", "touched_blocked", "moved_meeting", *_NO_BATCH),
    Label.OTHER: _NO_BATCH,
}
"""Label -> the causes that its faults can have; a round that was never reached is OTHER and has none.

A seat without a batch has its place under every label: a conflict that the paper does not name makes no label of its own.
"""


def find_faults(
    decided: Sequence[RebuiltDecision], slots: Slots, broken: Iterable[MovedMeeting], doomed_by: Iterable[Touch]
) -> tuple[SeatFault, ...]:
    """Return the faults of one round by seat; `doomed_by` are the refused batches where one on a blocked item fails a round."""
    without = [one for one in decided if one.batch is None]
    made = [*map(_without_batch, without), *_touched(doomed_by, without), *_apart(slots, decided)]
    made += [fault for meeting in broken for fault in _moved(meeting)]
    return tuple(sorted(made, key=lambda fault: fault.seat))


def _without_batch(one: RebuiltDecision) -> SeatFault:
    if one.no_reply is not None:
        return SeatFault(seat=one.seat, cause="no_reply", detail=one.no_reply[:LONGEST_DETAIL], turn=one.turn)
    if one.is_unreadable:
        return SeatFault(seat=one.seat, cause="unreadable", turn=one.turn)
    return SeatFault(seat=one.seat, cause="refused", detail=", ".join(dict.fromkeys(one.conflicts)), turn=one.turn)


def _touched(doomed_by: Iterable[Touch], without: Iterable[RebuiltDecision]) -> Iterator[SeatFault]:
    """Seats with an attempt on a blocked item, unless their last batch was refused for it and says so already."""
    said = {one.seat for one in without if Conflict.BLOCKED in one.conflicts}
    last = {touch.seat: touch.turn for touch in doomed_by if touch.is_blocked and touch.seat not in said}
    yield from (SeatFault(seat=seat, cause="touched_blocked", turn=turn) for seat, turn in last.items())


def _apart(slots: Slots, decided: Iterable[RebuiltDecision]) -> Iterator[SeatFault]:
    """Seats outside the slot of more than half of those who have one; all of these, where no slot has more than half."""
    chosen = {seat: slot for seat, slot in slots.items() if slot is not None}
    if len(set(chosen.values())) < 2:
        return
    turns = {one.seat: one.turn for one in decided}
    most = _majority(chosen)
    for seat, slot in chosen.items():
        if slot != most:
            cause: FaultCause = "different_slots" if most is None else "other_slot"
            yield SeatFault(seat=seat, cause=cause, detail=str(slot), turn=turns.get(seat))


def _moved(one: MovedMeeting) -> Iterator[SeatFault]:
    """Seats that have the meeting elsewhere than it stood; where all do, those outside the slot of more than half."""
    away = {seat: slot for seat, slot in one.slots.items() if slot is not None and slot != one.stood}
    if len(away) == len(one.slots) and (most := _majority(away)) is not None:
        away = {seat: slot for seat, slot in away.items() if slot != most}
    for seat, slot in away.items():
        yield SeatFault(seat=seat, cause="moved_meeting", detail=str(slot), meeting=one.meeting, turn=one.turns.get(seat))


def _majority(slots: Mapping[int, int | None]) -> int | None:
    """The slot of more than half, or None."""
    slot, count = Counter(slots.values()).most_common(1)[0]
    return slot if 2 * count > len(slots) else None


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

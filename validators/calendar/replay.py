"""The whole game again from the event log, independently of what the world says of it, and where the two disagree.

The scenario and the options are the log's own; all else - who had to be asked, who had to hear what, which batch stands, what
it costs, which meeting stands, why a round failed - is worked out from the raw replies with the rules, and each note and
each delivered text is held against it. No log that `read_log` accepts makes this raise: what cannot be understood is a lie.

A game, rebuilt round by round: talk, decisions, what was committed, and what that came to under the game's options.

Which seats lost a calendar round, where the rules say it: pure functions of what each seat decided and of the calendars.

`CAUSES` has the causes that each label can have; docs/calendar.md, "Whose failure it is", defines each cause.

What everybody was asked to believe of everybody else after a round, rebuilt: who was asked of whom, and what was read.

A reply that the world had to repair is taken as its note tells it, and must then be scores all the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from validators.calendar.board import Board, Now, read_scenario, read_settings
from validators.calendar.deciding import RebuiltDecision, commit, decide, talk
from validators.calendar.history import MovedMeeting, Reflected, Replay, Resolved, Touch
from validators.episode import Episode
from validators.tape import Lost, Tape, Unanswered, remembered
from worlds.calendar.labels import Label, reason
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.items import Cells, items_of
from worlds.calendar.rules.replies import read_expected, read_scores, scores_shape, weighed
from worlds.calendar.rules.resolution import Resolution, Slots, outcome_line, resolve
from worlds.calendar.rules.scenario import Scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Closed, Seated, Stopped, Turned
from worlds.core.faults import LONGEST_DETAIL, FaultCause, SeatFault
from worlds.core.replies import load, read_answer

PHASE = "REFLECTION"
_CELL = re.compile(r"^Slot +\d+: (?:\[FREE\]|(?:Blocked )?Errand #|Meeting M)", re.MULTILINE)
"""How a line of a calendar begins."""


def reflect(board: Board, now: Now) -> None:
    """Follow the questions after a round; raises Unanswered where the log ends in them, Lost where they cannot be followed."""
    seats = board.scenario.agents
    for step in range(1, len(seats)):
        turns = [turn for seat in seats if (turn := board.tape.asked(seat, PHASE, now.number))]
        board.tape.barrier(turns)
        if len(turns) < len(seats):
            if board.tape.over and not turns:
                raise Unanswered
            board.tape.broken_off(f"{PHASE} of round {now.number}")
        for turn in turns:
            # a question brings nothing: no mail, no word of what became of a round, no calendar
            board.check_text(turn, (), "", ())
            if _CELL.search(turn.text):
                board.tape.lie(turn, f"seat {turn.seat} was shown a calendar")
        for turn in turns:
            _noted(board, now, turn, (turn.seat + step) % len(seats))


def _noted(board: Board, now: Now, turn: Turned, target: int) -> None:
    """One answer, with the note on how it was read."""
    slots, weighs = board.scenario.slots, board.settings.reflection == "expected"
    outer = load(turn.reply) if weighs else None
    said = weighed(outer)
    reading = read_answer(turn.reply if said is None else said, scores_shape(slots))
    scores, expected, how = reading.value, read_expected(outer, slots), reading.how
    if reading.is_broken and not board.settings.strict_replies and (scores := _repaired(board, turn.seat)) is not None:
        how = "repaired"
    how = "strict" if how == "bare_list" else how
    expected = None if scores is None else expected
    data: dict[str, Any] = {"round": now.number, "target": target, "how": how, "no_reply": turn.no_reply}
    data["scores"] = None if scores is None else list(scores)
    if weighs:
        data["expected"] = None if expected is None else list(expected)
    board.tape.exactly("reflection", turn.seat, data)
    board.reflected.append(Reflected(now.number, turn.seat, target, scores, how, turn.no_reply, expected))


def _repaired(board: Board, seat: int) -> tuple[int, ...] | None:
    ahead = board.tape.ahead if board.tape.is_next("reflection", seat) else {}
    return read_scores(ahead.get("scores"), board.scenario.slots) if ahead.get("how") == "repaired" else None


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


class NoGame(ValueError):
    """The log does not say what was played."""


@remembered
def replay(episode: Episode) -> Replay:
    """Rebuild a game; raises NoGame where scenario or options cannot be read."""
    scenario, settings = read_scenario(episode), read_settings(episode)
    if not isinstance(scenario, Scenario) or not isinstance(settings, Settings):
        raise NoGame(scenario if isinstance(scenario, str) else str(settings))
    tape = Tape(episode.events, measured=settings.asks)
    board, finished = Board(scenario, settings, tape), False
    try:
        tape.note("game_start")
        follow(board)
        finished = True
    except Unanswered:
        pass
    except Lost as lost:
        tape.lies.append(str(lost))
    return Replay(
        scenario,
        settings,
        tuple(board.resolved),
        tuple(board.messages),
        tuple(board.committed),
        tuple(board.calendars),
        finished,
        (
            *_frame(episode, scenario),
            *(_measuring(episode) if settings.asks else ()),
            *tape.lies,
            *misplaced(scenario, board.calendars),
        ),
        tuple(board.reflected),
    )


def lies_of(episode: Episode) -> list[str]:
    """What in this log our world could not have written; empty for a sound one."""
    try:
        return list(replay(episode).lies)
    except NoGame as error:
        return [str(error)]


def _measuring(episode: Episode) -> list[str]:
    """Lies about which turns only measure, of a game in which some do."""
    return [
        f"seq {e.seq}: a turn of {e.phase[:20]} must {'' if e.phase == PHASE else 'not '}only measure"
        for e in episode.events
        if isinstance(e, Turned) and e.ephemeral is not (e.phase == PHASE)
    ]


def _frame(episode: Episode, scenario: Scenario) -> list[str]:
    """Lies in what stands around the game."""
    lies = [f"seq {e.seq}: the world failed" for e in episode.events if isinstance(e, Closed) and e.cause == "fault"]
    ends = [e.seq for e in episode.events if isinstance(e, Closed | Stopped)]
    lies += [f"seq {seq}: something follows the end" for seq in ends if seq != len(episode.events) - 1]
    sessions = [e for e in episode.events if isinstance(e, Seated)]
    if [len(one.seats) for one in sessions] != [len(scenario.agents)]:
        lies.append(f"there must be one session, with {len(scenario.agents)} seats")
    return lies

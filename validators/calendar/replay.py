"""Replay of a calendar game from its event log, independent of the world, and detection of contradictions ("lies").

Scenario and options come from the log. Everything else is derived from the raw replies and the rules: who had to be asked, who
had to receive which message, which batch is valid, its cost, which meetings are scheduled, why a round failed. Each note and
each delivered text is compared with the result. No log that `read_log` accepts makes this raise: a log that cannot be followed
is a lie.

Only of a reply that the world repaired are messages, batches and beliefs taken from its notes, as far as the rules allow them:
an accepted batch is `UNSEEN` until its `committed` note. docs/calendar.md ("Whose failure it is") defines the faults.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from validators.calendar.board import CHANNEL_OF, TOOL_OF, Board, Now, Said
from validators.calendar.history import Delivered, MovedMeeting, Reflected, Replay, Resolved, Touch
from validators.episode import Episode
from validators.tape import Lost, Tape, Unanswered, cache_by_trace, find_lies_at_end, find_measurement_lies, is_same_json
from worlds.calendar.labels import Label, failure_reason
from worlds.calendar.rules.batch import UNREADABLE, Batch, Conflict, Refusal, check_batch
from worlds.calendar.rules.items import Cells, iter_items, render_calendar
from worlds.calendar.rules.replies import (
    find_weighed_reply,
    read_actions,
    read_expected,
    read_scores,
    refusal_text,
    scores_shape,
    split_actions,
)
from worlds.calendar.rules.resolution import Resolution, Slots, outcome_line, resolve
from worlds.calendar.rules.scenario import Meeting, Scenario, parse_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Noted, Seated, Turned, canonical_json
from worlds.core.faults import LONGEST_DETAIL, FaultCause, SeatFault
from worlds.core.replies import load_json, read_answer

TALK = "CHEAP_TALK"


def replay_talk(board: Board, now: Now) -> list[int]:
    """Replay the talk of a round; return the outsiders who received a message, ascending."""
    return _Floor(board, now).follow()


class _Floor:
    """Seats that may speak in a round."""

    def __init__(self, board: Board, now: Now) -> None:
        self._board, self._now = board, now
        self._active = list(now.meeting.order)
        self._contacted: set[int] = set()
        self._waiting: set[int] = set()
        self._spoken: set[int] = set()

    def follow(self) -> list[int]:
        for sweep in range(self._board.settings.turn_cap if self._board.settings.channels else 0):
            delivered = sum([self._turn(seat, sweep) for seat in self._active])
            called, self._waiting = sorted(self._waiting), set()
            if self._board.settings.outsiders == "stay":
                self._active = [*self._active, *called]
            delivered += sum([self._turn(seat, sweep) for seat in called])
            if not delivered:
                break
        return sorted(self._contacted)

    def _turn(self, seat: int, sweep: int) -> int:
        """Replay one turn; return the number of messages that it delivered."""
        board, now = self._board, self._now
        turn = board.tape.read_turn(seat, TALK, now.number)
        board.tape.check_barrier([turn])
        first = seat not in self._spoken
        told = board.take_reports(seat) if first and seat in now.meeting.participants else []
        board.check_text(turn, board.drain(seat), render_calendar(board.calendars[seat]) if first else "", told)
        self._spoken.add(seat)
        board.in_turn = []
        where = {"round": now.number, "phase": TALK}
        board.check_notice(turn)
        said = read_reply(board, seat, turn.reply, where)
        if said.problem and turn.no_reply is None:
            board.unread[seat] = said.problem
        if said.actions is None:
            return self._as_told(seat, sweep)
        actions, dropped = split_actions(said.actions, tuple(CHANNEL_OF))
        for tool in dropped:
            board.tape.check_note("invalid_tool_call", seat, {**where, "tool": tool, "why": "no action of this phase"})
        return sum([self._send(seat, sweep, action) for action in actions])

    def _send(self, seat: int, sweep: int, action: Any) -> bool:
        routed = self._board.route_message(seat, action, self._now.meeting)
        if routed is None:
            self._dropped(seat, action)
            return False
        channel, to, content = routed
        self._deliver(seat, sweep, channel, to, content)
        return True

    def _deliver(self, seat: int, sweep: int, channel: str, to: tuple[int, ...], content: str) -> None:
        now = self._now
        expected = {
            "round": now.number, "sweep": sweep, "channel": channel, "to": list(to), "meeting": now.meeting.id,
            "content": content,
        }  # fmt: skip
        note = self._board.tape.check_note("message", seat, expected)
        self._board.deliver(Delivered(note.seq, now.number, sweep, seat, to, channel, now.meeting.id, content))
        if channel != "participants":
            reached = set(to) - set(now.meeting.participants)
            self._contacted |= reached
            # who is asked in every sweep anyway waits for nothing
            self._waiting |= reached - set(self._active)

    def _dropped(self, seat: int, action: Any) -> None:
        tool = action.get("type") if isinstance(action, dict) else ""
        self._drop(seat, tool if isinstance(tool, str) and tool in CHANNEL_OF else "")

    def _drop(self, seat: int, tool: str | None = None) -> None:
        """Check the note on a dropped action; its reason, and the tool of a repaired reply, are taken from the note."""
        note = self._board.tape.read_note("invalid_tool_call", seat)
        told, why = note.data.get("tool"), note.data.get("why")
        expected = {"round": self._now.number, "phase": TALK, "tool": told if tool is None else tool, "why": why}
        if not is_same_json(note.data, expected) or not isinstance(told, str) or not isinstance(why, str):
            self._board.tape.record_lie(note, f"what was dropped is {tool or 'something'} in round {self._now.number}, {TALK}")

    def _as_told(self, seat: int, sweep: int) -> bool:
        """Replay a repaired reply from the notes that follow it."""
        tape, sent = self._board.tape, False
        while tape.is_next("message", seat) or tape.is_next("invalid_tool_call", seat):
            if tape.is_next("invalid_tool_call", seat):
                self._drop(seat)
                continue
            routed = self._told_route(seat)
            if routed is None:
                raise Lost(f"a message stands in the log that no rule lets pass: seq {tape.read_note('message', seat).seq}")
            self._deliver(seat, sweep, *routed)
            sent = True
        return sent

    def _told_route(self, seat: int) -> tuple[str, tuple[int, ...], str] | None:
        data = self._board.tape.next_data
        channel, to = data.get("channel"), data.get("to")
        one = to[0] if isinstance(to, list) and to else None
        tool = TOOL_OF.get(channel) if isinstance(channel, str) else None
        return self._board.route_message(seat, {"type": tool, "to": one, "content": data.get("content")}, self._now.meeting)


def read_reply(board: Board, seat: int, reply: str, where: dict[str, Any]) -> Said:
    """Replay the note on how a reply was read; return the reply, without actions if it was repaired."""
    said, tape = read_actions(reply), board.tape
    told = tape.next_data.get("how") if tape.is_next("parsed", seat) else None
    how = "repaired" if said.is_broken and told == "repaired" and not board.settings.strict_replies else said.how
    if how != "strict":
        tape.check_note("parsed", seat, {**where, "how": how})
    return Said(None, how) if how == "repaired" else Said(said.value or [], how, said.problem)


UNSEEN = "unseen"
"""Marks an accepted batch whose actions only its commit tells."""

_TOOLS = {"DECISION": ("schedule", "reschedule"), "VOLUNTARY": ("reschedule",)}
_Outcome = Batch | list[Refusal] | str


class RebuiltDecision(NamedTuple):
    """Outcome of one seat's attempts: a batch, UNSEEN, or None if all were refused."""

    seat: int
    batch: Batch | str | None
    conflicts: tuple[Conflict, ...]
    """Conflicts of the last attempt."""

    turn: int
    """Log number of the last attempt."""

    no_reply: str | None
    """Cause of a missing reply to the last attempt."""

    is_unreadable: bool


def replay_decisions(board: Board, now: Now, seats: Sequence[int], phase: str) -> list[RebuiltDecision]:
    """Replay one phase; raises Unanswered if the log ends in it, Lost if it cannot be followed."""
    mail = {seat: board.drain(seat) for seat in seats}
    # without talk a round begins with its decision
    told = {seat: [] if board.settings.channels else board.take_reports(seat) for seat in seats}
    turns = {seat: _attempts(board, now, seat, phase) for seat in sorted(seats)}
    board.tape.check_barrier([turn for mine in turns.values() for turn in mine])
    for seat, mine in turns.items():
        if mine:
            board.check_text(mine[0], mail[seat], render_calendar(board.calendars[seat]), told[seat])
            board.check_notice(mine[0])
    # an agent without a host may just quit, and where outsiders move nothing there is no note that they were done
    if board.tape.is_over and (not any(turns.values()) or (phase == "VOLUNTARY" and all(turns.values()))):
        raise Unanswered
    if board.tape.is_over or not all(turns.values()):
        board.tape.check_broken_off(f"{phase} of round {now.number}")
    return [_decided(board, now, seat, phase, turns[seat]) for seat in seats]


def replay_commits(board: Board, now: Now, decided: Sequence[RebuiltDecision], meeting: Meeting | None) -> None:
    """Replay the commits of a phase, seat after seat."""
    for one in decided:
        if one.batch is None or (one.batch == UNSEEN and meeting is None and not board.tape.is_next("committed", one.seat)):
            continue
        batch = one.batch if isinstance(one.batch, Batch) else _told(board, one.seat, meeting)
        if batch.moves or meeting:
            moves = [[move.item.name, move.source, move.target] for move in batch.moves]
            board.tape.check_note(
                "committed", one.seat, {"round": now.number, "slot": batch.slot, "moves": moves, "cost": batch.cost}
            )
        board.apply(now, one.seat, batch, meeting, one.turn)


def _attempts(board: Board, now: Now, seat: int, phase: str) -> list[Turned]:
    """Return one seat's turns in a barrier, empty if it did not answer; more turns than retries allow are a lie."""
    turns: list[Turned] = []
    while (again := board.tape.read_turn_if(seat, phase, now.number, len(turns) + 1)) is not None:
        turns.append(again)
    if len(turns) > max(board.settings.decision_retries, 0) + 1:
        board.tape.record_lie(turns[-1], f"seat {seat} had {len(turns)} tries")
    return turns


def _decided(board: Board, now: Now, seat: int, phase: str, turns: Sequence[Turned]) -> RebuiltDecision:
    outcome: _Outcome = UNSEEN
    for place, turn in enumerate(turns, start=1):
        outcome = _attempt(board, now, turn, phase)
        if isinstance(outcome, list):
            is_blocked = any(refusal.conflict is Conflict.BLOCKED for refusal in outcome)
            board.refused.append(Touch(seat, turn.seq, is_blocked))
        if place < len(turns):
            _asked_again(board, turns[place], outcome)
        elif isinstance(outcome, list) and place <= board.settings.decision_retries:
            board.tape.record_lie(turn, f"seat {seat} was refused and not asked again")
    seq, no_reply = turns[-1].seq, turns[-1].no_reply
    if isinstance(outcome, list):
        is_unreadable = any(refusal.text.startswith(UNREADABLE) for refusal in outcome)
        return RebuiltDecision(seat, None, tuple(refusal.conflict for refusal in outcome), seq, no_reply, is_unreadable)
    return RebuiltDecision(seat, outcome, (), seq, no_reply, is_unreadable=False)


def _asked_again(board: Board, again: Turned, outcome: _Outcome) -> None:
    if not isinstance(outcome, list):
        board.tape.record_lie(again, f"seat {again.seat} was asked again after a batch that stands")
    elif any(one.text not in again.text for one in outcome):
        board.tape.record_lie(again, f"seat {again.seat} was not told why its batch was refused")


def _attempt(board: Board, now: Now, turn: Turned, phase: str) -> _Outcome:
    tape, seat = board.tape, turn.seat
    where = {"round": now.number, "phase": phase, "attempt": turn.attempt}
    said = read_reply(board, seat, turn.reply, where)
    if said.actions is None:
        return _as_told(board, now, seat, where)
    actions, dropped = split_actions(said.actions, _TOOLS[phase])
    for tool in dropped:
        tape.check_note("invalid_tool_call", seat, {**where, "tool": tool, "why": "no action of this phase"})
    outcome = _judged(board, now, seat, phase, actions)
    if isinstance(outcome, list):
        tape.check_note("batch_rejected", seat, {**where, "conflicts": _told_conflicts(outcome), "actions": actions})
        if said.problem:
            # its seat is told that, and not what an empty batch lacks
            return [one._replace(text=refusal_text(said.problem)) for one in outcome]
    return outcome


def _as_told(board: Board, now: Now, seat: int, where: Mapping[str, Any]) -> _Outcome:
    """Return the outcome of a reply that cannot be read without repair."""
    tape = board.tape
    while tape.is_next("invalid_tool_call", seat):
        foreign = tape.read_note("invalid_tool_call", seat)
        tool = foreign.data.get("tool")
        if foreign.data != {**where, "tool": tool, "why": "no action of this phase"} or not isinstance(tool, str):
            tape.record_lie(foreign, "this is no tool that was dropped in this attempt")
    if not tape.is_next("batch_rejected", seat):
        return UNSEEN
    actions = tape.next_data.get("actions")
    read = actions if isinstance(actions, list) else []
    outcome = _judged(board, now, seat, str(where["phase"]), read)
    conflicts = _told_conflicts(outcome) if isinstance(outcome, list) else []
    tape.check_note("batch_rejected", seat, {**where, "conflicts": conflicts, "actions": read})
    return outcome


def _judged(board: Board, now: Now, seat: int, phase: str, actions: Sequence[Any]) -> Batch | list[Refusal]:
    item = now.meeting.item() if phase == "DECISION" else None
    return check_batch(board.calendars[seat], actions, item, justify=board.settings.justification == "required")


def _told_conflicts(refused: Sequence[Refusal]) -> list[list[str]]:
    return [[str(one.conflict), one.text] for one in refused]


def _told(board: Board, seat: int, meeting: Meeting | None) -> Batch:
    """Return the batch of a commit note if it is valid; else an empty batch."""
    data = board.tape.next_data if board.tape.is_next("committed", seat) else {}
    moves = data.get("moves")
    actions: list[Any] = [_reschedule(move) for move in moves] if isinstance(moves, list) else [None]
    if meeting is not None:
        actions.append({"type": "schedule", "meeting_id": meeting.id, "slot": data.get("slot")})
    checked = check_batch(board.calendars[seat], actions, meeting.item() if meeting else None)
    return checked if isinstance(checked, Batch) else Batch(None, ())


def _reschedule(move: Any) -> dict[str, Any] | None:
    if not isinstance(move, list) or len(move) != 3:
        return None
    return {"type": "reschedule", "item_id": move[0], "from_slot": move[1], "to_slot": move[2]}


PHASE = "REFLECTION"
_CELL = re.compile(r"^Slot +\d+: (?:\[FREE\]|(?:Blocked )?Errand #|Meeting M)", re.MULTILINE)
"""Beginning of a line of a calendar."""


def replay_reflections(board: Board, now: Now) -> None:
    """Replay the questions after a round; raises Unanswered if the log ends in them, Lost if they cannot be followed."""
    seats = board.scenario.agents
    for step in range(1, len(seats)):
        turns = [turn for seat in seats if (turn := board.tape.read_turn_if(seat, PHASE, now.number))]
        board.tape.check_barrier(turns)
        if len(turns) < len(seats):
            if board.tape.is_over and not turns:
                raise Unanswered
            board.tape.check_broken_off(f"{PHASE} of round {now.number}")
        for turn in turns:
            # a question brings nothing: no mail, no word of what became of a round, no calendar
            board.check_text(turn, (), "", ())
            if _CELL.search(turn.text):
                board.tape.record_lie(turn, f"seat {turn.seat} was shown a calendar")
        for turn in turns:
            _noted(board, now, turn, (turn.seat + step) % len(seats))


def _noted(board: Board, now: Now, turn: Turned, target: int) -> None:
    """Replay one answer and the note on how it was read."""
    slots, weighs = board.scenario.slots, board.settings.reflection == "expected"
    outer = load_json(turn.reply) if weighs else None
    said = find_weighed_reply(outer)
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
    board.tape.check_note("reflection", turn.seat, data)
    board.reflected.append(Reflected(now.number, turn.seat, target, scores, how, turn.no_reply, expected))


def _repaired(board: Board, seat: int) -> tuple[int, ...] | None:
    ahead = board.tape.next_data if board.tape.is_next("reflection", seat) else {}
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
"""Label -> possible causes of its faults; a round that was never reached is OTHER and has none.

A seat without a batch is possible under every label, because a conflict that the paper does not name has no label of its own.
"""


def find_faults(
    decided: Sequence[RebuiltDecision], slots: Slots, broken: Iterable[MovedMeeting], doomed_by: Iterable[Touch]
) -> tuple[SeatFault, ...]:
    """Return the faults of one round by seat; `doomed_by` are the refused batches if one on a blocked item fails a round."""
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
    """Yield faults of seats that tried to move a blocked item, unless their last batch was refused for that reason."""
    said = {one.seat for one in without if Conflict.BLOCKED in one.conflicts}
    last = {touch.seat: touch.turn for touch in doomed_by if touch.is_blocked and touch.seat not in said}
    yield from (SeatFault(seat=seat, cause="touched_blocked", turn=turn) for seat, turn in last.items())


def _apart(slots: Slots, decided: Iterable[RebuiltDecision]) -> Iterator[SeatFault]:
    """Yield faults of seats outside the majority's slot, or of all seats with a slot if there is no majority."""
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
    """Yield faults of seats that moved the meeting; if all did, of those outside the slot of a majority."""
    away = {seat: slot for seat, slot in one.slots.items() if slot is not None and slot != one.stood}
    if len(away) == len(one.slots) and (most := _majority(away)) is not None:
        away = {seat: slot for seat, slot in away.items() if slot != most}
    for seat, slot in away.items():
        yield SeatFault(seat=seat, cause="moved_meeting", detail=str(slot), meeting=one.meeting, turn=one.turns.get(seat))


def _majority(slots: Mapping[int, int | None]) -> int | None:
    """Return the slot that more than half have, or None."""
    slot, count = Counter(slots.values()).most_common(1)[0]
    return slot if 2 * count > len(slots) else None


def replay_game(board: Board) -> None:
    """Replay a game to its end; raises Unanswered if the log ends early, Lost if it cannot be followed."""
    for number, meeting in enumerate(board.scenario.meetings, start=1):
        board.tape.check_note(
            "round_start", None,
            {
                "round": number, "meeting": meeting.id, "participants": list(meeting.participants),
                "speakers": list(meeting.order), "duration": meeting.duration,
            },
        )  # fmt: skip
        _round(board, Now(number, meeting))
    board.tape.check_note("game_end", None, {"spent": board.spent, "sent": board.sent})
    board.tape.record_rest()


def find_impossible_changes(scenario: Scenario, calendars: Sequence[Cells]) -> Iterator[str]:
    """Yield changes that no valid batch makes: errands lost or doubled, blocked ones moved, meetings with the wrong people."""
    for agent, (before, after) in enumerate(zip(scenario.calendars, calendars, strict=True)):
        had, has = Counter(item for item in before if item), Counter(item for item in after if item)
        grown = Counter({item: count for item, count in (has - had).items() if item.kind == "errand"})
        if had - has or grown:
            yield f"agent {agent} lost or doubled {', '.join(sorted(item.name for item in (had - has) + grown))}"
        at = {item: slot for slot, item in iter_items(after)}
        for slot, item in iter_items(before):
            if item.blocked and at.get(item) != slot:
                yield f"agent {agent}: {item.name} is blocked and was moved"
        for item in has:
            if item.kind == "meeting" and (agent not in item.participants or has[item] != item.duration):
                yield f"agent {agent} has {item.name} in {has[item]} slots"


def _round(board: Board, now: Now) -> None:
    before, first = list(board.calendars), len(board.committed)
    board.refused = []
    contacted = replay_talk(board, now)
    voluntary = replay_decisions(board, now, contacted, "VOLUNTARY") if contacted else []
    if board.settings.voluntary == "immediate" and voluntary:
        replay_commits(board, now, voluntary, None)
        before, first = list(board.calendars), len(board.committed)
        voluntary = []
    decided = replay_decisions(board, now, now.meeting.order, "DECISION")
    spent = list(board.spent)
    _commit(board, now, voluntary, decided)
    _resolve(board, now, decided, before, spent, first)
    if board.settings.asks_beliefs:
        replay_reflections(board, now)


def _commit(board: Board, now: Now, voluntary: Sequence[RebuiltDecision], decided: Sequence[RebuiltDecision]) -> None:
    exhausted = any(one.batch is None for one in decided)
    if not _doomed(board) and not (exhausted and board.settings.exhausted == "rollback"):
        replay_commits(board, now, voluntary, None)
        replay_commits(board, now, decided, now.meeting)


def _doomed(board: Board) -> bool:
    """Return True if an attempt on a blocked item fails the round, even if a retry succeeded."""
    return board.settings.blocked_attempts == "doom" and any(one.is_blocked for one in board.refused)


def _resolve(
    board: Board, now: Now, decided: Sequence[RebuiltDecision], before: Sequence[Cells], spent: Sequence[int], first: int
) -> None:
    """Resolve a round; a failed one reverts to `before` and `spent`, and its batches begin at index `first`."""
    resolution = resolve(board.calendars, now.meeting, board.registered)
    label = failure_reason(resolution, [one.conflicts for one in decided if one.batch is None], doomed=_doomed(board))
    charged = [after - paid for after, paid in zip(board.spent, spent, strict=True)]
    # before anything is reverted
    broken, touched = map(board.find_movers, resolution.broken), board.refused if _doomed(board) else ()
    faults = () if label is Label.SUCCESS else find_faults(decided, resolution.slots, broken, touched)
    kept = label is Label.SUCCESS or board.settings.failed_rounds == "keep"
    _tell(board, now, resolution, label, charged, kept=kept)
    if not kept:
        board.calendars, board.spent = list(before), list(spent)
    elif resolution.is_agreed:
        board.registered.append(now.meeting)
    board.record_slots()
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
            now.number, now.meeting, label, resolution.slots, resolution.standing, resolution.broken, kept,
            len(board.refused), sum(one.is_blocked for one in board.refused), tuple(board.calendars), faults,
        )
    )  # fmt: skip


def _tell(board: Board, now: Now, resolution: Resolution, label: Label, charged: list[int], *, kept: bool) -> None:
    board.tape.check_note(
        "resolution", None,
        {
            "round": now.number, "meeting": now.meeting.id, "label": str(label), "kept": kept,
            "broken": list(resolution.broken),
            "slots": {str(agent): slot for agent, slot in resolution.slots.items()}, "charged": charged,
            "standing": {str(meeting): slot for meeting, slot in resolution.standing.items()},
        },
    )  # fmt: skip


_CHOICES = {
    "failed_rounds": ("undo", "keep"),
    "outsiders": ("on_mail", "stay"),
    "blocked_attempts": ("retry", "doom"),
    "exhausted": ("others_commit", "rollback"),
    "voluntary": ("staged", "immediate"),
    "justification": ("required", "free"),
    "outcomes": ("untold", "told"),
    "reflection": ("none", "asked", "expected"),
}


class NoGame(ValueError):
    """The log does not say which game was played."""


def _scenario(episode: Episode) -> Scenario:
    """Return the scenario in the first note of the log; raises NoGame."""
    first = next((event for event in episode.events if isinstance(event, Noted)), None)
    if first is None or first.what != "game_start" or first.seat is not None or set(first.data) != {"scenario"}:
        raise NoGame("the first note must be game_start, with a scenario and nothing else")
    try:
        return parse_scenario(canonical_json(first.data["scenario"]))
    except ValidationError as error:
        raise NoGame(f"seq {first.seq}: no scenario: {error.errors()[0]['msg']}") from None


def _settings(episode: Episode) -> Settings:
    """Return the settings in the first event's options; raises NoGame."""
    options = episode.opened.options
    try:
        settings = Settings.from_options(options)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NoGame(f"seq 0: the options are no settings: {type(error).__name__} {error}") from None
    wrong = [name for name, allowed in _CHOICES.items() if getattr(settings, name) not in allowed]
    wrong += [name for name in ("turn_cap", "decision_retries") if type(getattr(settings, name)) is not int]
    wrong += ["message_cap"] if settings.message_cap is not None and type(settings.message_cap) is not int else []
    wrong += ["strict_replies"] if type(settings.strict_replies) is not bool else []
    if wrong:
        raise NoGame(f"seq 0: the options are no settings: {', '.join(wrong)}")
    return settings


@cache_by_trace
def replay(episode: Episode) -> Replay:
    """Rebuild a game; raises NoGame if scenario or options cannot be read."""
    scenario, settings = _scenario(episode), _settings(episode)
    tape = Tape(episode.events, measured=settings.asks_beliefs)
    board, finished = Board(scenario, settings, tape), False
    try:
        tape.read_note("game_start")
        replay_game(board)
        finished = True
    except Unanswered:
        pass
    except Lost as lost:
        tape.lies.append(str(lost))
    measuring = find_measurement_lies(episode, {PHASE}) if settings.asks_beliefs else ()
    lies = (*_frame(episode, scenario), *measuring, *tape.lies, *find_impossible_changes(scenario, board.calendars))
    return Replay(
        scenario, settings, tuple(board.resolved), tuple(board.messages), tuple(board.committed), tuple(board.calendars),
        finished, lies, tuple(board.reflected),
    )  # fmt: skip


def find_lies(episode: Episode) -> list[str]:
    """Return the parts of this log that our world could not have written; empty for a sound log."""
    try:
        return list(replay(episode).lies)
    except NoGame as error:
        return [str(error)]


def _frame(episode: Episode, scenario: Scenario) -> list[str]:
    sessions, seats = [e for e in episode.events if isinstance(e, Seated)], len(scenario.agents)
    one = [len(session.seats) for session in sessions] == [seats]
    return find_lies_at_end(episode) + ([] if one else [f"there must be one session, with {seats} seats"])

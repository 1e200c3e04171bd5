"""Voluntary moves and decisions, rebuilt: every attempt judged again on the calendar as it is, every commit foretold.

1. A reply that is read gives its batch, and `rules.batch.check` says whether it stands or which conflicts had to be told.
2. Of a reply that the world repaired, the refused actions stand in the log and are judged again; an accepted batch is `UNSEEN`
   until its `committed` note tells it, and then it must be a valid one.
3. A seat is asked again exactly while its batch is refused and tries are left.

Cheap talk, rebuilt: who had to be asked in which sweep, what each sent to whom, and when it had to end.

Of a reply that is read every note is foretold. Of one that the world repaired, each message is held against the channels and
their recipients, and what it dropped is taken as told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from validators.calendar.board import CHANNEL_OF, TOOL_OF, Board, Now, Said, split
from validators.calendar.history import Delivered, Touch
from validators.tape import Lost, Unanswered, same
from worlds.calendar.rules.batch import UNREADABLE, Batch, Conflict, Refusal, check
from worlds.calendar.rules.items import drawn
from worlds.calendar.rules.replies import read_actions, refusal
from worlds.calendar.rules.scenario import Meeting
from worlds.core.events import Turned

PHASE = "CHEAP_TALK"


def talk(board: Board, now: Now) -> list[int]:
    """Follow the talk of a round; returns the outsiders who were written to, ascending."""
    return _Floor(board, now).follow()


class _Floor:
    """Who may speak in a round."""

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
        """One turn; 0 where it delivered no message."""
        board, now = self._board, self._now
        turn = board.tape.turn(seat, PHASE, now.number)
        board.tape.barrier([turn])
        first = seat not in self._spoken
        told = board.begun(seat) if first and seat in now.meeting.participants else []
        board.check_text(turn, board.drain(seat), drawn(board.calendars[seat]) if first else "", told)
        self._spoken.add(seat)
        board.in_turn = []
        where = {"round": now.number, "phase": PHASE}
        board.check_notice(turn)
        said = read_reply(board, seat, turn.reply, where)
        if said.problem and turn.no_reply is None:
            board.unread[seat] = said.problem
        if said.actions is None:
            return self._as_told(seat, sweep)
        actions, dropped = split(said.actions, tuple(CHANNEL_OF))
        for tool in dropped:
            board.tape.exactly("invalid_tool_call", seat, {**where, "tool": tool, "why": "no action of this phase"})
        return sum([self._send(seat, sweep, action) for action in actions])

    def _send(self, seat: int, sweep: int, action: Any) -> bool:
        routed = self._board.route(seat, action, self._now.meeting)
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
        note = self._board.tape.exactly("message", seat, expected)
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
        """The note on what was dropped; why in words is the world's to say, and which tool, where only it could read that."""
        note = self._board.tape.note("invalid_tool_call", seat)
        told, why = note.data.get("tool"), note.data.get("why")
        expected = {"round": self._now.number, "phase": PHASE, "tool": told if tool is None else tool, "why": why}
        if not same(note.data, expected) or not isinstance(told, str) or not isinstance(why, str):
            self._board.tape.lie(note, f"what was dropped is {tool or 'something'} in round {self._now.number}, {PHASE}")

    def _as_told(self, seat: int, sweep: int) -> bool:
        """Take what the notes tell of a reply that cannot be read without mending it."""
        tape, sent = self._board.tape, False
        while tape.is_next("message", seat) or tape.is_next("invalid_tool_call", seat):
            if tape.is_next("invalid_tool_call", seat):
                self._drop(seat)
                continue
            routed = self._told_route(seat)
            if routed is None:
                raise Lost(f"a message stands in the log that no rule lets pass: seq {tape.note('message', seat).seq}")
            self._deliver(seat, sweep, *routed)
            sent = True
        return sent

    def _told_route(self, seat: int) -> tuple[str, tuple[int, ...], str] | None:
        data = self._board.tape.ahead
        channel, to = data.get("channel"), data.get("to")
        one = to[0] if isinstance(to, list) and to else None
        tool = TOOL_OF.get(channel) if isinstance(channel, str) else None
        return self._board.route(seat, {"type": tool, "to": one, "content": data.get("content")}, self._now.meeting)


def read_reply(board: Board, seat: int, reply: str, where: dict[str, Any]) -> Said:
    """Follow the note on how a reply was read; returns what it says, without the actions of one that was repaired."""
    said, tape = read_actions(reply), board.tape
    told = tape.ahead.get("how") if tape.is_next("parsed", seat) else None
    how = "repaired" if said.is_broken and told == "repaired" and not board.settings.strict_replies else said.how
    if how != "strict":
        tape.exactly("parsed", seat, {**where, "how": how})
    return Said(None, how) if how == "repaired" else Said(said.value or [], how, said.problem)


UNSEEN = "unseen"
"""A batch that was accepted, and whose actions only its commit tells."""

_TOOLS = {"DECISION": ("schedule", "reschedule"), "VOLUNTARY": ("reschedule",)}
_Outcome = Batch | list[Refusal] | str


class RebuiltDecision(NamedTuple):
    """What one seat's attempts came to: a batch, UNSEEN, or None when all were refused."""

    seat: int
    batch: Batch | str | None
    conflicts: tuple[Conflict, ...]
    """Of the last attempt."""

    turn: int
    """Number in the log of the last attempt."""

    no_reply: str | None
    """Why the last attempt has no reply."""

    is_unreadable: bool


def decide(board: Board, now: Now, seats: Sequence[int], phase: str) -> list[RebuiltDecision]:
    """Follow one phase; raises Unanswered where the log ends in it, Lost where it cannot be followed."""
    mail = {seat: board.drain(seat) for seat in seats}
    # without talk a round begins with its decision
    told = {seat: [] if board.settings.channels else board.begun(seat) for seat in seats}
    turns = {seat: _attempts(board, now, seat, phase) for seat in sorted(seats)}
    board.tape.barrier([turn for mine in turns.values() for turn in mine])
    for seat, mine in turns.items():
        if mine:
            board.check_text(mine[0], mail[seat], drawn(board.calendars[seat]), told[seat])
            board.check_notice(mine[0])
    # an agent without a host may just quit, and where outsiders move nothing there is no note that they were done
    if board.tape.over and (not any(turns.values()) or (phase == "VOLUNTARY" and all(turns.values()))):
        raise Unanswered
    if board.tape.over or not all(turns.values()):
        board.tape.broken_off(f"{phase} of round {now.number}")
    return [_decided(board, now, seat, phase, turns[seat]) for seat in seats]


def commit(board: Board, now: Now, decided: Sequence[RebuiltDecision], meeting: Meeting | None) -> None:
    """Follow the commits of a phase, seat after seat."""
    for one in decided:
        if one.batch is None or (one.batch == UNSEEN and meeting is None and not board.tape.is_next("committed", one.seat)):
            continue
        batch = one.batch if isinstance(one.batch, Batch) else _told(board, one.seat, meeting)
        if batch.moves or meeting:
            moves = [[move.item.name, move.source, move.target] for move in batch.moves]
            board.tape.exactly(
                "committed", one.seat, {"round": now.number, "slot": batch.slot, "moves": moves, "cost": batch.cost}
            )
        board.apply(now, one.seat, batch, meeting, one.turn)


def _attempts(board: Board, now: Now, seat: int, phase: str) -> list[Turned]:
    """One seat's turns in a barrier, none where it had not answered yet; nobody is asked more often than its tries allow."""
    turns: list[Turned] = []
    while (again := board.tape.asked(seat, phase, now.number, len(turns) + 1)) is not None:
        turns.append(again)
    if len(turns) > max(board.settings.decision_retries, 0) + 1:
        board.tape.lie(turns[-1], f"seat {seat} had {len(turns)} tries")
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
            board.tape.lie(turn, f"seat {seat} was refused and not asked again")
    seq, no_reply = turns[-1].seq, turns[-1].no_reply
    if isinstance(outcome, list):
        is_unreadable = any(refusal.text.startswith(UNREADABLE) for refusal in outcome)
        return RebuiltDecision(seat, None, tuple(refusal.conflict for refusal in outcome), seq, no_reply, is_unreadable)
    return RebuiltDecision(seat, outcome, (), seq, no_reply, is_unreadable=False)


def _asked_again(board: Board, again: Turned, outcome: _Outcome) -> None:
    if not isinstance(outcome, list):
        board.tape.lie(again, f"seat {again.seat} was asked again after a batch that stands")
    elif any(one.text not in again.text for one in outcome):
        board.tape.lie(again, f"seat {again.seat} was not told why its batch was refused")


def _attempt(board: Board, now: Now, turn: Turned, phase: str) -> _Outcome:
    """What one attempt came to, and its notes followed."""
    tape, seat = board.tape, turn.seat
    where = {"round": now.number, "phase": phase, "attempt": turn.attempt}
    said = read_reply(board, seat, turn.reply, where)
    if said.actions is None:
        return _as_told(board, now, seat, where)
    actions, dropped = split(said.actions, _TOOLS[phase])
    for tool in dropped:
        tape.exactly("invalid_tool_call", seat, {**where, "tool": tool, "why": "no action of this phase"})
    outcome = _judged(board, now, seat, phase, actions)
    if isinstance(outcome, list):
        tape.exactly("batch_rejected", seat, {**where, "conflicts": _told_conflicts(outcome), "actions": actions})
        if said.problem:
            # its seat is told that, and not what an empty batch lacks
            return [one._replace(text=refusal(said.problem)) for one in outcome]
    return outcome


def _as_told(board: Board, now: Now, seat: int, where: Mapping[str, Any]) -> _Outcome:
    """The outcome of a reply that cannot be read without mending it."""
    tape = board.tape
    while tape.is_next("invalid_tool_call", seat):
        foreign = tape.note("invalid_tool_call", seat)
        tool = foreign.data.get("tool")
        if foreign.data != {**where, "tool": tool, "why": "no action of this phase"} or not isinstance(tool, str):
            tape.lie(foreign, "this is no tool that was dropped in this attempt")
    if not tape.is_next("batch_rejected", seat):
        return UNSEEN
    actions = tape.ahead.get("actions")
    read = actions if isinstance(actions, list) else []
    outcome = _judged(board, now, seat, str(where["phase"]), read)
    conflicts = _told_conflicts(outcome) if isinstance(outcome, list) else []
    tape.exactly("batch_rejected", seat, {**where, "conflicts": conflicts, "actions": read})
    return outcome


def _judged(board: Board, now: Now, seat: int, phase: str, actions: Sequence[Any]) -> Batch | list[Refusal]:
    item = now.meeting.item() if phase == "DECISION" else None
    return check(board.calendars[seat], actions, item, justify=board.settings.justification == "required")


def _told_conflicts(refused: Sequence[Refusal]) -> list[list[str]]:
    return [[str(one.conflict), one.text] for one in refused]


def _told(board: Board, seat: int, meeting: Meeting | None) -> Batch:
    """The batch that a commit tells, if the rules let it pass; else nothing moves and nothing is scheduled."""
    data = board.tape.ahead if board.tape.is_next("committed", seat) else {}
    moves = data.get("moves")
    actions: list[Any] = [_reschedule(move) for move in moves] if isinstance(moves, list) else [None]
    if meeting is not None:
        actions.append({"type": "schedule", "meeting_id": meeting.id, "slot": data.get("slot")})
    checked = check(board.calendars[seat], actions, meeting.item() if meeting else None)
    return checked if isinstance(checked, Batch) else Batch(None, ())


def _reschedule(move: Any) -> dict[str, Any] | None:
    if not isinstance(move, list) or len(move) != 3:
        return None
    return {"type": "reschedule", "item_id": move[0], "from_slot": move[1], "to_slot": move[2]}

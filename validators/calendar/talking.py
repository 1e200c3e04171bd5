"""Cheap talk, rebuilt: who had to be asked in which sweep, what each sent to whom, and when it had to end.

Of a reply that is read every note is foretold. Of one that the world repaired, each message is held against the channels and
their recipients, and what it dropped is taken as told.
"""

from __future__ import annotations

from typing import Any

from validators.calendar.board import CHANNEL_OF, TOOL_OF, Board, Now
from validators.calendar.history import Delivered
from validators.calendar.reading import Said, split
from validators.tape import Lost, same
from worlds.calendar.rules.items import drawn
from worlds.calendar.rules.replies import read_actions

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

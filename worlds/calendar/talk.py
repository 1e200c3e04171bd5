"""Cheap talk: sweeps over the seats that take part, until a sweep brings no message or the cap is reached.

Where no channel is open there is none, and a round begins with its decision.

1. Participants speak in every sweep, in the meeting's order; what they send is in its readers' inboxes at once, so later
   speakers of the same sweep see it.
2. An outsider who was written to speaks after them: with `on_mail` in each sweep that brought new mail, with `stay` from the
   first contact on in every sweep. Mail that arrives while outsiders speak waits for the next sweep.
3. Only messages are actions here. Anything else is dropped, noted, and keeps nobody talking.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from worlds.calendar.mail import TOOLS, Message
from worlds.calendar.rules.scenario import Meeting
from worlds.calendar.state import GameState, split
from worlds.calendar.view import RoundOpening
from worlds.core.turns import Answers, Ask

PHASE = "CHEAP_TALK"
Talk = Generator[Sequence[Ask], Answers, list[int]]
Turn = Generator[Sequence[Ask], Answers, bool]


def talk(state: GameState, number: int, meeting: Meeting, note: Callable[..., None], spend: Callable[[str], None]) -> Talk:
    """The talk of one round; returns the outsiders who were written to, ascending."""
    floor = _Floor(state, number, meeting, note)
    for sweep in range(state.settings.turn_cap if state.settings.channels else 0):
        spend("sweep")
        delivered = False
        for seat in floor.active:
            delivered |= yield from floor.turn(seat, sweep)
        for seat in floor.called():
            delivered |= yield from floor.turn(seat, sweep)
        if not delivered:
            break
    return sorted(floor.contacted)


class _Floor:
    """Who may speak in a round."""

    def __init__(self, state: GameState, number: int, meeting: Meeting, note: Callable[..., None]) -> None:
        self._state, self._number, self._meeting, self._note = state, number, meeting, note
        self.active = list(meeting.order)
        self.contacted: set[int] = set()
        self._waiting: set[int] = set()
        self._spoken: set[int] = set()

    def called(self) -> list[int]:
        """The outsiders whose turn it is after the active ones."""
        seats, self._waiting = sorted(self._waiting), set()
        if self._state.settings.outsiders == "stay":
            # a new list: the sweep that is running goes over the old one
            self.active = [*self.active, *seats]
        return seats

    def turn(self, seat: int, sweep: int) -> Turn:
        """One turn; whether it delivered a message."""
        answers = yield [Ask(seat, PHASE, self._number, self._state.with_notice(seat, self._text(seat, sweep)))]
        answer = answers[seat][-1]
        said = self._state.actions(answer.text)
        if said.how != "strict":
            self._note("parsed", seat, round=self._number, phase=PHASE, how=said.how)
        if said.problem and answer.no_reply is None:
            self._state.note_unread(seat, said.problem)
        messages, dropped = split(said.value or [], tuple(TOOLS))
        self._state.post.begin_turn()
        for tool in dropped:
            self._drop(seat, tool, "no action of this phase")
        return sum(self._send(seat, sweep, action) for action in messages) > 0

    def _text(self, seat: int, sweep: int) -> str:
        state, meeting = self._state, self._meeting
        mail, first = state.post.drain(seat), seat not in self._spoken
        self._spoken.add(seat)
        if not first:
            return state.view.turn(meeting, sweep, mail)
        if seat in meeting.participants:
            opening = RoundOpening(self._number, state.spent[seat], state.told(seat))
            return state.view.round_start(seat, opening, meeting, state.calendars[seat], sweep, mail)
        return state.view.activation(seat, self._number, meeting, state.calendars[seat], sweep, mail)

    def _send(self, seat: int, sweep: int, action: object) -> bool:
        # a type may be anything, a list included: a tuple asks for equality alone
        if not isinstance(action, dict) or action.get("type") not in tuple(TOOLS):
            self._drop(seat, "", "every action must be an object with a type")
            return False
        sent = self._state.post.send(seat, action, self._meeting)
        if isinstance(sent, str):
            self._drop(seat, action["type"], sent)
            return False
        self._delivered(sent, sweep)
        return True

    def _delivered(self, sent: Message, sweep: int) -> None:
        self._note(
            "message", sent.sender, round=self._number, sweep=sweep, channel=sent.channel, to=list(sent.to),
            meeting=sent.meeting, content=sent.content,
        )  # fmt: skip
        if sent.channel != "participants":
            reached = set(sent.to) - set(self._meeting.participants)
            self.contacted |= reached
            self._waiting |= reached - set(self.active)

    def _drop(self, seat: int, tool: str, why: str) -> None:
        self._note("invalid_tool_call", seat, round=self._number, phase=PHASE, tool=tool, why=why)

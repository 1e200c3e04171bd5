"""A free talk: whoever writes first is heard first, and a clock closes it.

1. A room (`ChatRoom`) has the clock and the words of people, in the order in which they came. Each is handed in as the answer
   to the turn that is open for its seat by then, so the log's order is that of arrival. What was written in time counts.
2. Policies and models talk too: one is asked once at the start, and then when a person said something since, at most once in
   `pace_s` and MOST_OF_A_PROGRAM times in all; so programs never drown people. Whom asking takes long is asked on a thread, and
   people go on. What it then says is the answer to the turn that it was asked, so the log says what it had read.
3. The room's clock closes the talk for everybody who is still there, once those that were asked before have answered. Where no
   person is left, those that remain forfeit as `declined`, and so does who leaves before. All else follows from the arrivals.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from harness.agents.llm.parallel import begun
from harness.agents.people.sitting import ChatRoom
from harness.agents.seating.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.seating.person import PersonSeat
from worlds.core.replies import spoken
from worlds.core.turns import OpenTurn

MOST_OF_A_PROGRAM = 15
"""Maximum number of calls of one policy or model, equal to the rounds of a seat in the paper's talk between models."""

PACE_S = 10.0
_LISTEN_S = 0.1

HandIn = Callable[[OpenTurn, SeatReply | Forfeit], Sequence[OpenTurn]]
"""Answers a turn; what is open next."""


class Chat:
    """Holds the free talk of one game."""

    def __init__(self, room: ChatRoom, minutes: int, pace_s: float = PACE_S) -> None:
        self._room, self._minutes, self._pace_s = room, minutes, pace_s
        self._asked: Counter[int] = Counter()
        self._spoke: dict[int, tuple[float, int]] = {}
        """By program: when it spoke last, and how many messages of people it had read."""

        self._thinking: dict[int, tuple[OpenTurn, int, Future[SeatReply | Forfeit]]] = {}
        """By program that is being asked: its turn, and how many messages of people there were then."""

        self._messages = 0

    def hold(self, turns: Sequence[OpenTurn], seats: Mapping[int, SeatHolder], hand_in: HandIn) -> Sequence[OpenTurn]:
        """Let everybody talk until it is over; what is open after it. Raises what asking a model raises."""
        self._room.open(self._minutes)
        try:
            while turns and turns[0].free:
                turns = self._next(turns, seats, hand_in)
        finally:
            self._room.close()
        return turns

    def _next(self, turns: Sequence[OpenTurn], seats: Mapping[int, SeatHolder], hand_in: HandIn) -> Sequence[OpenTurn]:
        """Process one message or departure of a player, or nothing for a moment, and return the open turns."""
        by_seat = {turn.seat: turn for turn in turns}
        word = self._room.heard(_LISTEN_S)
        if word is not None:
            seat, text = word
            return turns if seat not in by_seat else self._taken(by_seat[seat], _of_person(text), hand_in, is_person=True)
        ready = next((seat for seat, (_, _, answer) in self._thinking.items() if answer.done()), None)
        if ready is not None:
            turn, messages, answer = self._thinking.pop(ready)
            self._spoke[ready] = (time.monotonic(), messages)
            return self._taken(turn, answer.result(), hand_in)
        is_closed = self._room.closed
        if not is_closed and any(isinstance(seats[seat], PersonSeat) for seat in by_seat):
            for seat, turn in by_seat.items():
                if not isinstance(seats[seat], PersonSeat) and self._is_due(seat):
                    self._asks(turn, seats[seat])
            return turns
        if self._thinking:
            return turns
        end = Forfeit("timeout", "the chat was closed") if is_closed else Forfeit("declined", "no person is left")
        return self._taken(turns[0], end, hand_in)

    def _asks(self, turn: OpenTurn, holder: SeatHolder) -> None:
        """Ask a program, on a thread where that takes long."""
        answer = Future[SeatReply | Forfeit]()
        if holder.beside:
            answer = begun(holder.ask, turn)
        else:
            answer.set_result(holder.ask(turn))
        self._thinking[turn.seat] = (turn, self._messages, answer)
        self._asked[turn.seat] += 1

    def _taken(
        self, turn: OpenTurn, reply: SeatReply | Forfeit, hand_in: HandIn, *, is_person: bool = False
    ) -> Sequence[OpenTurn]:
        left = hand_in(turn, reply)
        if isinstance(reply, SeatReply) and (said := spoken(reply.text)):
            self._messages += is_person
            self._room.show(turn.seat, said, is_last=all(one.seat != turn.seat for one in left))
        return left

    def _is_due(self, seat: int) -> bool:
        if seat in self._thinking or self._asked[seat] >= MOST_OF_A_PROGRAM:
            return False
        at, heard = self._spoke.get(seat, (None, -1))
        return at is None or (self._messages > heard and time.monotonic() - at >= self._pace_s)


def _of_person(text: str | None) -> SeatReply | Forfeit:
    return Forfeit("declined", "the person left the chat") if text is None else SeatReply(text)

"""A free talk: whoever writes first is heard first, and a clock closes it.

1. A room (`ChatRoom`) has the clock and the words of people, in the order in which they came. Each is handed in as the answer
   to the turn that is open for its seat by then, so the log's order is that of arrival. What was written in time counts.
2. Policies and models talk too: one is asked once at the start, and then when a person said something since, at most once in
   `pace_s` and MOST_OF_A_PROGRAM times in all; so programs never drown people. While one is asked, what people write waits, so
   what it was shown is what the log says.
3. The room's clock closes the talk: everybody who is still there forfeits as `timeout`. Where no person is left, those that
   remain forfeit as `declined`, and so does who leaves before. Everything else follows from the arrivals.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from harness.agents.people.sitting import ChatRoom
from harness.agents.seating.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.seating.person import PersonSeat
from worlds.core.turns import OpenTurn

MOST_OF_A_PROGRAM = 15
"""Messages of one policy or model: as many as a seat has rounds in the paper's talk between models."""

PACE_S = 10.0
_LISTEN_S = 0.1

HandIn = Callable[[OpenTurn, SeatReply | Forfeit], Sequence[OpenTurn]]
"""Answers a turn; what is open next."""


class Chat:
    """Holds the free talk of one game."""

    def __init__(self, room: ChatRoom, minutes: int, pace_s: float = PACE_S) -> None:
        self._room, self._minutes, self._pace_s = room, minutes, pace_s
        self._said: Counter[int] = Counter()
        self._spoke: dict[int, tuple[float, int]] = {}
        """By program: when it was last asked, and how many messages of people there were by then."""

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
        """One word of somebody, or one who leaves, or nothing for a moment."""
        by_seat = {turn.seat: turn for turn in turns}
        word = self._room.heard(_LISTEN_S)
        if word is not None:
            seat, text = word
            turn = by_seat.get(seat)
            return turns if turn is None else self._taken(turn, _of_person(text), seats, hand_in)
        if self._room.closed:
            return self._taken(turns[0], Forfeit("timeout", "the chat was closed"), seats, hand_in)
        if not any(isinstance(seats[seat], PersonSeat) for seat in by_seat):
            return self._taken(turns[0], Forfeit("declined", "no person is left"), seats, hand_in)
        program = next((seat for seat in by_seat if not isinstance(seats[seat], PersonSeat) and self._is_due(seat)), None)
        if program is None:
            return turns
        turn = by_seat[program]
        return self._taken(turn, seats[program].ask(turn), seats, hand_in)

    def _taken(
        self, turn: OpenTurn, reply: SeatReply | Forfeit, seats: Mapping[int, SeatHolder], hand_in: HandIn
    ) -> Sequence[OpenTurn]:
        left = hand_in(turn, reply)
        holder = seats[turn.seat]
        if isinstance(reply, SeatReply) and reply.text.strip():
            self._messages += isinstance(holder, PersonSeat)
            self._room.show(turn.seat, reply.text.strip())
        if not isinstance(holder, PersonSeat):
            self._said[turn.seat] += 1
            self._spoke[turn.seat] = (time.monotonic(), self._messages)
        return left

    def _is_due(self, seat: int) -> bool:
        if self._said[seat] >= MOST_OF_A_PROGRAM:
            return False
        at, heard = self._spoke.get(seat, (None, -1))
        return at is None or (self._messages > heard and time.monotonic() - at >= self._pace_s)


def _of_person(text: str | None) -> SeatReply | Forfeit:
    return Forfeit("declined", "the person left the chat") if text is None else SeatReply(text)

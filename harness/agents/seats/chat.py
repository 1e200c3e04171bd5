"""Free discussion (docs/people.md): messages are processed in order of arrival, and a clock ends it.

1. A `ChatRoom` has the clock and the messages of people. Each message is submitted as the answer to the open turn of its seat,
so the log has the order of arrival. Messages sent in time are accepted.
2. Each policy or model is asked once at the start, and then after new messages of people. To keep programs from dominating,
each is asked at most once per `pace_s`, and at most MOST_OF_A_PROGRAM times. Slow players are asked on a thread while people
continue.
3. The chat room's clock ends the discussion, once pending replies have arrived. If no person is left, the other seats forfeit.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from harness.agents.llm.parallel import begun
from harness.agents.seats.holders import Forfeit, SeatHolder, SeatReply
from harness.agents.seats.people import ChatRoom, PersonSeat
from worlds.core.replies import spoken_text
from worlds.core.turns import OpenTurn

MOST_OF_A_PROGRAM = 15
"""Maximum number of calls of one policy or model, equal to the rounds of a seat in the paper's talk between models."""

PACE_S = 10.0
_LISTEN_S = 0.1

HandIn = Callable[[OpenTurn, SeatReply | Forfeit], Sequence[OpenTurn]]
"""Function that answers a turn and returns the turns open next."""


class Chat:
    """Free discussion of one game."""

    def __init__(self, room: ChatRoom, minutes: int, pace_s: float = PACE_S) -> None:
        self._room, self._minutes, self._pace_s = room, minutes, pace_s
        self._asked: Counter[int] = Counter()
        self._spoke: dict[int, tuple[float, int]] = {}
        """For each program, the time of its last message, and the number of people's messages that it had read then."""

        self._thinking: dict[int, tuple[OpenTurn, int, Future[SeatReply | Forfeit]]] = {}
        """For each program being asked, its turn, and the number of people's messages at that time."""

        self._messages = 0

    def hold(self, turns: Sequence[OpenTurn], seats: Mapping[int, SeatHolder], hand_in: HandIn) -> Sequence[OpenTurn]:
        """Run the discussion to its end and return the turns that are open afterwards. Raises the exceptions of model calls."""
        self._room.open(self._minutes)
        try:
            while turns and turns[0].free:
                turns = self._next(turns, seats, hand_in)
        finally:
            self._room.close()
        return turns

    def _next(self, turns: Sequence[OpenTurn], seats: Mapping[int, SeatHolder], hand_in: HandIn) -> Sequence[OpenTurn]:
        """Process the next message or departure, waiting briefly for one, and return the open turns."""
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
        """Ask a program, on a thread if it is slow."""
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
        if isinstance(reply, SeatReply) and (said := spoken_text(reply.text)):
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

"""A person at a seat: asked wherever people sit, and recorded as every other seat is.

1. What a person takes to answer is recorded and charged to no budget in real time.
2. Who leaves forfeits this turn and all later ones as `declined`; who does not answer in time forfeits the turn as `timeout`.
3. Somebody without a name is recorded as `anonymous`, or by an id that the desk made up.
"""

from __future__ import annotations

import time

from harness.agent import Usage
from harness.agents.people.sitting import ANONYMOUS, Late, PeopleDesk, Sitter
from harness.agents.seating.holders import Forfeit, SeatReply, write_down
from harness.agents.trajectory import Trajectory
from harness.records import SeatResult
from worlds.core.turns import OpenTurn


class PersonSeat:
    """A seat that a person holds."""

    client = None

    def __init__(self, sitter: Sitter, desk: PeopleDesk, trajectory: Trajectory | None = None) -> None:
        self.sitter, self.trajectory, self.usage = sitter, trajectory, Usage()
        self.beside = desk.beside
        self._desk, self._left = desk, False
        self._latencies_s: list[float] = []
        desk.sit(sitter)

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the person's reply."""
        if self._left:
            return Forfeit("declined", "the person left")
        asked = time.monotonic()
        try:
            said = self._desk.ask(self.sitter, turn)
        except Late as late:
            return Forfeit("timeout", str(late), time.monotonic() - asked)
        if said is None:
            self._left = True
            return Forfeit("declined", "the person left", time.monotonic() - asked)
        took = time.monotonic() - asked
        return SeatReply(said, latency_s=took, waited_s=took)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Write it down."""
        self._latencies_s.append(round(reply.latency_s, 4))
        write_down(self.trajectory, turn, reply)

    def result(self) -> SeatResult:
        """Return the person's name or id, and the response times."""
        self._desk.done(self.sitter)
        return SeatResult(
            seat=self.sitter.seat, kind="human", name=self.sitter.name or ANONYMOUS,
            latency_s=round(sum(self._latencies_s), 4), latencies_s=tuple(self._latencies_s),
        )  # fmt: skip

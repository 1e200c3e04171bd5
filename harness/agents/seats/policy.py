"""Policy at a seat, which knows only its own seat."""

from __future__ import annotations

from harness.agent import Usage
from harness.agents.seats.holders import Forfeit, SeatReply, write_down
from harness.agents.seats.players import SeatPlayer
from harness.agents.trajectory import Trajectory
from harness.records import SeatResult
from worlds.core.turns import OpenTurn


class PolicySeat:
    """Seat of a policy, which computes its answers at no cost."""

    client = None
    beside = False

    def __init__(self, seat: int, name: str, player: SeatPlayer, trajectory: Trajectory | None = None) -> None:
        self._seat, self._name, self._player = seat, name, player
        self.trajectory, self.usage = trajectory, Usage()

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the policy's reply."""
        said = self._player.reply(turn)
        return Forfeit("declined", "a policy has no answer to this") if said is None else SeatReply(said)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record the reply if games are recorded turn by turn; the policy keeps its own state."""
        write_down(self.trajectory, turn, reply)

    def result(self) -> SeatResult:
        """Return the policy's name."""
        return SeatResult(seat=self._seat, kind="policy", name=self._name)

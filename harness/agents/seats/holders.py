"""Players of seats: they answer a turn, or forfeit it with a cause.

1. `ask` answers without changing the conversation. A player that waits (for a model, or a person at a web page) is asked
concurrently on its own thread; others are asked one after the other.
2. `keep` is called in the order of the turns, whatever the response times. Only this call stores the reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple

from harness.agents.llm.completion import Completion, shortened
from harness.agents.llm.model import ModelClient
from harness.agents.seats.lineup import SeatPlayer
from harness.agents.trajectory import Trajectory
from harness.agents.turns import is_too_long
from harness.records import SeatResult
from worlds.core.turns import OpenTurn

NOT_TAKEN = "[This reply was longer than can be taken, and was not.]"
"""Text that replaces a reply that forfeited its turn in the seat's conversation."""


class SeatReply(NamedTuple):
    """Reply of a seat to a turn."""

    text: str
    completion: Completion | None = None
    """Complete reply of the model, if a model plays the seat."""

    latency_s: float = 0.0
    """Real seconds that the model or person took, excluding the time spent waiting for a provider."""

    waited_s: float = 0.0
    """Real seconds that count against no budget: a person's time to think and type."""


class Forfeit(NamedTuple):
    """Turn that a seat gives up."""

    cause: str
    """Cause from `worlds.core.turns.NO_REPLY_CAUSES`."""

    why: str
    waited_s: float = 0.0
    """Real seconds that count against no budget, spent waiting for a person."""


class SeatHolder(ABC):
    """Player of one seat in one game; `trajectory` is its recorded conversation, None if that is not recorded."""

    kind: ClassVar[Literal["policy", "model", "human", "replay"]]
    beside = False
    """True if the player is asked concurrently with others."""

    client: ModelClient | None = None
    """Model that is called; None for a player that calls none."""

    def __init__(self, seat: int, name: str, trajectory: Trajectory | None = None) -> None:
        self.seat, self.name, self.trajectory = seat, name, trajectory
        self.latencies_s: list[float] = []

    @abstractmethod
    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the player's answer to a turn; raises ProviderFailure and Cancelled, which end the game."""

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record a turn and its reply."""
        if self.trajectory is not None:
            self.trajectory.user(turn.text)
            self.trajectory.agent(reply.text, extra={"phase": turn.phase, "ephemeral": turn.ephemeral})

    def result(self) -> SeatResult:
        """Return the player of the seat and its usage."""
        return SeatResult(**self.told())

    def told(self) -> dict[str, Any]:
        """Return the fields of the seat's record: its player, and the times of its answers."""
        times = {"latency_s": round(sum(self.latencies_s), 4), "latencies_s": tuple(self.latencies_s)}
        return {"seat": self.seat, "kind": self.kind, "name": self.name, **times}


class PolicySeat(SeatHolder):
    """Seat of a policy. A policy sees only its own seat, keeps its own state, and computes its answers at no cost."""

    kind = "policy"

    def __init__(self, seat: int, name: str, player: SeatPlayer, trajectory: Trajectory | None = None) -> None:
        super().__init__(seat, name, trajectory)
        self._player = player

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return the policy's reply."""
        said = self._player.reply(turn)
        return Forfeit("declined", "a policy has no answer to this") if said is None else SeatReply(said)


class TalkingSeat(SeatHolder):
    """Seat with a model's conversation: the seat's rules, its turns, and the replies.

    A turn that only measures is sent with the conversation, but neither the turn nor its reply is added to it. A reply over the
    length limit is not added either, because it would fill the model's context for all later turns.
    """

    def __init__(self, seat: int, name: str, rules: str, trajectory: Trajectory | None = None) -> None:
        super().__init__(seat, name, trajectory)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": rules}]

    def before(self, turn: OpenTurn) -> list[dict[str, Any]]:
        """Return the messages for this turn, including the earlier conversation."""
        return [*self._messages, {"role": "user", "content": turn.text}]

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Record the answer, and add it to the conversation if the turn belongs there."""
        said = reply.completion
        assert said is not None, "the reply of a model has a completion"
        is_long = said.left_out > 0 or is_too_long(said.text)
        if self.trajectory is not None:
            self.trajectory.user(turn.text)
            self.trajectory.agent(
                shortened(said.text) if is_long else said.text, metrics=said.usage, reasoning=said.reasoning,
                extra={"finish_reason": said.finish_reason, "phase": turn.phase, "ephemeral": turn.ephemeral},
            )  # fmt: skip
        if not turn.ephemeral:
            kept = {"role": "assistant", "content": NOT_TAKEN} if is_long else said.message
            self._messages += [{"role": "user", "content": turn.text}, kept]

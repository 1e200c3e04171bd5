"""Protocol of seat holders: they answer a turn, or forfeit it with a cause.

1. `ask` answers without changing the conversation. A holder that waits (for a model, or a person at a page) is asked
concurrently on its own thread; any other is asked in turn.
2. `keep` is called in the order of the turns, whatever the response times. Only there a holder remembers its reply.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from harness.agent import Usage
from harness.agents.llm.completion import Completion
from harness.agents.trajectory import Trajectory
from harness.records import SeatResult
from worlds.core.turns import OpenTurn


class SeatReply(NamedTuple):
    """Reply of a seat to a turn."""

    text: str
    completion: Completion | None = None
    """Complete reply of the model, if a model holds the seat."""

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


class AskedModel(Protocol):
    """Model of a seat, as the game sees it."""

    @property
    def name(self) -> str:
        """LiteLLM name of the model."""
        ...

    def say_once(self, line: str) -> None:
        """Print a message once."""
        ...


class SeatHolder(Protocol):
    """Holder of one seat in one game."""

    usage: Usage
    """Usage of its model so far."""

    @property
    def beside(self) -> bool:
        """True if it is asked concurrently with others."""
        ...

    @property
    def client(self) -> AskedModel | None:
        """Model that is called; None for a holder that only computes."""
        ...

    @property
    def trajectory(self) -> Trajectory | None:
        """Recorded conversation; None if it is not recorded."""
        ...

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Return its answer to a turn; raises ProviderFailure and Cancelled, which end the game."""
        ...

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Remember its reply, unless the turn is only a measurement."""
        ...

    def result(self) -> SeatResult:
        """Return the holder of the seat and its usage."""
        ...


def write_down(trajectory: Trajectory | None, turn: OpenTurn, reply: SeatReply) -> None:
    """Add a turn and its reply, which is not a model's, to a recorded conversation."""
    if trajectory is not None:
        trajectory.user(turn.text)
        trajectory.agent(reply.text, extra={"phase": turn.phase, "ephemeral": turn.ephemeral})

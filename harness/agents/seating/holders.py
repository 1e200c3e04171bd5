"""What the loop asks of whoever holds a seat: an answer to a turn, or a forfeit with its cause.

1. `ask` answers and changes nothing that a conversation is made of. A holder that waits for somebody (a model, a person at a
   page) is asked beside the others, on a thread of its own; any other is asked in its turn.
2. `keep` is called in the order of the turns, whoever was fast. Only there a holder remembers what it said.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from harness.agent import Usage
from harness.agents.llm.completion import Completion
from harness.agents.trajectory import Trajectory
from harness.records import SeatResult
from worlds.core.turns import OpenTurn


class SeatReply(NamedTuple):
    """What a seat says to a turn."""

    text: str
    completion: Completion | None = None
    """The model's whole answer, where a model holds the seat."""

    latency_s: float = 0.0
    """Real seconds that the model or person took, without those in which a provider kept it waiting."""

    waited_s: float = 0.0
    """Real seconds that are charged to nobody: a person's, to think and type."""


class Forfeit(NamedTuple):
    """A turn that a seat gives up."""

    cause: str
    """One of `worlds.core.turns.NO_REPLY_CAUSES`."""

    why: str
    waited_s: float = 0.0
    """Real seconds that are charged to nobody: a person was waited for."""


class AskedModel(Protocol):
    """What a table knows of a model at one of its seats."""

    @property
    def name(self) -> str:
        """As LiteLLM names it."""
        ...

    def say_once(self, line: str) -> None:
        """Tell people something once."""
        ...


class SeatHolder(Protocol):
    """One seat of one game."""

    usage: Usage
    """What its model was asked so far."""

    @property
    def beside(self) -> bool:
        """Whether it is asked at the same time as others."""
        ...

    @property
    def client(self) -> AskedModel | None:
        """The model that is asked; None for a holder that only computes."""
        ...

    @property
    def trajectory(self) -> Trajectory | None:
        """Its conversation as it is recorded; None where it is not."""
        ...

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """Its answer to a turn; raises ProviderFailure and Cancelled, which end the game."""
        ...

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Remember what it said, unless the turn only measures."""
        ...

    def result(self) -> SeatResult:
        """Who sat here, and what that cost."""
        ...


def write_down(trajectory: Trajectory | None, turn: OpenTurn, reply: SeatReply) -> None:
    """Add a turn and its reply, which no model gave, to a conversation that is recorded."""
    if trajectory is not None:
        trajectory.user(turn.text)
        trajectory.agent(reply.text, extra={"phase": turn.phase, "ephemeral": turn.ephemeral})

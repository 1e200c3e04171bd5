"""Conversation of a model at a seat: the seat's rules, its turns, and the model's replies.

A turn that only measures is asked within the conversation and leaves no trace in it. A reply over the length limit is not kept
either, because it would fill the model's context for all later turns.
"""

from __future__ import annotations

from typing import Any

from harness.agents.llm.completion import Completion, shortened
from harness.agents.trajectory import Trajectory
from harness.agents.turns import is_too_long
from worlds.core.turns import OpenTurn

NOT_TAKEN = "[This reply was longer than can be taken, and was not.]"
"""Text that replaces a reply that forfeited its turn in the seat's conversation."""


class SeatTalk:
    """Conversation of one seat; `trajectory` is its record, None if it is not recorded."""

    def __init__(self, rules: str, trajectory: Trajectory | None = None) -> None:
        self.trajectory = trajectory
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": rules}]

    def before(self, turn: OpenTurn) -> list[dict[str, Any]]:
        """Return the messages for this turn, including the earlier conversation."""
        return [*self._messages, {"role": "user", "content": turn.text}]

    def keep(self, turn: OpenTurn, said: Completion) -> None:
        """Record the answer to a turn, and add it to the conversation if the turn belongs there."""
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

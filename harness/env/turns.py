"""A turn as whoever drives an episode gets it: what a model is to be sent, and the id under which its answer is handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SeatTurn:
    """One seat is asked; turns that are open together may be answered in any order."""

    id: str
    seat: int
    """From 0; a task of one agent has seat 0 alone."""

    text: str
    """What is new since this seat's last turn."""

    messages: Sequence[dict[str, Any]]
    """Everything that the seat's model reads, this turn included, as chat messages of OpenAI's shape."""

    tools: Sequence[dict[str, Any]] = ()
    """What its model may call, in OpenAI's schema; none in games, which are talk."""

    phase: str = "act"
    """Which part of a game asks; `act` where a task is no game."""

    round: int = 0
    attempt: int = 1
    """From 2 on where the answer before was refused, and the text says why."""

    ephemeral: bool = False
    """Whether the turn only measures: no later turn of this seat has it, or its answer, in `messages`."""

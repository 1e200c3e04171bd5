"""The players that a family offers by name, in `harness.families.<family>.seats`.

A player is anything with `reply(turn) -> text`: a typed protocol or a scripted policy. It is made anew for each game. One that
has no answer to a kind of turn, such as a question about its beliefs, replies None, and the turn is forfeited as `declined`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from harness.modules import family_part_or_none
from harness.registry import Task
from worlds.core.turns import OpenTurn


class SeatPlayer(Protocol):
    """A policy at one seat of one game."""

    def reply(self, turn: OpenTurn) -> str | None:
        """The raw reply to a turn of this seat; None where it has none to give."""
        ...


Maker = Callable[[Task, int, Mapping[str, Any]], SeatPlayer]
"""Makes the player of a seat from the task, the seat's number and the answer of GET /session."""


def seat_players(family: str) -> Mapping[str, Maker]:
    """The players that a family offers by name; none where it has no seats."""
    module = family_part_or_none(family, "seats")
    players: Mapping[str, Maker] = module.PLAYERS if module else {}
    return players


def check_playable(task: Task) -> None:
    """Raise UsageError for a task that no policy of its family can play, where the family knows of such."""
    module = family_part_or_none(task.family, "playable")
    if module is not None:
        module.check(task)

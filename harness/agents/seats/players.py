"""Named players of a family, defined in `parley.families.<family>.seats`.

A player is any object with `reply(turn) -> text`: a typed protocol or a scripted policy. It is created for each game. A player
that cannot answer a kind of turn, such as a question about its beliefs, returns None, and the turn is forfeited as `declined`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from harness.plugins import family_part_or_none
from harness.registry import Task
from worlds.core.turns import OpenTurn


class SeatPlayer(Protocol):
    """Policy at one seat of one game."""

    def reply(self, turn: OpenTurn) -> str | None:
        """Return the raw reply to a turn of this seat; None if there is none."""
        ...


Maker = Callable[[Task, int, Mapping[str, Any]], SeatPlayer]
"""Function that makes the player of a seat from the task, the seat's number and the response to GET /session."""


def seat_players(family: str) -> Mapping[str, Maker]:
    """Return the players that a family offers by name; empty if it has no seats."""
    module = family_part_or_none(family, "seats")
    players: Mapping[str, Maker] = module.PLAYERS if module else {}
    return players


def check_playable(task: Task) -> None:
    """Raise UsageError for a task that no policy of its family can play, if the family declares such tasks."""
    module = family_part_or_none(task.family, "playable")
    if module is not None:
        module.check(task)

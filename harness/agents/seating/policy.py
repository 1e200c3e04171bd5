"""Policies at seats: what a family offers by name in `harness.families.<family>.seats`, each knowing its own seat only.

A player is anything with `reply(turn) -> text`: a typed protocol or a scripted policy. It is made anew for each game. One that
has no answer to a kind of turn, such as a question about its beliefs, replies None, and the turn is forfeited as `declined`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from harness.agent import Usage
from harness.agents.seating.holders import Forfeit, SeatReply, write_down
from harness.agents.trajectory import Trajectory
from harness.modules import family_part_or_none
from harness.records import SeatResult
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


def seat_names(known: Sequence[str]) -> list[str]:
    """Every player that these families offer."""
    return list(dict.fromkeys(name for family in known for name in seat_players(family)))


class PolicySeat:
    """A seat that a policy holds: it computes its answers, and costs nothing."""

    client = None
    beside = False

    def __init__(self, seat: int, name: str, player: SeatPlayer, trajectory: Trajectory | None = None) -> None:
        self._seat, self._name, self._player = seat, name, player
        self.trajectory, self.usage = trajectory, Usage()

    def ask(self, turn: OpenTurn) -> SeatReply | Forfeit:
        """What the policy says."""
        said = self._player.reply(turn)
        return Forfeit("declined", "a policy has no answer to this") if said is None else SeatReply(said)

    def keep(self, turn: OpenTurn, reply: SeatReply) -> None:
        """Write it down where games are written down turn by turn; what to remember is the policy's own business."""
        write_down(self.trajectory, turn, reply)

    def result(self) -> SeatResult:
        """Its name."""
        return SeatResult(seat=self._seat, kind="policy", name=self._name)

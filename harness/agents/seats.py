"""Plays a game with one player at every seat, each knowing what its own seat was told and nothing else.

Who can play comes from the family: `harness.families.<family>.seats` maps names to makers of players. A player is anything with
`reply(turn) -> text`: a typed protocol or a scripted policy. Models sit down in `harness.agents.llm.seats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from harness import families
from harness.agents.base import Budget, Report
from harness.agents.played import scripted_trajectory
from harness.agents.turns import Turn, TurnClient
from harness.errors import UsageError
from harness.registry import Task
from harness.runtimes.base import Pod


class SeatPlayer(Protocol):
    """One seat of one game."""

    def reply(self, turn: Turn) -> str:
        """The raw reply to a turn of this seat."""
        ...


Maker = Callable[[Task, int, Mapping[str, Any]], SeatPlayer]
"""Makes the player of a seat from the task, the seat's number and the answer of GET /session."""


def seat_players(family: str) -> Mapping[str, Maker]:
    """The players that a family offers by name; none where it has no seats."""
    module = families.find(family, "seats")
    players: Mapping[str, Maker] = module.PLAYERS if module else {}
    return players


def seat_names(known: Sequence[str]) -> list[str]:
    """Every player that these families offer."""
    return list(dict.fromkeys(name for family in known for name in seat_players(family)))


class SeatAgent:
    """The same kind of player at every seat."""

    only_computes = True

    def __init__(self, name: str) -> None:
        self.name = name

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Seats need no hands; raises UsageError for a task whose family has no such player."""
        if self.name not in (known := seat_players(task.family)):
            has = f"; it has {', '.join(known)}" if known else " at all"
            hint = f"harness run {task.task_id} --agent {next(iter(known), 'oracle')}"
            raise UsageError(f"{task.task_id} has no seat player {self.name!r}{has}", hint=hint)
        return False

    def identity(self) -> Mapping[str, Any]:
        """Its name."""
        return {"name": self.name}

    def check(self) -> None:
        """Nothing can be wrong before the tasks are known."""

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report) -> None:
        """Answer every turn with the player of its seat."""
        game = TurnClient(pod)
        session = game.session()
        make = seat_players(task.family)[self.name]
        players = {row["seat"]: make(task, row["seat"], session) for row in session["seats"]}
        turns = game.open()
        while turns:
            turns = game.answer(turns[0]["id"], players[turns[0]["seat"]].reply(turns[0]))
            report.tool_calls += 1
        did = f"{self.name} at {len(players)} seats, {report.tool_calls} turns"
        report.trajectory = scripted_trajectory(self.name, pod.instruction, did)

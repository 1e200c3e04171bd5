"""What claims about a task are held against: all that was played of it, judged, and where in its folder each thing stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness.agents.solutions import OWN, PLAN, players
from harness.authoring.findings import Place, definition, violation_lines
from harness.authoring.plays import SOLVE, Play
from harness.registry import Task
from harness.taskfile import line_of
from worlds.core.levels import LEVEL


@dataclass(frozen=True)
class TaskEvidence:
    """One task and everything that was played of it."""

    task: Task
    plays: Sequence[Play]
    made: Sequence[Play] = ()
    """What was made of the oracle's first episode: altered requests that were played, and altered logs that were not."""

    def of(self, player: str) -> list[Play]:
        """A player's episodes at default options, by seed."""
        return [played for played in self.plays if played.player == player and not played.overrides]

    def at(self, level: int) -> TaskEvidence:
        """What was played at a level, as the evidence of the task that it makes."""
        there = [replace(played, overrides={}) for played in self.plays if played.overrides.get(LEVEL) == level]
        return TaskEvidence(self.task.at(level), there)

    def made_as(self, kind: str) -> list[Play]:
        """Of what was made of the oracle's episode, that of one kind: what its name starts with."""
        return [played for played in self.made if played.player.partition(":")[0] == kind]

    @property
    def violations(self) -> list[str]:
        """The names of the wrong clients."""
        return [name for name in players(self.task) if name != SOLVE]

    @cached_property
    def lines(self) -> Mapping[str, Place]:
        """Where each wrong client is named."""
        return violation_lines(self.task)

    def place(self, player: str) -> Place:
        """Where a client is written."""
        if not (self.task.path / OWN).exists():
            return Place(self.task.path / PLAN, 1)
        if player == SOLVE:
            return definition(self.task.path / OWN, SOLVE)
        table = definition(self.task.path / "solution" / "violations.py", "VIOLATIONS")
        return self.lines.get(player, table)

    @property
    def tests(self) -> Place:
        """The hidden tests."""
        return Place(self.task.path / "tests" / "test_outcome.py", 1)

    @property
    def server(self) -> Place:
        """Where the world draws its instance."""
        return definition(self.task.world_folder / "server.py", "prepare")

    def setting(self, *keys: str) -> Place:
        """Where task.toml sets something of [metadata.parley]."""
        path = self.task.path / "task.toml"
        return Place(path, line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", *keys)))

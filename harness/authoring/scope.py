"""What belongs to a task's proof: which seeds, which clients, which of them are played twice, and which in a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.agents.solutions import players
from harness.authoring.findings import ProvedClient
from harness.authoring.plays import NOP, SOLVE
from harness.errors import UsageError
from harness.registry import Task
from harness.runs.plan import parse_seeds
from worlds.core.loading import SCENARIO

SPREAD = 10
"""Of tasks that are data alone, how many of a family a sample plays in a sandbox."""


@dataclass(frozen=True)
class Scope:
    """Which episodes of a task belong to its proof."""

    task: Task
    seeds: Sequence[int]
    thorough: bool = False
    """Whether every client is played twice, and at each level on every seed."""

    sample: bool = False
    """Whether a sandbox plays only the oracle, nop and one violation, on the first seed."""

    sandboxed: bool = True
    """Whether a sandbox, where one is asked for, plays this task at all."""

    @property
    def sandbox_seeds(self) -> Sequence[int]:
        """Of the seeds, those that a sandbox plays."""
        return self.seeds[:1] if self.sample else self.seeds

    def in_sandbox(self, clients: Sequence[ProvedClient]) -> list[ProvedClient]:
        """Of the clients that were proved, those that a sandbox plays as well."""
        if not self.sample:
            return list(clients)
        wrong = list(dict.fromkeys(client.player for client in clients if client.player not in (SOLVE, NOP)))
        chosen = {SOLVE, NOP, *wrong[len(self.task.task_id) % max(1, len(wrong)) :][:1]}
        return [client for client in clients if client.player in chosen and client.seed in self.sandbox_seeds]

    def clients(self) -> list[tuple[str, int]]:
        """Every client on every seed; the folder's code is imported."""
        return [(player, seed) for seed in self.seeds for player in (*players(self.task), NOP)]

    def leveled(self) -> list[tuple[int, str, int]]:
        """Clients at levels above the first, each with its seed: thorough, every one at each level on every seed.

        Else, on the first seed, the oracle at each level and every other client at one of them, in turn from the highest down.
        """
        levels = tuple(self.task.parley.levels)[::-1] if self.task.parley else ()
        others = [name for name in (*players(self.task), NOP) if name != SOLVE]
        if self.thorough:
            return [(level, player, seed) for level in levels for seed in self.seeds for player in (SOLVE, *others)]
        chosen = [(level, SOLVE) for level in levels]
        chosen += [(levels[turn % len(levels)], name) for turn, name in enumerate(others) if levels]
        return [(level, player, self.seeds[0]) for level, player in chosen]

    def replayed(self) -> list[tuple[str, int]]:
        """What is played twice: the oracle on every seed, every other client on two of them in turn; thorough, all."""
        others = [name for name in (*players(self.task), NOP) if name != SOLVE]
        count = len(self.seeds)
        chosen = {(name, self.seeds[(turn + step) % count]) for turn, name in enumerate(others) for step in (0, 1)}
        return [client for client in self.clients() if self.thorough or client[0] == SOLVE or client in chosen]


def spread(tasks: Sequence[Task]) -> set[str]:
    """The tasks that a sample plays in a sandbox: all that have code of their own, and a spread of the others."""
    chosen = {task.task_id for task in tasks if not is_data(task)}
    for family_name in {task.family for task in tasks}:
        data = [task.task_id for task in tasks if is_data(task) and task.family == family_name]
        chosen.update(data[:: max(1, len(data) // SPREAD)][:SPREAD])
    return chosen


def is_data(task: Task) -> bool:
    """Whether a task's folder holds a scenario for its family's world, and no rules of its own."""
    return (task.world_folder / SCENARIO).is_file() and not (task.world_folder / "server.py").exists()


def seeds_of(task: Task, seeds: Sequence[int] | None) -> list[int]:
    """The seeds to prove a task on: its own, of `seeds` those that it has, and 0 where that leaves none."""
    if task.parley is None:
        return list(seeds or [0])
    try:
        own = parse_seeds(task.parley.seeds)
    except UsageError:
        # no range, which lint reports
        return list(seeds or [0])
    return own if seeds is None else [seed for seed in seeds if seed in own] or [0]

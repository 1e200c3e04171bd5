"""What a task shows while nothing is changed: its episodes with their verdicts, and which lines each of them runs.

Made once for each task in a copy of this process, because it imports the rooms that are to be changed. It holds, too, that the
task is proved as it is: a proof that fails already cannot tell of a change.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from harness.authoring.evidence import TaskEvidence
from harness.authoring.mutants.units import traced
from harness.authoring.plays import Play, judge, play
from harness.authoring.proving import all_claims, episodes, made_of
from harness.authoring.scope import Scope
from harness.errors import TaskInvalid
from harness.registry import Task
from worlds.core.manifest import OptionValue

Client = tuple[str, int, tuple[tuple[str, OptionValue], ...]]
"""Player, seed, and the settings that differ from the defaults."""


@dataclass
class Ground:
    """One task, unchanged."""

    task: Task
    plays: dict[Client, Play] = field(default_factory=dict)
    ran: dict[str, dict[int, int]] = field(default_factory=dict)
    """By file and line, the episodes that run it: bit `n` for the `n`th."""

    judged: dict[str, set[int]] = field(default_factory=dict)
    """By file, the lines that judging runs."""

    made: list[Play] = field(default_factory=list)
    """What is made of the oracle's first episode: altered requests and altered logs."""

    remade: dict[str, set[int]] = field(default_factory=dict)
    """By file, the lines that making and judging these runs."""

    wrong: str = ""
    """The first check that fails without any change."""

    cpu_s: float = 0.0

    def seeds(self) -> list[int]:
        """The seeds that were played, in order."""
        return sorted({seed for _, seed, _ in self.plays})

    def reached(self, file: str, lines: Iterable[int]) -> set[Client]:
        """The episodes that run any of these lines."""
        by_line = self.ran.get(file, {})
        bits = reduce(or_, (by_line.get(line, 0) for line in lines), 0)
        return {client for number, client in enumerate(self.plays) if bits >> number & 1}


def surveyed(task: Task, seeds: Sequence[int], files: Collection[str]) -> Ground:
    """Play and judge a task as it is, and note which lines of `files` run when; its code is imported."""
    began, ground = time.process_time(), Ground(task)
    for number, (player, seed, settings) in enumerate(episodes(Scope(task, seeds))):
        with traced(files) as lines:
            ground.plays[player, seed, tuple(settings.items())] = play(task, player, seed, settings)
        for file, line in lines:
            by_line = ground.ran.setdefault(file, {})
            by_line[line] = by_line.get(line, 0) | 1 << number
    plays = list(ground.plays.values())
    with traced(files) as lines:
        judge(task, plays)
    for file, line in lines:
        ground.judged.setdefault(file, set()).add(line)
    with traced(files) as lines:
        ground.made = made_of(task, plays)
    for file, line in lines:
        ground.remade.setdefault(file, set()).add(line)
    failing = [check for check in all_claims(TaskEvidence(task, plays, ground.made)) if not check.ok]
    ground.wrong = f"{failing[0].name}: {failing[0].detail}" if failing else ""
    ground.cpu_s = time.process_time() - began
    return ground


def standing(grounds: Iterable[Ground]) -> list[Ground]:
    """They that hold, all of them; raises TaskInvalid for one that does not."""
    listed = list(grounds)
    for ground in listed:
        if ground.wrong:
            raise TaskInvalid(
                f"{ground.task.path}/task.toml:1: is not proved as it is ({ground.wrong})",
                hint=f"harness verify {ground.task.task_id}",
            )
    return listed

"""The curve of difficulty: how often each of three scripted clients (`harness.authoring.paces`) wins a task at each level.

Episodes are played in this process and judged by the hidden tests, like those of a proof; a rate is over the seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.authoring.paces import PACES, at_pace
from harness.authoring.plays import SOLVE, judge, play
from harness.registry import Task
from worlds.core.levels import FIRST, LEVEL
from worlds.core.models import Strict

SEEDS = (0, 1, 2, 3, 4)
"""The seeds of a curve that names none."""


class CurvePoint(Strict):
    """One client on one task at one level: how many of its episodes it won."""

    task_id: str
    level: int
    client: str
    wins: int
    episodes: int


def curve(tasks: Sequence[Task], seeds: Sequence[int], progress: Callable[[str], object]) -> list[CurvePoint]:
    """The points of each task, level by level and client by client; games with seats have no one client, and no points."""
    points = []
    for task in tasks:
        if task.parley is None or task.is_seated:
            continue
        points += _points(task, seeds)
        progress(f"{task.task_id}: {', '.join(f'{one.wins}' for one in points if one.task_id == task.task_id)}")
    return points


def _points(task: Task, seeds: Sequence[int]) -> list[CurvePoint]:
    assert task.parley is not None
    kinds = [(level, client) for level in (FIRST, *task.parley.levels) for client in PACES]
    plays = {
        kind: [play(task, SOLVE, seed, {LEVEL: kind[0]}, altered=at_pace(kind[1], task.task_id, seed)) for seed in seeds]
        for kind in kinds
    }
    judge(task, [played for same in plays.values() for played in same])
    return [
        CurvePoint(task_id=task.task_id, level=level, client=client, episodes=len(same),
                   wins=sum(played.outcome.success for played in same))
        for (level, client), same in plays.items()
    ]  # fmt: skip

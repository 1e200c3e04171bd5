"""Three recorded episodes: a game that policies played, a task of one agent, and one that was lost before its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.agent import AgentSpec, Budget
from harness.agent_factory import make_agent
from harness.agents.scripted import NopAgent
from harness.errors import VerifierFailure
from harness.outcome import record
from harness.pod import EpisodeSpec
from harness.records import Key, RunFolder
from harness.registry import Task
from parley.bulk import lost_episodes, run_in_process
from parley.reports.reading import RecordedEpisode, read_episode
from tests.shipped import RELEASED


def recorded(path: Path, seats: str = "silent") -> Iterator[RecordedEpisode]:
    """Play and record them in a folder, with these policies at the seats of the game."""
    game = next(task for task in RELEASED if task.family == "calendar")
    alone, lost = [task for task in RELEASED if task.family == "contract"][:2]
    folder, table = RunFolder(path), make_agent(AgentSpec(kind="seats", name=seats), {})
    outcomes = [
        *run_in_process([spec_of(game)], table, Budget()),
        *run_in_process([spec_of(alone)], NopAgent(), Budget()),
        *lost_episodes([spec_of(lost)], NopAgent(), VerifierFailure("no verdict"), "inprocess"),
    ]
    for outcome in outcomes:
        yield read_episode(Path(record(outcome, folder).path))


def spec_of(task: Task) -> tuple[EpisodeSpec, Key]:
    """One episode of a task."""
    key = Key(task_id=task.task_id, family=task.family, seed=0, attempt=1)
    return EpisodeSpec("run", key.name, task, 0), key

"""The oracle's event log at seed 0, byte for byte: whatever changes a world, an instruction or a solution shows here.

`make golden` writes the logs anew; a review reads what changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.registry import Task, discover
from parley.proof.plays import SOLVE, Play, play
from parley.sharing.release import pinned_tasks
from tests.tasks.contract.conftest import TASKS

FOLDER = Path(__file__).parent / "golden"


def golden(task: Task) -> Path:
    """Where the log of a task lies."""
    return FOLDER / f"{task.task_id}.jsonl"


def _is_kept(task: Task) -> bool:
    """Whether a log is kept of a task: of all that are part of the release, and of a new one since its first `make golden`."""
    return task.task_id in pinned_tasks("contract") or golden(task).exists()


@pytest.mark.parametrize("task", [task for task in TASKS if _is_kept(task)], ids=lambda task: task.task_id)
def test_log_is_the_golden_one(task: Task, oracle: Callable[..., Play]) -> None:
    """The log is the one that was last looked at."""
    assert golden(task).exists(), "run: make golden"
    assert golden(task).read_bytes().splitlines() == oracle(task).log.splitlines(), "if this is meant, run: make golden"


def test_no_log_is_left_over(family: list[Task]) -> None:
    """Every golden log belongs to a task."""
    assert {path.stem for path in FOLDER.glob("*.jsonl")} <= {task.task_id for task in family}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for found in discover(Path("tasks")):
        if found.family == "contract":
            golden(found).write_bytes(play(found, SOLVE, 0).log)

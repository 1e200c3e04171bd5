"""Additional check of `harness verify` for calendar tasks: a task without a solution must be marked uncertified."""

from __future__ import annotations

from collections.abc import Iterator

from harness.registry import Task
from harness.taskfile import line_of
from parley.families.calendar.authoring.solvable import unsolvable
from parley.proof.findings import UNCERTIFIED, Place, ProofCheck, failed, passed

SAID = 'certificate = "uncertified"'


def claims(task: Task) -> Iterator[ProofCheck]:
    """Yield one check for a task that is or must be marked uncertified; none for other tasks."""
    is_said = task.parley is not None and task.parley.certificate is not None
    why = unsolvable(task)
    path = task.path / "task.toml"
    if why and is_said:
        yield passed(UNCERTIFIED, detail=why)
    elif why:
        yield failed(UNCERTIFIED, None, Place(path, 1), f"no schedule of all meetings exists; task.toml must say {SAID}")
    elif is_said:
        line = line_of(path.read_text(encoding="utf-8"), ("metadata", "parley", "certificate"))
        yield failed(UNCERTIFIED, None, Place(path, line), f"all meetings can be scheduled, so task.toml must not say {SAID}")

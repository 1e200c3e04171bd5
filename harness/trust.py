"""Trust gate: a folder's code runs in this process only if the folder is ours, or the user passed `--trust`.

1. A folder is ours if its resolved path lies in the `tasks/` that belongs to the running harness: beside its code in a
checkout, or inside its package. It does not matter how the folder was found: by a `tasks/` in a parent folder, `--tasks` or
PARLEY_TASKS.
2. `--trust` admits the tasks of one command. The mark is a field of `Task`, so it is sent to other processes with the task. It
is never written to a file, so no file can set it.
3. Commands call `gate`. Code that imports from a task folder calls `require` again, so a caller that omitted the gate fails.
All other code of a task folder runs in a sandbox, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from harness import paths
from harness.errors import UsageError
from harness.registry import Task

HINT = "--trust if you have read its code, or --runtime bubblewrap"


def own_roots() -> tuple[Path, ...]:
    """Return the resolved folders of tasks that belong to this harness; they may be empty or missing."""
    return _roots_of(paths.PACKAGE)


@cache
def _roots_of(package: Path) -> tuple[Path, ...]:
    return tuple(root.resolve() for root in paths.own_tasks(package))


def is_ours(folder: Path) -> bool:
    """Return True if a folder, with all links resolved, lies in our own tasks."""
    real = folder.resolve()
    return any(root in real.parents for root in own_roots())


def runs_here(task: Task) -> bool:
    """Return True if this process may import code of the task's folder."""
    return task.admitted or is_ours(task.path)


def admitted(task: Task) -> Task:
    """Return the task marked as trusted: a person vouches for its folder, or we just wrote all of its files."""
    return replace(task, admitted=True)


def require(task: Task) -> None:
    """Raise UsageError unless this process may import code of the task's folder."""
    require_folder(task.path, admitted=task.admitted)


def require_folder(folder: Path, *, admitted: bool) -> None:
    """Raise UsageError as `require` does, for a folder that may not be a complete task yet."""
    if not (admitted or is_ours(folder)):
        raise UsageError(f"{folder} is not a built-in task, so its code does not run in this process", hint=HINT)


@dataclass(frozen=True)
class TrustGate:
    """Tasks of one command, with those that `--trust` admitted marked as such."""

    tasks: tuple[Task, ...]

    @property
    def outside(self) -> tuple[Task, ...]:
        """Tasks whose world code may not run in this process, without foreign Harbor tasks, whose code never runs here."""
        return tuple(task for task in self.tasks if task.parley is not None and not runs_here(task))

    def demand(self, what: str) -> None:
        """Raise UsageError if `what`, an action that runs code of the folders in this process, would run untrusted code."""
        for task in self.outside[:1]:
            raise UsageError(
                f"{what} runs code in this process, and {task.path} is not a built-in task",
                hint=f"{what} --trust, if you have read its code",
            )

    def told(self, where: str) -> list[str]:
        """Return lines for the user that say which code runs in this process, and which in the sandboxed runtime `where`."""
        vouched = [task for task in self.tasks if task.admitted and not is_ours(task.path)]
        lines = [f"code of {_named(vouched)} is not part of Parley, and may run in this process: --trust"] if vouched else []
        if self.outside:
            lines.append(
                f"code of {_named(self.outside)} is not part of Parley, so it runs in {where}; --trust runs it in this process"
            )
        return lines


def gate(tasks: Iterable[Task], *, trust: bool) -> TrustGate:
    """Return the tasks of a command with their trust marks; `trust` must be the value of the command's flag."""
    return TrustGate(tuple(admitted(task) if trust else task for task in tasks))


def _named(tasks: Sequence[Task]) -> str:
    if len(tasks) == 1:
        return f"the task in {tasks[0].path}"
    return f"{len(tasks)} tasks in {os.path.commonpath([task.path.resolve() for task in tasks])}"

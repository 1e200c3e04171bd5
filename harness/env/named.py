"""Tasks by name for whoever drives episodes: the folders are read once, and kept for the life of the process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from harness.registry import Survey, Task, select, survey, tasks_root


def tasks_named(*names: str) -> list[Task]:
    """The tasks that ids, globs, families or paths mean, in order; all of them where nothing is named. Raises UnknownTask."""
    known = _known(tasks_root())
    return select(known.tasks, names, known.refused)


def task_named(name: str) -> Task:
    """The one task of that id or path, else the first that the name means; raises UnknownTask."""
    return tasks_named(name)[0]


@lru_cache(maxsize=4)
def _known(root: Path) -> Survey:
    return survey(root)

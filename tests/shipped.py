"""The tasks of this checkout, read once for a whole process: two thousand files that many modules of tests begin with.

Whoever looks through the checkout's tasks later, as most commands do, is given the same objects: nobody changes them meanwhile.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness import registry
from harness.paths import ROOT
from parley.sharing.release import pinned_tasks

TASKS = ROOT / "tasks"
_read, _read_once = registry.read_task, cache(registry.read_task)


def _read_task(folder: Path) -> registry.Task:
    return _read_once(folder) if folder.is_relative_to(TASKS) else _read(folder)


registry.read_task = _read_task

SHIPPED = tuple(registry.discover(TASKS))

RELEASED = tuple(task for task in SHIPPED if task.task_id in pinned_tasks(task.family))
"""Those of them that the release pins: a folder that was dropped in is none, and is held against no list."""

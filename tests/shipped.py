"""The tasks of this checkout, read once for a whole session: two thousand files that six modules of tests begin with."""

from __future__ import annotations

from harness.paths import ROOT
from harness.registry import discover
from parley.sharing.release import pinned_tasks

SHIPPED = tuple(discover(ROOT / "tasks"))

RELEASED = tuple(task for task in SHIPPED if task.task_id in pinned_tasks(task.family))
"""Those of them that the release pins: a folder that was dropped in is none, and is held against no list."""

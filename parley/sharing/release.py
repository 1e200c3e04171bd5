"""Contents of this release: every task by family and id, with the digest of its folder, pinned in release.json.

A row of a leaderboard is complete if it covers these tasks at these digests, whatever tasks folder the report was made with.
`harness release` rewrites the file, and `harness release --check` lists the folders that differ from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.registry import Task

PATH = Path(__file__).with_name("release.json")

Pinned = Mapping[str, Mapping[str, str]]
"""Task digests by family and task."""


@cache
def release() -> Pinned:
    """Return the contents of release.json."""
    pinned: Pinned = json.loads(PATH.read_text(encoding="utf-8"))
    return pinned


def pinned_tasks(family: str) -> Mapping[str, str]:
    """Return the tasks of a family in this release with their digests; empty for a family that is not part of it."""
    return release().get(family, {})


def pin(tasks: Sequence[Task]) -> Pinned:
    """Return a release made of these tasks."""
    families = sorted({task.family for task in tasks})
    return {name: {task.task_id: task.digest for task in tasks if task.family == name} for name in families}


def written(pinned: Pinned) -> str:
    """Return a release in the format of the file."""
    return json.dumps(pinned, indent=1) + "\n"


def differences(pinned: Pinned, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield a line for each task that is new, gone or changed compared with a release."""
    then, now = ({(family, task): of[task] for family, of in one.items() for task in of} for one in (pinned, pin(tasks)))
    for family, task in sorted({*then, *now}):
        before, after = then.get((family, task)), now.get((family, task))
        if before != after:
            what = "is new" if before is None else "is gone" if after is None else "has changed"
            yield f"{family}/{task} {what}"

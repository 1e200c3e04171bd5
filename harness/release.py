"""What this release holds: every task by family and id, with the digest of its folder, pinned in release.json.

A row of a leaderboard is complete when it covers these tasks at these digests, whatever lies in the tasks folder of whoever
reports. `harness release` writes the file anew, `harness release --check` says where the folders have moved on from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from harness.registry import Task

PATH = Path(__file__).with_name("release.json")

Pinned = Mapping[str, Mapping[str, str]]
"""Family -> task -> digest."""


@cache
def release() -> Pinned:
    """What release.json says."""
    pinned: Pinned = json.loads(PATH.read_text(encoding="utf-8"))
    return pinned


def pinned_tasks(family: str) -> Mapping[str, str]:
    """The tasks of a family in this release and their digests; none of a family that is not part of it."""
    return release().get(family, {})


def pin(tasks: Sequence[Task]) -> Pinned:
    """These tasks as a release."""
    families = sorted({task.family for task in tasks})
    return {name: {task.task_id: task.digest for task in tasks if task.family == name} for name in families}


def written(pinned: Pinned) -> str:
    """A release as the file holds it."""
    return json.dumps(pinned, indent=1) + "\n"


def differences(pinned: Pinned, tasks: Sequence[Task]) -> Iterator[str]:
    """What these tasks have that a release has not, or otherwise: a line each."""
    then, now = ({(family, task): of[task] for family, of in one.items() for task in of} for one in (pinned, pin(tasks)))
    for family, task in sorted({*then, *now}):
        before, after = then.get((family, task)), now.get((family, task))
        if before != after:
            what = "is new" if before is None else "is gone" if after is None else "has changed"
            yield f"{family}/{task} {what}"

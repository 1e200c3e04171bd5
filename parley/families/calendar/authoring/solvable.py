"""Check whether a task has a schedule of all meetings, according to its certificate.

`harness import calbench --allow-infeasible` imports tasks without such a schedule. Their games are played and measured, but no
client can succeed, so `harness verify` plays only clients without a required outcome.
"""

from __future__ import annotations

import json

from harness.registry import Task
from parley.families.calendar.authoring.derived import CERTIFICATE
from worlds.calendar.rules.certificate import read_certificate


def unsolvable(task: Task) -> str | None:
    """Return why no client can succeed; None if one can, or if the folder has no readable certificate."""
    try:
        certificate = read_certificate(json.loads((task.path / CERTIFICATE).read_bytes()))
    except (OSError, ValueError):
        return None
    if certificate.optima != 0:
        return None
    return (
        "no schedule of all meetings exists, so these checks are skipped: that the oracle succeeds, that each wrong client "
        "spoils its plan in one way, and that options leave the task playable"
    )

"""Whether anybody can schedule all meetings of a calendar task: its certificate knows.

`harness import calbench --allow-infeasible` brings tasks of which the answer is no. Games of them are played and measured, but
no client can succeed in one, so `harness verify` plays only whom nothing is asked of.
"""

from __future__ import annotations

import json

from harness.families.calendar.authoring.derived import CERTIFICATE
from harness.registry import Task
from worlds.calendar.rules.certificate import read_certificate


def unsolvable(task: Task) -> str | None:
    """Why no client can succeed, None where one can, or where the folder has no certificate that can be read."""
    try:
        certificate = read_certificate(json.loads((task.path / CERTIFICATE).read_bytes()))
    except (OSError, ValueError):
        return None
    if certificate.optima != 0:
        return None
    return (
        "no schedule of all meetings exists, so it cannot hold that the oracle succeeds, that each wrong client spoils its "
        "plan in one way, nor that options leave it playable"
    )

"""When a run was played, by which command and which version: written into run.json when playing begins, and when it ends.

A stint without an end was killed, or still plays.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from harness.records import RunFolder
from harness.runs.request import Stint
from harness.secrets import public_address, scrub
from harness.version import commit, package_version


def now() -> str:
    """This second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def begun(command: Sequence[str]) -> Stint:
    """A stint that begins now; what was typed is told without passwords in addresses and without known secrets."""
    shown = [public_address(word) if "://" in word else word for word in command]
    return Stint(begun=now(), command=scrub(shlex.join(shown)) if shown else "", version=package_version(), commit=commit())


def write_begun(folder: RunFolder, stint: Stint) -> None:
    """Add a stint to run.json."""
    plan = folder.read_plan() or {}
    folder.write_plan({**plan, "stints": [*plan.get("stints", []), stint.model_dump(mode="json")]})


def write_ended(folder: RunFolder) -> None:
    """Say in run.json that the last stint ended now."""
    plan = folder.read_plan() or {}
    if stints := plan.get("stints"):
        folder.write_plan({**plan, "stints": [*stints[:-1], {**stints[-1], "ended": now()}]})

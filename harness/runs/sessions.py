"""Sessions of a run: time, command and version, written to run.json when a session begins and ends.

A session without an end was killed, or is still playing.
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
    """Return the current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def begun(command: Sequence[str]) -> Stint:
    """Return a session that begins now; its command is recorded without passwords in addresses and known secrets."""
    shown = [public_address(word) if "://" in word else word for word in command]
    return Stint(begun=now(), command=scrub(shlex.join(shown)) if shown else "", version=package_version(), commit=commit())


def write_begun(folder: RunFolder, stint: Stint) -> None:
    """Add a session to run.json."""
    plan = folder.read_plan() or {}
    folder.write_plan({**plan, "stints": [*plan.get("stints", []), stint.model_dump(mode="json")]})


def write_ended(folder: RunFolder) -> None:
    """Record in run.json that the last session has ended."""
    plan = folder.read_plan() or {}
    if stints := plan.get("stints"):
        folder.write_plan({**plan, "stints": [*stints[:-1], {**stints[-1], "ended": now()}]})

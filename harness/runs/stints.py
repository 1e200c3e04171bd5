"""When a run was played, by which command and which version: written into run.json when playing begins, and when it ends.

A stint without an end was killed, or still plays.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.agents.llm.provider import public_address, scrub
from harness.records import RunFolder
from harness.runs.request import Stint

ROOT = Path(__file__).parents[2]


def now() -> str:
    """This second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def told_version() -> str:
    """The version of this package, and the commit where it is a checkout."""
    return f"{_version()} ({_commit()})" if _commit() else _version()


def begun(command: Sequence[str]) -> Stint:
    """A stint that begins now; what was typed is told without passwords in addresses and without known secrets."""
    shown = [public_address(word) if "://" in word else word for word in command]
    return Stint(begun=now(), command=scrub(shlex.join(shown)) if shown else "", version=_version(), commit=_commit())


def write_begun(folder: RunFolder, stint: Stint) -> None:
    """Add a stint to run.json."""
    plan = folder.read_plan() or {}
    folder.write_plan({**plan, "stints": [*plan.get("stints", []), stint.model_dump(mode="json")]})


def write_ended(folder: RunFolder) -> None:
    """Say in run.json that the last stint ended now."""
    plan = folder.read_plan() or {}
    if stints := plan.get("stints"):
        folder.write_plan({**plan, "stints": [*stints[:-1], {**stints[-1], "ended": now()}]})


def _version() -> str:
    try:
        return version("parley-bench")
    except PackageNotFoundError:
        return "not installed"


@cache
def _commit() -> str:
    """The commit of this checkout, with `-dirty` where files differ from it; "" where there is no checkout or no git."""
    if not (ROOT / ".git").exists():
        return ""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

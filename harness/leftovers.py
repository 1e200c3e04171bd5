"""What a dead process left on this host, as data: told before it is removed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Leftover:
    """One thing that its owner did not live to remove."""

    kind: str
    """container, volume, network, sandbox folder, cgroup, episode folder, file."""

    name: str
    process: str
    """The number that its owner had; "" where it is not known any more."""

    run: str = ""
    made: float | None = None
    """Seconds since 1970; None where it is not known."""

    @property
    def age_s(self) -> float | None:
        """Seconds that it has been there."""
        return None if self.made is None else max(0.0, time.time() - self.made)


def changed_at(path: Path) -> float | None:
    """When a file or folder was last changed; None where it is gone."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def moment(told: object) -> float | None:
    """A time as an engine tells it: seconds since 1970, or ISO 8601 with however many decimals."""
    if isinstance(told, int | float):
        return float(told)
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return None

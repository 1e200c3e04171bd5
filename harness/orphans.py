"""Resources that a dead process left behind on this host, listed before they are removed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Leftover:
    """Resource that outlived its owner."""

    kind: str
    """Kind of resource: container, volume, network, sandbox folder, cgroup, episode folder, file."""

    name: str
    process: str
    """Process id of the owner; "" if it is no longer known."""

    run: str = ""
    made: float | None = None
    """Creation time in seconds since 1970; None if it is unknown."""

    @property
    def age_s(self) -> float | None:
        """Age in seconds."""
        return None if self.made is None else max(0.0, time.time() - self.made)


def changed_at(path: Path) -> float | None:
    """Return the time at which a file or folder last changed; None if it does not exist."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def moment(told: object) -> float | None:
    """Parse a time as container engines report it: seconds since 1970, or ISO 8601 with any number of decimals."""
    if isinstance(told, int | float):
        return float(told)
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except ValueError:
        return None

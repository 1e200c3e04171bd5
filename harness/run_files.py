"""Names on disk below a run's folder, and whose they are: finished episodes, what a dead process left, how much there is."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_EPISODE = re.compile(r"s.*-a.*")


def finished_names(run: Path) -> list[str]:
    """Each result.json below a run's folder, sorted; by the names of folders alone, since there may be ten thousand."""
    names = ["episodes"]
    for _ in range(3):
        names = [f"{name}/{inner}" for name in names for inner in _inner(run / name)]
    episodes = sorted((name for name in names if _EPISODE.fullmatch(name.rpartition("/")[2])), key=lambda name: name.split("/"))
    return [f"{name}/result.json" for name in episodes if os.path.lexists(f"{run}/{name}/result.json")]


def size_of(run: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for folder, _, names in os.walk(run):
        for name in names:
            # a run that is being played renames and removes
            with suppress(FileNotFoundError):
                total += Path(folder, name).lstat().st_size
    return total


def is_abandoned(owner: str) -> bool:
    """Whether what carries this process number was left by a process that is gone, or by an earlier one of this number."""
    return not owner.isdecimal() or not Path(f"/proc/{owner}").exists() or int(owner) == os.getpid()


def _inner(folder: Path) -> list[str]:
    """The names in a folder that may be folders; none where it is no folder, or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.is_file()]
    except OSError:
        return []

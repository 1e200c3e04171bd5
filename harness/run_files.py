"""Files of a recorded run, stored in a folder (here) or packed into one file (`parley.reports.archive`).

All files are untrusted data: they are read without following links and up to a limit. Episodes are listed from folder names
alone, because a run may have 100,000 episodes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

from harness.limits import Limit
from harness.orphans import Orphan, changed_at
from harness.plugins import optional
from harness.safe_read import names_in, read_file

PACKED = ".run.parquet"
"""Suffix of a packed run's file name."""

_EPISODE = re.compile(r"s.*-a.*")


class FolderFiles:
    """Files of a run stored as a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _root(self) -> Path:
        """Folder of the run with links resolved: its own path may contain links, but no link below it is followed."""
        return self.path.resolve()

    def finished(self) -> list[str]:
        """Return the path of each finished episode's result.json, sorted by family, task and name; reads folder names only."""
        return list(self._finished())

    def results(self, most: Limit) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield the path of each result with its bytes, or with the error that reading it raised."""
        for name in self._finished():
            try:
                yield name, self.read(name, most)
            except OSError as error:
                yield name, error

    def _finished(self) -> Iterator[str]:
        """Yield the paths of the results task by task, so that only the names of one task are in memory."""
        families = (f"episodes/{family}" for family in self._inner("episodes"))
        tasks = (f"{family}/{task}" for family in families for task in self._inner(family))
        for name in (f"{task}/{episode}/result.json" for task in tasks for episode in self._inner(task)):
            if _EPISODE.fullmatch(name.split("/")[3]) and os.path.lexists(f"{self.path}/{name}"):
                yield name

    def _inner(self, name: str) -> list[str]:
        """Return the sorted names in a folder that may be folders; empty if it is not a folder or cannot be read."""
        try:
            with os.scandir(self.path / name) as entries:
                return sorted(entry.name for entry in entries if not entry.is_file())
        except OSError:
            return []

    def read(self, name: str, most: Limit) -> bytes:
        """Read one file without following links below the run's folder.

        Raises OSError if it does not exist, is not a plain file, or has more bytes than `most`.
        """
        return read_file(self._root, name, most).data

    def names(self, part: str) -> list[str]:
        """Return the sorted paths below the folder `part`, relative to it; raises OSError if it cannot be listed."""
        return names_in(self._root, part)

    def has(self, name: str) -> bool:
        """Return True if the file exists, also through links, which raise an error when they are read."""
        return (self.path / name).is_file()

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                # a run in progress renames and removes files
                with suppress(FileNotFoundError):
                    total += os.lstat(f"{folder}/{name}").st_size
        return total


class RunFiles(Protocol):
    """Reader of one run's files by their paths below its folder, such as `episodes/contract/a-task/s0-a1/result.json`.

    `FolderFiles` reads a folder, and `parley.reports.archive.PackedFiles` a packed run; the methods are the same.
    """

    def finished(self) -> list[str]:
        """Return the path of result.json of each finished episode."""
        ...

    def results(self, most: Limit) -> Iterator[tuple[str, bytes | OSError]]:
        """Yield the path of each result with its bytes, or with the error that reading it raised."""
        ...

    def read(self, name: str, most: Limit) -> bytes:
        """Read one file; raises OSError if it does not exist, is not a plain file, or has more bytes than `most`."""
        ...

    def names(self, part: str) -> list[str]:
        """Return the sorted paths below the folder `part`, relative to it; raises OSError if it cannot be listed."""
        ...

    def has(self, name: str) -> bool:
        """Return True if the file exists."""
        ...

    @property
    def size(self) -> int:
        """Total size of all files in bytes."""
        ...


def files_of(run: Path) -> RunFiles:
    """Return the files of a run, in a folder or packed; raises UsageError for a file that is not a packed run."""
    if not is_packed(run):
        return FolderFiles(run)
    info = run.stat()
    return _opened(run.resolve(), info.st_mtime_ns, info.st_ino)


@lru_cache(maxsize=16)
def _opened(path: Path, changed: int, number: int) -> RunFiles:
    """Open a packed run, cached as long as the file does not change."""
    del changed, number
    opened: RunFiles = optional("packed run")(path)
    return opened


def is_packed(path: Path) -> bool:
    """Return True if a path is a packed run."""
    return path.name.endswith(PACKED) and path.is_file()


def is_run(path: Path) -> bool:
    """Return True if a path is a run: a folder with a run.json, or a packed run."""
    return (path / "run.json").exists() or is_packed(path)


def is_abandoned(owner: str) -> bool:
    """Return True if a file named after a process id is orphaned: that process has ended, or this process has reused its id."""
    return not owner.isdecimal() or not Path(f"/proc/{owner}").exists() or int(owner) == os.getpid()


def left_in(run: Path) -> list[Orphan]:
    """Return the incomplete files and folders that dead processes left in a run's folder."""
    partial = [("episode folder", path) for path in run.glob("episodes/*/*/.*.partial")]
    beside = [("file", path) for name in ("run.json", "rewards.jsonl") for path in run.glob(f".{name}.*")]
    owned = [(kind, path, path.name.removesuffix(".partial").rpartition(".")[2]) for kind, path in (*partial, *beside)]
    return [
        Orphan(kind, str(path), owner if owner.isdecimal() else "", run.name, changed_at(path))
        for kind, path, owner in owned
        if is_abandoned(owner)
    ]


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

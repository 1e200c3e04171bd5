"""The files of a recorded run, wherever they are kept: in a folder (here), or packed into one file (`harness.packs`).

Everything in them is data from anybody: it is read through no link and up to a bound. Episodes are listed by the names of
folders alone, since there may be a hundred thousand.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Protocol

from harness.bounds import Limit
from harness.contents import names_in, read_file
from harness.leftovers import Leftover, changed_at

PACKED = ".run.parquet"
"""How the name of a packed run ends."""

_EPISODE = re.compile(r"s.*-a.*")
_DEPTHS = ("*", "*/*")
"""A run in a folder, and one of a sweep in a folder."""


class RunFiles(Protocol):
    """Reads the files of one run by their paths below its folder, `episodes/contract/a-task/s0-a1/result.json` for one."""

    def finished(self) -> list[str]:
        """The result.json of each finished episode, by family, task and name."""
        ...

    def results(self, most: Limit) -> Iterator[tuple[str, bytes | OSError]]:
        """Each of them with its bytes, or with why it cannot be read."""
        ...

    def read(self, name: str, most: Limit) -> bytes:
        """One file; raises OSError for one that is not there, is no plain file, or has more bytes than `most`."""
        ...

    def names(self, part: str) -> list[str]:
        """The sorted paths below the folder `part`, relative to it; raises OSError where they cannot be told."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    @property
    def size(self) -> int:
        """Bytes on disk."""
        ...


class FolderFiles:
    """The files of a run in its own folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _root(self) -> Path:
        """A user may name a run through a link; below it none is followed."""
        return self.path.resolve()

    def finished(self) -> list[str]:
        """By the names of folders alone."""
        return list(self._finished())

    def results(self, most: Limit) -> Iterator[tuple[str, bytes | OSError]]:
        """One after the other."""
        for name in self._finished():
            try:
                yield name, self.read(name, most)
            except OSError as error:
                yield name, error

    def _finished(self) -> Iterator[str]:
        """Task by task, so that never more than the names of one are held."""
        families = (f"episodes/{family}" for family in self._inner("episodes"))
        tasks = (f"{family}/{task}" for family in families for task in self._inner(family))
        for name in (f"{task}/{episode}/result.json" for task in tasks for episode in self._inner(task)):
            if _EPISODE.fullmatch(name.split("/")[3]) and os.path.lexists(f"{self.path}/{name}"):
                yield name

    def _inner(self, name: str) -> list[str]:
        """The sorted names in a folder that may be folders; none where it is no folder, or cannot be read."""
        try:
            with os.scandir(self.path / name) as entries:
                return sorted(entry.name for entry in entries if not entry.is_file())
        except OSError:
            return []

    def read(self, name: str, most: Limit) -> bytes:
        """Through no link below the run's folder."""
        return read_file(self._root, name, most).data

    def names(self, part: str) -> list[str]:
        """As `harness.contents.names_in` has them."""
        return names_in(self._root, part)

    def has(self, name: str) -> bool:
        """Through links too: reading it will say what is wrong."""
        return (self.path / name).is_file()

    @property
    def size(self) -> int:
        """Of all files."""
        total = 0
        for folder, _, names in os.walk(self.path):
            for name in names:
                # a run that is being played renames and removes
                with suppress(FileNotFoundError):
                    total += os.lstat(f"{folder}/{name}").st_size
        return total


def in_order(name: str) -> list[str]:
    """What paths are sorted by: folder by folder, so that `a/b` stands before `a-b/c`."""
    return name.split("/")


def is_packed(path: Path) -> bool:
    """Whether a path is a packed run."""
    return path.name.endswith(PACKED) and path.is_file()


def is_run(path: Path) -> bool:
    """Whether a path is a run: a folder with a run.json, or a packed one."""
    return (path / "run.json").exists() or is_packed(path)


def runs_in(path: Path) -> list[Path]:
    """The run that a path is, else the runs in a folder, and in folders of sweeps in it.

    One that is there both as a folder and packed is the folder.
    """
    if is_run(path):
        return [path]
    folders = {plan.parent for deep in _DEPTHS for plan in path.glob(f"{deep}/run.json")}
    packed = [pack for deep in _DEPTHS for pack in path.glob(f"{deep}{PACKED}")]
    return sorted(folders.union(pack for pack in packed if pack.with_name(run_name(pack)) not in folders))


def run_name(path: Path) -> str:
    """What a run is called after its folder or file."""
    return path.name.removesuffix(PACKED)


def run_and_place(folder: Path) -> tuple[Path, str]:
    """The run that the folder of an episode lies in, and the way from there; outside of a run, the folder above."""
    whole = folder.absolute()
    parts = whole.parts
    if "episodes" in parts[1:]:
        place = len(parts) - 1 - parts[::-1].index("episodes")
        return Path(*parts[:place]), "/".join(parts[place:]) + "/"
    return whole.parent, f"{whole.name}/"


def is_abandoned(owner: str) -> bool:
    """Whether what carries this process number was left by a process that is gone, or by an earlier one of this number."""
    return not owner.isdecimal() or not Path(f"/proc/{owner}").exists() or int(owner) == os.getpid()


def left_in(run: Path) -> list[Leftover]:
    """What dead processes left half written in a run's folder."""
    partial = [("episode folder", path) for path in run.glob("episodes/*/*/.*.partial")]
    beside = [("file", path) for name in ("run.json", "rewards.jsonl") for path in run.glob(f".{name}.*")]
    owned = [(kind, path, path.name.removesuffix(".partial").rpartition(".")[2]) for kind, path in (*partial, *beside)]
    return [
        Leftover(kind, str(path), owner if owner.isdecimal() else "", run.name, changed_at(path))
        for kind, path, owner in owned
        if is_abandoned(owner)
    ]


def remove(path: Path) -> None:
    """A file, a link or a folder with all in it; fine where it is gone."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)

"""The displayed runs by name, with their results, which are cached until a folder changes.

1. A result is read on first use and cached with the modification time of its task's folder. Episodes are renamed into that
   folder, which changes its time, so new episodes appear while a run is in progress.
2. A run with an unreadable run.json, or an episode with an unreadable result.json, is listed with the error.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from harness.errors import HarnessError, UsageError
from harness.frames import grouped
from harness.headline import figure_words
from harness.limits import RESULT_BYTES
from harness.records import Key, Result, RunFolder, first_problem
from harness.run_files import files_of, is_packed
from harness.runs.request import RunRecord, read_record
from harness.safe_read import read_file
from parley.places import runs_in
from parley.reports.compact import MeasurePacker
from parley.reports.evidence import misfit
from parley.reports.reading.addresses import run_names

_ATTEMPT = re.compile(r"s(0|[1-9]\d{0,14})-a(0|[1-9]\d{0,14})", re.ASCII)


class Recorded(NamedTuple):
    """Key and result of a finished episode."""

    key: Key
    result: Result


class Damage(NamedTuple):
    """An unreadable episode and the reason."""

    key: Key
    why: str


@dataclass(frozen=True)
class ShownRun:
    """A run with its episodes, by family, task, seed and attempt."""

    name: str
    path: Path
    record: RunRecord | None
    """None if run.json cannot be read; `trouble` has the reason."""

    trouble: str
    episodes: tuple[Recorded, ...]
    damaged: tuple[Damage, ...]

    def folder(self, key: Key) -> Path:
        """Return the folder of an episode."""
        return self.path / "episodes" / key.name

    @cached_property
    def places(self) -> dict[Key, int]:
        """Index of each episode among all of them."""
        return {one.key: place for place, one in enumerate(self.episodes)}

    @cached_property
    def figures(self) -> dict[str, str]:
        """The figure that each family is ranked by, as `Ypost % 26.8`; empty if it is the success rate."""
        families = grouped(self.episodes, lambda one: one.key.family)
        return {family: figure_words(family, (one.result for one in mine)) for family, mine in families.items()}

    @cached_property
    def by_task(self) -> dict[tuple[str, str], list[Recorded]]:
        """The episodes of each task, by family and task."""
        return grouped(self.episodes, lambda one: (one.key.family, one.key.task_id))


class _Shelf(NamedTuple):
    """Contents of a task's folder at one point in time."""

    changed: int
    episodes: tuple[Recorded, ...]
    damaged: tuple[Damage, ...]


class Library:
    """The runs in some folders; a folder of runs stands for all of them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look for runs. Raises UsageError for a folder without runs."""
        self._folders = tuple(folders)
        self._shelves: dict[Path, _Shelf] = {}
        self._known: dict[str, tuple[tuple[object, ...], ShownRun]] = {}
        """Each run by its name, with the state of the folder that it was read from."""

        self._turn = threading.Lock()
        for folder in folders:
            if not runs_in(folder):
                raise UsageError(
                    f"{folder} holds no run.json", hint="harness view runs, or the folder that harness run printed"
                )

    @property
    def names(self) -> dict[str, Path]:
        """The folder of each run, by its name in addresses."""
        return run_names(list(dict.fromkeys(run.resolve() for folder in self._folders for run in runs_in(folder))))

    def runs(self) -> list[ShownRun]:
        """Return all runs."""
        return [self._read(name, path) for name, path in self.names.items()]

    def run(self, name: str) -> ShownRun | None:
        """Return a run by name; None if there is none."""
        path = self.names.get(name)
        return self._read(name, path) if path else None

    def _read(self, name: str, path: Path) -> ShownRun:
        """Return a run, from the cache if nothing has changed."""
        with self._turn:
            shelves = [self._shelf(folder) for folder in _task_folders(path)]
            # an unchanged folder returns the same object
            made_of = (path, _changed(path / "run.json"), *map(id, shelves))
            known = self._known.get(name)
            if known is None or known[0] != made_of:
                known = self._known[name] = made_of, _shown(name, path, shelves)
            return known[1]

    def _shelf(self, folder: Path) -> _Shelf:
        """Return the contents of a task's folder, from the cache if nothing was added or removed."""
        changed = _changed(folder)
        known = self._shelves.get(folder)
        if known is None or known.changed != changed:
            episodes, damaged = _results_in(folder)
            known = self._shelves[folder] = _Shelf(changed, tuple(episodes), tuple(damaged))
        return known


def _shown(name: str, path: Path, shelves: Sequence[_Shelf]) -> ShownRun:
    try:
        record, trouble = read_record(RunFolder(path)), ""
    except HarnessError as error:
        record, trouble = None, str(error)
    return ShownRun(
        name=name,
        path=path,
        record=record,
        trouble=trouble,
        episodes=tuple(one for shelf in shelves for one in shelf.episodes),
        damaged=tuple(one for shelf in shelves for one in shelf.damaged),
    )


def _changed(path: Path) -> int:
    """Return the modification time in nanoseconds, 0 for a missing path."""
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _task_folders(run: Path) -> Iterator[Path]:
    """Yield the folders of tasks below episodes/ without following links; for a packed run, the file itself."""
    if is_packed(run):
        yield run
    for family in _inside(run / "episodes"):
        yield from _inside(family)


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _results_in(folder: Path) -> tuple[list[Recorded], list[Damage]]:
    """Return the finished and the unreadable episodes of a task's folder or of a packed run, in order."""
    if is_packed(folder):
        rows: Iterable[tuple[Path, bytes | OSError]] = (
            (Path(name).parent, data) for name, data in files_of(folder).results(RESULT_BYTES)
        )
    elif os.path.realpath(folder) == str(folder):
        rows = ((place, _result_of(folder, place.name)) for place in _inside(folder))
    else:
        # a link has replaced a part of the path since the run was listed
        rows = ()
    keep = MeasurePacker().keep
    read = [one for place, data in rows if (one := _recorded(place, data, keep)) is not None]
    episodes = [one for one in read if isinstance(one, Recorded)]
    damaged = [one for one in read if isinstance(one, Damage)]
    return sorted(episodes, key=lambda one: one.key.place()), sorted(damaged, key=lambda one: one.key.place())


def _result_of(folder: Path, name: str) -> bytes | OSError:
    try:
        return read_file(folder, f"{name}/result.json", RESULT_BYTES).data
    except OSError as error:
        return error


def _recorded(place: Path, data: bytes | OSError, keep: Callable[[Result], Result]) -> Recorded | Damage | None:
    """Return the episode whose result.json is in the folder `place`; None if it is not an episode's folder or has no result."""
    key = _key(place.parent, place.name)
    if key is None or isinstance(data, FileNotFoundError):
        return None
    if isinstance(data, OSError):
        return Damage(key, f"result.json cannot be read: {data.strerror}")
    try:
        result = Result.model_validate_json(data)
        if why := misfit(result):
            return Damage(key, f"result.json cannot be read: its metrics: {why}")
        return Recorded(key, keep(result))
    except ValidationError as error:
        return Damage(key, f"result.json cannot be read: {first_problem(error)}")


def _key(folder: Path, name: str) -> Key | None:
    """Return the key of the episode in a folder of a task, from the names on its path; None if they are not an episode's."""
    match = _ATTEMPT.fullmatch(name)
    try:
        return match and Key(task_id=folder.name, family=folder.parent.name, seed=int(match[1]), attempt=int(match[2]))
    except ValidationError:
        return None

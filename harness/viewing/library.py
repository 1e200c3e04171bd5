"""The runs that are shown, by name, and their results, read once and again only where a folder has changed since.

1. A result is read when it is first asked for, and kept with the time at which its task's folder was last changed: an episode
   arrives there by a rename, so nothing that is new is missed while a run is being played.
2. A run whose run.json does not read and an episode whose result.json does not are told where they would stand. Nothing is
   left out without a word.
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

from harness.bounds import RESULT_BYTES
from harness.contents import read_file
from harness.errors import HarnessError, UsageError
from harness.headline import figure_words
from harness.kept import MeasurePacker
from harness.packs import files_of
from harness.reading.addresses import run_names
from harness.records import Key, Result, RunFolder, first_problem, misfit
from harness.run_files import is_packed, runs_in
from harness.runs.request import RunRecord, read_record

_ATTEMPT = re.compile(r"s(0|[1-9]\d{0,14})-a(0|[1-9]\d{0,14})", re.ASCII)


class Recorded(NamedTuple):
    """One finished episode: where it lies, and what came of it."""

    key: Key
    result: Result


class Damage(NamedTuple):
    """An episode that cannot be read, and why."""

    key: Key
    why: str


@dataclass(frozen=True)
class ShownRun:
    """One run with its episodes, by family, task, seed and attempt."""

    name: str
    path: Path
    record: RunRecord | None
    """None where run.json cannot be read; `trouble` says why."""

    trouble: str
    episodes: tuple[Recorded, ...]
    damaged: tuple[Damage, ...]

    def folder(self, key: Key) -> Path:
        """The folder of one episode."""
        return self.path / "episodes" / key.name

    @cached_property
    def places(self) -> dict[Key, int]:
        """Where each episode stands among them all."""
        return {one.key: place for place, one in enumerate(self.episodes)}

    @cached_property
    def figures(self) -> dict[str, str]:
        """The figure that each family is ranked by, as `Ypost % 26.8`; empty where it is the success rate."""
        families = dict.fromkeys(one.key.family for one in self.episodes)
        return {
            family: figure_words(family, (one.result for one in self.episodes if one.key.family == family))
            for family in families
        }

    @cached_property
    def by_task(self) -> dict[tuple[str, str], list[Recorded]]:
        """The episodes of each task, by family and task."""
        tasks: dict[tuple[str, str], list[Recorded]] = {}
        for one in self.episodes:
            tasks.setdefault((one.key.family, one.key.task_id), []).append(one)
        return tasks


class _Shelf(NamedTuple):
    """What the folder of one task held at one time."""

    changed: int
    episodes: tuple[Recorded, ...]
    damaged: tuple[Damage, ...]


class Library:
    """The runs in some folders; a folder of runs stands for all of them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look for runs; raises UsageError for a folder that holds none."""
        self._folders = tuple(folders)
        self._shelves: dict[Path, _Shelf] = {}
        self._known: dict[str, tuple[tuple[object, ...], ShownRun]] = {}
        """Each run by its name, after what it was made of."""

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
        """All of them."""
        return [self._read(name, path) for name, path in self.names.items()]

    def run(self, name: str) -> ShownRun | None:
        """One of them by name; None where there is none."""
        path = self.names.get(name)
        return self._read(name, path) if path else None

    def _read(self, name: str, path: Path) -> ShownRun:
        """A run; the one of before where nothing of it has changed."""
        with self._turn:
            shelves = [self._shelf(folder) for folder in _task_folders(path)]
            # a shelf that was not read anew is the one that was there
            made_of = (path, _changed(path / "run.json"), *map(id, shelves))
            known = self._known.get(name)
            if known is None or known[0] != made_of:
                known = self._known[name] = made_of, _shown(name, path, shelves)
            return known[1]

    def _shelf(self, folder: Path) -> _Shelf:
        """What the folder of a task holds, read anew only where something came or went."""
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
    """When something was last changed, 0 where it is not there."""
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _task_folders(run: Path) -> Iterator[Path]:
    """The folders of tasks below episodes/, through no link; of a packed run itself, which is one file."""
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
    """The finished episodes of a task's folder or of a packed run, in order, and those that cannot be read."""
    if is_packed(folder):
        rows: Iterable[tuple[Path, bytes | OSError]] = (
            (Path(name).parent, data) for name, data in files_of(folder).results(RESULT_BYTES)
        )
    elif os.path.realpath(folder) == str(folder):
        rows = ((place, _result_of(folder, place.name)) for place in _inside(folder))
    else:
        # a link was put in its way since the run was looked through
        rows = ()
    keep = MeasurePacker().keep
    read = [one for place, data in rows if (one := _recorded(place, data, keep)) is not None]
    episodes = [one for one in read if isinstance(one, Recorded)]
    damaged = [one for one in read if isinstance(one, Damage)]
    return sorted(episodes, key=_order), sorted(damaged, key=_order)


def _result_of(folder: Path, name: str) -> bytes | OSError:
    try:
        return read_file(folder, f"{name}/result.json", RESULT_BYTES).data
    except OSError as error:
        return error


def _recorded(place: Path, data: bytes | OSError, keep: Callable[[Result], Result]) -> Recorded | Damage | None:
    """What the result.json in the folder `place` says; None where that is no episode's folder, or it has none."""
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
    """Which episode lies in a folder of a task, by the names on its path; None where they are none of an episode's."""
    match = _ATTEMPT.fullmatch(name)
    try:
        return match and Key(task_id=folder.name, family=folder.parent.name, seed=int(match[1]), attempt=int(match[2]))
    except ValidationError:
        return None


def _order(one: Recorded | Damage) -> tuple[str, str, int, int]:
    return one.key.place()

"""Reads run folders: the frozen plan, and every finished episode.

A folder that holds run folders stands for all of them, and so does one that holds folders of sweeps. A run may be packed.

What cannot be read is an error that names the file, unless whoever asks takes the damaged ones: a report that passes over an
episode in silence would be a wrong report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, UsageError
from harness.kept import kept
from harness.records import Result, RunFolder
from harness.run_files import runs_in
from harness.runs.request import Planned, read_record


@dataclass(frozen=True)
class Run:
    """One run: its folder, its plan, and its episodes by path, kept (`harness.kept`)."""

    path: Path
    planned: Planned
    results: tuple[Result, ...]


def read_runs(paths: Sequence[Path], damaged: list[HarnessError] | None = None) -> list[Run]:
    """The runs in these folders, each once; raises UsageError for a folder without runs and a file that does not read.

    An episode that does not read is told in `damaged`, where that is given, and left out.
    """
    return [Run(path, planned, tuple(kept(RunFolder(path).results(damaged)))) for path, planned in planned_runs(paths)]


def planned_runs(paths: Sequence[Path]) -> list[tuple[Path, Planned]]:
    """The folders and plans of the runs in these folders, each once, without their episodes; raises as `read_runs` does."""
    folders = dict.fromkeys(folder.resolve() for path in paths for folder in _folders(path))
    return [(folder, _planned(folder)) for folder in folders]


def _folders(path: Path) -> list[Path]:
    runs = runs_in(path)
    if not runs:
        raise UsageError(f"{path} holds no run.json", hint="harness report runs/*, or the folder that harness run printed")
    return runs


def _planned(folder: Path) -> Planned:
    record = read_record(RunFolder(folder))
    if record is None:
        raise UsageError(f"{folder} holds no run.json any more")
    return record.identity

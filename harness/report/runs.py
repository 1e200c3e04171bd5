"""Reads run folders: the frozen plan, and every finished episode.

A folder that holds run folders stands for all of them, and so does one that holds folders of sweeps.

What cannot be read is an error that names the file: a report that passes over an episode would be a wrong report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import UsageError
from harness.records import Result, RunFolder, first_problem

_DEPTHS = ("*/run.json", "*/*/run.json")
"""A run in a folder, and one of a sweep in a folder."""


class Planned(BaseModel):
    """What a report needs of a frozen plan; the rest is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tasks: dict[str, str]
    """Task and digest of its folder."""

    seeds: tuple[int, ...]
    attempts: int
    agent: dict[str, Any]
    budget: dict[str, Any]
    retry: dict[str, Any] | None = None
    """Set where the run plays failed episodes of another one again."""


@dataclass(frozen=True)
class Run:
    """One run: its folder, its plan, and its episodes by path."""

    path: Path
    planned: Planned
    results: tuple[Result, ...]


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs in these folders, each once; raises UsageError for a folder without runs and a file that does not read."""
    folders = dict.fromkeys(folder.resolve() for path in paths for folder in _folders(path))
    return [_read(folder) for folder in folders]


def _folders(path: Path) -> list[Path]:
    found = [path] if (path / "run.json").exists() else sorted(plan.parent for deep in _DEPTHS for plan in path.glob(deep))
    if not found:
        raise UsageError(f"{path} holds no run.json", hint="harness report runs/*, or the folder that harness run printed")
    return found


def _read(folder: Path) -> Run:
    run = RunFolder(folder)
    plan = run.read_plan()
    try:
        planned = Planned.model_validate((plan or {}).get("identity"))
    except ValidationError as error:
        raise UsageError(f"{folder}/run.json is no plan of this version: {first_problem(error)}") from None
    return Run(folder, planned, tuple(run.results()))

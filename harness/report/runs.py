"""Reads run folders: the frozen plan, and every finished episode.

A folder that holds run folders stands for all of them, and so does one that holds folders of sweeps.

What cannot be read is an error that names the file: a report that passes over an episode would be a wrong report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.errors import UsageError
from harness.records import Result, RunFolder

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
    plan = RunFolder(folder).read_plan()
    try:
        planned = Planned.model_validate((plan or {}).get("identity"))
    except ValidationError as error:
        raise UsageError(f"{folder}/run.json is no plan of this version: {_first(error)}") from None
    return Run(folder, planned, tuple(_results(folder)))


def _results(folder: Path) -> Iterator[Result]:
    for path in sorted(folder.glob("episodes/*/*/s*-a*/result.json")):
        try:
            yield Result.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            what = _first(error) if isinstance(error, ValidationError) else error
            raise UsageError(
                f"{path} is no result of this version: {what}", hint=f"the run's command again, with --resume {folder}"
            ) from None


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)

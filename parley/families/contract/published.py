"""The paper's own numbers, from published.toml: always marked as published, never ranked against ours.

They were measured on the authors' tasks with the authors' harness; only the names are the same as ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tomli

from harness.headline import PublishedHeadline
from parley.reports.models import ModelEntry

PATH = Path(__file__).with_name("published.toml")
MARK = "published"


@dataclass(frozen=True)
class PublishedRow:
    """A row of Table 10."""

    model: str
    kind: str
    size: str
    provider: str
    episodes: int
    passed: int
    percent: float

    def is_of(self, entry: ModelEntry | None) -> bool:
        """Return True if this row and a model of ours have the same name."""
        return entry is not None and (entry.printed.get("contract"), entry.kind) == (self.model, self.kind)


class TaskKind(NamedTuple):
    """Classification of a task in the catalogue."""

    difficulty: str
    quadrant: str
    pattern: str


@cache
def numbers() -> dict[str, Any]:
    """Return the whole file."""
    return tomli.loads(PATH.read_text(encoding="utf-8"))


def source(place: str) -> str:
    """Return the source of published numbers, for a note under a table."""
    return f"{MARK}: {place} of {numbers()['source']}; the authors' tasks and harness, k = {numbers()['attempts']}"


@cache
def suite() -> frozenset[str]:
    """Return the 33 tasks of the paper's catalogue, which a complete row covers."""
    return frozenset(task for tasks in numbers()["categories"].values() for task in tasks)


@cache
def leaderboard() -> tuple[PublishedRow, ...]:
    """Return Table 10."""
    return tuple(PublishedRow(**row) for row in numbers()["leaderboard"])


def headline() -> PublishedHeadline:
    """Return the success rates of Table 10, without base models."""
    rates = {row.model: row.percent / 100 for row in leaderboard() if row.kind != "base"}
    return PublishedHeadline(rates, source("Table 10"))


@cache
def catalogue() -> dict[str, TaskKind]:
    """Return Table 6."""
    return {task: TaskKind(*kind) for task, kind in numbers()["catalogue"].items()}


@cache
def task_rates() -> dict[str, dict[str, float]]:
    """Return Tables 11 and 12 side by side: success rate by model and task, as printed."""
    rates: dict[str, dict[str, float]] = {}
    for part in ("proprietary", "open"):
        for place, model in enumerate(numbers()[part]["models"]):
            rates[model] = {task: row[place] for task, row in numbers()[part]["rates"].items()}
    return rates


def exact_rates(model: str) -> dict[str, float]:
    """Return the exact rates of one model, which are thirds; the paper prints them with two digits."""
    return {task: round(3 * rate) / 3 for task, rate in task_rates()[model].items()}

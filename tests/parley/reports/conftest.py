"""Runs to report on: folders written by harness.records as a real run writes them, with the labels that a test asks for.

`record(name, {(task, seed): "SUCCESS WRONG_VALUE ungraded"})` writes one run with as many attempts as words; who played and
how is said by keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Budget
from harness.records import Hint, Result, RunFolder
from harness.registry import Task
from parley.reports.evidence import Breadth, Evidence, gather, read_runs
from parley.reports.table import Table
from tests.parley.reports.recorded import commands, recorded, site
from worlds.contract.labels import severity
from worlds.core.chance import PUBLISHED_KEY, key_digest

__all__ = ["columns", "commands", "gathered", "record", "recorded", "site"]
Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
CATEGORIES = {"a": "validity", "b": "integrity", "c": "both", "d": "both"}
"""The four tasks that the written runs play."""


def agent_of(model: str | None, name: str, requested: Mapping[str, Any], api_base: str | None = None) -> dict[str, Any]:
    """An agent as a plan records it."""
    if model is None:
        return {"name": name}
    how = {"interface": "shell", "protocol": "tools", "prompt_digest": "9" * 64}
    return {"name": "llm", "model": model, "api_base": api_base, "requested": dict(requested), **how}


def result_of(run: str, task: str, seed: int, attempt: int, label: str, agent: Mapping[str, Any], **changes: Any) -> Result:
    """One episode that earned this label; `ungraded` is a failure of the provider."""
    graded, success = label != "ungraded", label == "SUCCESS"
    fields: dict[str, Any] = {
        "run": run, "task_id": task, "family": "contract", "category": CATEGORIES.get(task), "seed": seed, "attempt": attempt,
        "agent": agent["name"], "model": agent.get("model"), "interface": agent.get("interface"), "runtime": "inprocess",
        "status": "graded" if graded else "ungraded", "cause": None if graded else "provider", "success": success,
        "reward": float(success) if graded else None, "failure_label": label if graded else None,
        "severity": severity(label) if graded else None, "key_digest": key_digest(PUBLISHED_KEY), "steps": 3,
        "trace_hash": f"{label}-{seed}", "parameters": {"requested": {}, "effective": {"temperature": 0.0}},
    }  # fmt: skip
    return Result(**{**fields, **changes})


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Writes a run and gives its folder."""

    def written(
        name: str,
        episodes: Mapping[tuple[str, int], str],
        *,
        model: str | None = None,
        agent: str = "oracle",
        requested: Mapping[str, Any] = {"temperature": 0.0},
        api_base: str | None = None,
        planned: Sequence[str] = (),
        hint: str = "",
        firsts: Mapping[str, str] = {},
        of: str = "first",
        budget: Mapping[str, Any] = {},
        **changes: Any,
    ) -> Path:
        folder, player = RunFolder(tmp_path / name), agent_of(model, agent, requested, api_base)
        tasks = dict.fromkeys([*planned, *(task for task, _ in episodes)], "0" * 64)
        identity = {
            "tasks": tasks, "seeds": sorted({seed for _, seed in episodes}),
            "attempts": max(len(labels.split()) for labels in episodes.values()), "agent": player,
            "budget": {**asdict(Budget()), **budget}, "options": {}, "key_digest": key_digest(PUBLISHED_KEY),
            **({"retry": {"of": of, "hint": hint}} if hint else {}),
        }  # fmt: skip
        folder.write_plan({"run": name, "identity": identity})
        for (task, seed), labels in episodes.items():
            for attempt, label in enumerate(labels.split(), start=1):
                told = Hint(mode=hint, told="", first_label=firsts.get(task, "OTHER"), retry_of=of) if hint else None
                result = result_of(name, task, seed, attempt, label, player, **{"hint": told, **changes})
                folder.write(result.key, {"result.json": result.model_dump_json().encode()})
        return folder.path

    return written


@pytest.fixture(scope="session")
def gathered() -> Gathered:
    """Reads runs as the contract family's evidence, beside a registry or none; `every` task and published row where asked."""

    def read(*paths: Path, tasks: Sequence[Task] = (), every: bool = False) -> Evidence:
        return gather(read_runs(paths), "contract", tasks, Breadth(every_task=every, every_published=every))

    return read


@pytest.fixture(scope="session")
def columns() -> Callable[..., list[tuple[Any, ...]]]:
    """The values of some columns of a table, row by row."""

    def picked(table: Table, *keys: str) -> list[tuple[Any, ...]]:
        return [tuple(row.get(key) for key in keys) for row in table.rows]

    return picked

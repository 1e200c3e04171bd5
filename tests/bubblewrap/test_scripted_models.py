"""Two scripted models play the family through LiteLLM, thrice a task, in both interfaces; the reports follow exactly.

The careful one plays each task's solution. The careless one makes each task's first listed mistake, but on every third task
gets it right at its third attempt. What every table must say is computed here from these two sentences alone. In shells, which
are slow, every fourth task is played; all of them for `make proof`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from harness.agents.solutions import players
from harness.paths import ROOT
from harness.registry import Task
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script
from tests.shipped import SHIPPED
from worlds.contract.labels import severity

pytestmark = pytest.mark.bubblewrap

TASKS = [task for task in SHIPPED if task.family == "contract"]
ATTEMPTS = 3
RUNTIMES = {"tool": "inprocess", "shell": "bubblewrap"}
PLAYED = [
    pytest.param(("tool", TASKS), id="tool"),
    pytest.param(("shell", TASKS[::4]), id="shell"),
    pytest.param(("shell", TASKS), id="shell-all", marks=pytest.mark.proof),
]


class Tables(NamedTuple):
    """What was played, and the rows of each table over it."""

    tasks: list[Task]
    rows: dict[str, list[dict[str, Any]]]

    def earned(self, model: str) -> dict[str, list[str]]:
        """The labels that a model's script earns, by task."""
        attempts, choose = range(1, ATTEMPTS + 1), MODELS[model]
        return {task.task_id: [players(task)[choose(task, attempt)][0] for attempt in attempts] for task in self.tasks}


def careful(task: Task, attempt: int) -> str:
    """Always right."""
    return "solve"


def careless(task: Task, attempt: int) -> str:
    """The first listed mistake, except for the third attempt at every third task."""
    if attempt == ATTEMPTS and TASKS.index(task) % 3 == 0:
        return "solve"
    return next(name for name, (label, _) in players(task).items() if label != "SUCCESS")


MODELS: dict[str, Callable[[Task, int], str]] = {"openai/careful": careful, "openai/careless": careless}


def command(*arguments: str) -> str:
    """What the real command line prints on stdout, without any key in its environment."""
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "harness", *arguments], cwd=ROOT, env=keyless, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module", params=PLAYED)
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables over the runs of both models in one interface."""
    (interface, tasks), folder = request.param, tmp_path_factory.mktemp("runs")
    for model, choose in MODELS.items():
        with OpenAIServer(Script(play=SolutionModel(tasks, choose, interface))) as server:
            how = ["--interface", interface, "--runtime", RUNTIMES[interface], "--k", str(ATTEMPTS)]
            where = ["--api-base", server.url, "--out", str(folder / model.replace("/", "-"))]
            command("run", *(task.task_id for task in tasks), "--yes", "--model", model, *how, *where)
    document = json.loads(command("report", str(folder), "--no-published", "--json"))
    return Tables(tasks, {table["name"]: table["rows"] for table in document["tables"]})


def by_model(row: dict[str, Any], model: str) -> Any:
    """A row's value in the column of a model, which also names its interface."""
    return next(value for column, value in row.items() if column.startswith(model + " ") or column == model)


def test_leaderboard(tables: Tables) -> None:
    """Passes, pass^3, severity and status of both models, the careful one first."""
    leaders = tables.rows["leaderboard"]
    labels = [label for labels in tables.earned("openai/careless").values() for label in labels]
    status = "complete" if tables.tasks == TASKS else f"{len(tables.tasks)} of {len(TASKS)} tasks"

    assert [(r["model"], r["episodes"], r["passed"], r["k"], r["pass_k"], r["status"]) for r in leaders] == [
        ("openai/careful", len(labels), len(labels), 3, 1.0, status),
        ("openai/careless", len(labels), labels.count("SUCCESS"), 3, 0.0, status),
    ]
    assert leaders[1]["severity"] == pytest.approx(sum(map(severity, labels)) / len(labels))


@pytest.mark.parametrize("model", sorted(MODELS))
def test_pass_rates(tables: Tables, model: str) -> None:
    """The pass rate of each task."""
    earned = tables.earned(model)
    rates = {row["task"]: by_model(row, model) for row in tables.rows["tasks"] if row["task"] in earned}

    assert rates == {task: pytest.approx(labels.count("SUCCESS") / ATTEMPTS) for task, labels in earned.items()}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_labels(tables: Tables, model: str) -> None:
    """How often each failure label was earned."""
    rows = tables.rows["labels"]
    counts = Counter(label for labels in tables.earned(model).values() for label in labels if label != "SUCCESS")

    assert {row["label"]: by_model(row, model)[0] for row in rows} == {row["label"]: counts[row["label"]] for row in rows}
    assert sum(counts.values()) == sum(by_model(row, model)[0] for row in rows)


def test_variance(tables: Tables) -> None:
    """Cells whose attempts agree, and the tasks on which the careless model's do not."""
    mixed = {task for task, labels in tables.earned("openai/careless").items() if len(set(labels)) > 1}
    cells = {row["model"].partition(" ")[0]: row["deterministic"] for row in tables.rows["variance"]}

    assert (cells["openai/careful"], cells["openai/careless"]) == (len(tables.tasks), len(tables.tasks) - len(mixed))
    assert {row["task"] for row in tables.rows["variance-tasks"]} == mixed

"""The pinned list of a release: current, and what complete is judged by."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

from harness.agent import Budget
from harness.registry import discover
from harness.runs.request import Planned
from parley.reports.evidence import Evidence, Group, Setup, status
from parley.sharing.release import differences, pin, pinned_tasks, release, written
from tests.parley.reports.conftest import result_of
from tests.shipped import RELEASED
from worlds.core.chance import PUBLISHED_KEY, key_digest


def test_the_list_is_current(root: Path) -> None:
    """release.json holds the tasks and digests of tasks/ but for new ones; after a change of a task: make release."""
    tasks = RELEASED

    assert [] == list(differences(release(), tasks))
    assert (root / "parley" / "sharing" / "release.json").read_text(encoding="utf-8") == written(pin(tasks))


def test_what_differs_is_said(root: Path) -> None:
    """A task that is new, gone or changed, each by its name."""
    first, second, *_ = discover(root / "tasks" / "contract")
    pinned = {first.family: {first.task_id: "0" * 64, "no-longer": "1" * 64}}

    assert [f"contract/{first.task_id} has changed", f"contract/{second.task_id} is new", "contract/no-longer is gone"] == list(
        differences(pinned, [first, second])
    )


def test_complete_is_the_release_whatever_lies_in_tasks(root: Path) -> None:
    """Every pinned task at its digest is complete with a folder more, and with all but one folder gone; fewer tasks are not."""
    pinned = pinned_tasks("contract")
    tasks = {task.task_id: task for task in discover(root / "tasks" / "contract")}
    one = next(iter(pinned))
    group = _played(dict(pinned))
    for registry in ({}, {one: tasks[one]}, {**tasks, "mine": replace(tasks[one])}):
        covered = status(group, Evidence("contract", (group,), registry))
        assert (covered.text, covered.changed) == ("complete", ())
    part = _played({one: pinned[one]})
    other = _played({**pinned, one: "0" * 64})

    assert "1 of 33 tasks" == status(part, Evidence("contract", (part,), {one: tasks[one]})).text
    assert (one,) == status(other, Evidence("contract", (other,), tasks)).changed


def _played(digests: dict[str, str]) -> Group:
    """One graded episode of each task."""
    plan = Planned.model_validate(
        {"tasks": digests, "seeds": [0], "attempts": 1, "agent": {"name": "oracle"}, "budget": asdict(Budget()), "options": {},
         "key_digest": key_digest(PUBLISHED_KEY)}
    )  # fmt: skip
    results = [result_of("run", task, 0, 1, "SUCCESS", {"name": "oracle"}) for task in digests]
    return Group(Setup("oracle", None, (), ()), "oracle", None, plans=[plan], graded=results)

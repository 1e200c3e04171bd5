"""A run that is gone on with may grow and may not shrink, and its run.json says when it did."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.agents.llm.meter import RunLimits
from harness.errors import UsageError
from harness.records import Key, Result, RunFolder
from harness.registry import Task
from harness.runs.episode_filter import EpisodeChoice, read_choice
from harness.runs.plan import Plan
from harness.runs.request import RunRequest
from harness.runs.resume_rules import ON_RESUME, changed_fields, grown
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.sweeps.early_stopping import Until

BUDGET = Budget(wall_s=10.0, turns=5, tokens=100, cost_usd=1.0)
REQUEST = RunRequest(
    tasks={}, seeds=(0, 1), attempts=2, budget=BUDGET, limits=RunLimits(cost_usd=2.0, tokens=50), key_digest=""
)  # fmt: skip


def changed(**fields: Any) -> RunRequest:
    """The request with other bounds."""
    return REQUEST.model_copy(update=fields)


@pytest.mark.parametrize(
    ("after", "flags"),
    [
        (REQUEST, []),
        (changed(seeds=(0, 1, 7), attempts=3), ["--seeds", "--k"]),
        (changed(budget=Budget(wall_s=11.0, turns=6, tokens=101, cost_usd=1.1)), ["--wall", "--turns", "--tokens", "--cost"]),
        (changed(limits=RunLimits(cost_usd=2.5, tokens=None)), ["--max-cost", "--max-tokens"]),
        (changed(budget=replace(BUDGET, wall_s=None, tokens=None)), ["--wall", "--tokens"]),
    ],
)
def test_what_may_grow(after: RunRequest, flags: list[str]) -> None:
    """Seeds, attempts and bounds, each told by its flag with both values."""
    amendments = grown(REQUEST, after, game=False, at="then")

    assert [one.flag for one in amendments] == flags
    assert all(one.before != one.after and one.at == "then" for one in amendments)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (changed(seeds=(0, 2)), "--seeds 0,2 is less than the 0,1 of this run"),
        (changed(attempts=1), "--k 1 is less than the 2 of this run"),
        (changed(budget=replace(BUDGET, wall_s=9.0)), "--wall 9 is less than the 10 of this run"),
        (changed(budget=replace(BUDGET, turns=4)), "--turns 4 is less than the 5 of this run"),
        (changed(budget=replace(BUDGET, tokens=99)), "--tokens 99 is less than the 100 of this run"),
        (changed(budget=replace(BUDGET, cost_usd=0.5)), "--cost 0.5 is less than the 1 of this run"),
        (changed(limits=RunLimits(cost_usd=1.0, tokens=50)), "--max-cost 1 is less than the 2 of this run"),
        (changed(limits=RunLimits(cost_usd=2.0, tokens=49)), "--max-tokens 49 is less than the 50 of this run"),
    ],
)
def test_what_would_shrink_is_refused(after: RunRequest, why: str) -> None:
    """By its flag, with both values."""
    with pytest.raises(UsageError) as refused:
        grown(REQUEST, after, game=False, at="")

    assert str(refused.value) == f"{why}, which may only grow"


def test_bounds_that_nobody_gave() -> None:
    """A wall of 600 s may be raised where one agent plays; no bound is wider than none; a limit of the run may come late."""
    free = REQUEST.model_copy(update={"budget": Budget(), "limits": RunLimits()})
    walled = free.model_copy(update={"budget": Budget(wall_s=700.0)})

    assert [one.flag for one in grown(free, walled, game=False, at="")] == ["--wall"]
    with pytest.raises(UsageError, match="--wall 700 is less than the unbounded one of this run"):
        grown(free, walled, game=True, at="")
    with pytest.raises(UsageError, match="--tokens 5 is less"):
        grown(free, free.model_copy(update={"budget": Budget(tokens=5)}), game=False, at="")
    assert [one.flag for one in grown(free, changed(budget=Budget(), limits=RunLimits(tokens=5)), game=False, at="")] == [
        "--max-tokens"
    ]


def played(plan: Plan, folder: RunFolder, **how: Any) -> list[Result]:
    """The plan, in process."""
    return run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None, **how)


def test_a_grown_run_plays_only_what_is_new(presigned: Task, tmp_path: Path) -> None:
    """Earlier episodes stay, run.json tells what grew, and each stretch of playing with its times, command and version."""
    folder = RunFolder(tmp_path / "run")
    plan = Plan("run", [presigned], [0], 1, AgentSpec(kind="nop"))
    (first,) = played(plan, folder, command=("harness", "run", "--api-base", "http://me:secret@there/v1"))
    before = Path(first.path, "result.json").stat().st_mtime_ns
    results = played(replace(plan, seeds=[0, 1], attempts=2, budget=Budget(turns=200)), folder)
    record = json.loads((folder.path / "run.json").read_bytes())

    assert [(one.seed, one.attempt) for one in results] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert Path(first.path, "result.json").stat().st_mtime_ns == before
    assert [(one["flag"], one["before"], one["after"]) for one in record["amendments"]] == [
        ("--seeds", [0], [0, 1]), ("--k", 1, 2), ("--turns", 120, 200)
    ]  # fmt: skip
    assert (record["identity"]["attempts"], record["request"]["seeds"], record["identity"]["budget"]["turns"]) == (
        2,
        [0, 1],
        200,
    )
    assert [one["command"] for one in record["stints"]] == ["harness run --api-base http://there/v1", ""]
    assert all(one["begun"] <= one["ended"] and one["version"] for one in record["stints"])


def test_a_smaller_plan_is_refused_and_nothing_is_touched(presigned: Task, tmp_path: Path) -> None:
    """Also where a program hands in the plan."""
    folder = RunFolder(tmp_path / "run")
    plan = Plan("run", [presigned], [0, 1], 1, AgentSpec(kind="nop"))
    played(plan, folder)
    before = (folder.path / "run.json").read_bytes()
    with pytest.raises(UsageError, match="--seeds 0 is less than the 0,1 of this run"):
        played(replace(plan, seeds=[0]), folder)

    assert (folder.path / "run.json").read_bytes() == before


def record(status: str) -> Result:
    """What the folder of an episode holds."""
    return Result(
        run="run",
        task_id="a",
        family="contract",
        seed=0,
        attempt=1,
        agent="x",
        runtime="inprocess",
        status=status,
        key_digest="",
    )  # type: ignore[call-arg]


def test_which_episodes_are_chosen() -> None:
    """Nothing that has a grade, errored ones only where an attempt is recorded, and of the tasks that were named."""
    key, tasks = Key(task_id="a", family="contract", seed=0, attempt=1), ("a", "b")
    taken = {
        words: [read_choice(words, tasks).takes(key, one) for one in (None, record("ungraded"), record("graded"))]
        for words in [(), ("errored",), ("unscored",), ("a",), ("b",), ("errored", "a"), ("errored", "b")]
    }

    assert taken == {
        (): [True, True, False],
        ("errored",): [False, True, False],
        ("unscored",): [True, True, False],
        ("a",): [True, True, False],
        ("b",): [False, False, False],
        ("errored", "a"): [False, True, False],
        ("errored", "b"): [False, False, False],
    }
    with pytest.raises(UsageError, match="--only takes errored, unscored or a task of the run, not 'c'"):
        read_choice(["c"], tasks)


def test_a_choice_leaves_the_rest_unplayed(presigned: Task, tmp_path: Path) -> None:
    """Of a run that was never played, nothing is errored; all of it is unscored."""
    folder = RunFolder(tmp_path / "run")
    plan = Plan("run", [presigned], [0, 1], 1, AgentSpec(kind="nop"))

    assert played(plan, folder, choice=EpisodeChoice(errored=True)) == []
    assert len(played(plan, folder)) == 2


def test_every_field_has_its_rule() -> None:
    """A field that is added to requests has to say what a resume may make of it."""
    assert {*ON_RESUME} == {*RunRequest.model_fields}


def test_what_grows_makes_no_other_run_unless_it_is_decided_early() -> None:
    """With --until only the limits of the run may be raised: tasks that were scored would count under other conditions."""
    until = {"until": Until(first="a", second="b", order=())}
    more: dict[str, Any] = {"seeds": (0, 1, 7), "attempts": 3, "budget": replace(BUDGET, turns=6), "limits": RunLimits()}

    assert changed_fields(REQUEST, changed(**more, workers=9, breaker=1)) == []
    assert changed_fields(changed(**until), changed(**more, **until)) == ["attempts", "budget", "seeds"]


def test_how_a_model_is_reached_and_awaited_makes_no_other_run() -> None:
    """Another port, patience, time-out or price is the run that it was; another host or temperature is not."""
    spec = AgentSpec(kind="llm", model="openai/any", api_base="http://here:1/v1")

    def differing(**fields: Any) -> list[str]:
        return changed_fields(changed(agents=(spec,)), changed(agents=(spec.model_copy(update=fields),)))

    assert differing(api_base="http://here:2/v1", patience_s=1.0, timeout_s=2.0) == []
    assert differing(api_base="http://there:1/v1") == differing(temperature=0.5) == ["agent"]

"""The frozen plan: every field is either compared on resume, or named here as one that need not be."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.agents.base import Budget
from harness.agents.scripted import NopAgent, ScriptedAgent
from harness.agents.solutions import SolutionAgent
from harness.errors import UsageError
from harness.plan import Plan, differing, parse_seeds
from harness.records import as_recorded
from harness.registry import Task
from harness.retry import Retry

MAY_DIFFER = {"run_id"}
CHANGES: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "tasks": lambda plan: {"tasks": []},
    "seeds": lambda plan: {"seeds": [0, 1]},
    "attempts": lambda plan: {"attempts": 2},
    "agent": lambda plan: {"agent": NopAgent()},
    "budget": lambda plan: {"budget": Budget(turns=5)},
    "overrides": lambda plan: {"overrides": {"window_seconds": "50"}},
    "key": lambda plan: {"key": "held-out"},
    "retry": lambda plan: {"retry": Retry("run-1", "correct", {}, {})},
}


@pytest.fixture
def plan(presigned: Task) -> Plan:
    """The oracle on one task."""
    return Plan("run", [presigned], [0], 1, SolutionAgent())


def test_every_field_is_classified() -> None:
    """A new field of the plan must be put into the identity or into MAY_DIFFER."""
    assert {field.name for field in dataclasses.fields(Plan)} == {*CHANGES, *MAY_DIFFER}


@pytest.mark.parametrize("field", CHANGES)
def test_field_belongs_to_the_identity(plan: Plan, field: str) -> None:
    """A change of what shapes an episode is seen, and named."""
    other = replace(plan, **CHANGES[field](plan))
    name = {"overrides": "options", "key": "key_digest"}.get(field, field)

    assert [name] == differing(plan.identity(), other.identity())


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Budget)])
def test_every_budget_belongs_to_the_identity(plan: Plan, field: str) -> None:
    """So does each budget of the harness."""
    other = replace(plan, budget=replace(plan.budget, **{field: 7}))

    assert ["budget"] == differing(plan.identity(), other.identity())


def test_run_id_is_free(plan: Plan) -> None:
    """The same plan in another folder is the same plan."""
    assert differing(plan.identity(), replace(plan, run_id="other").identity()) == []


def test_changed_task_is_another_plan(plan: Plan, presigned: Task) -> None:
    """A task counts with its digest."""
    assert plan.identity()["tasks"] == {"presigned-url-download": presigned.digest}


@pytest.mark.parametrize("agent", [SolutionAgent(), NopAgent(), ScriptedAgent([{"wait": 1.5}, {"submit": "é"}])])
def test_identity_survives_its_file(plan: Plan, agent: Any) -> None:
    """What is frozen compares equal to what froze it."""
    identity = replace(plan, agent=agent).identity()

    assert differing(json.loads(json.dumps(identity)), as_recorded(identity)) == []


def test_secret_key_is_not_recorded(plan: Plan) -> None:
    """A private edition's key is in no record."""
    assert "held-out" not in json.dumps(replace(plan, key="held-out").record("docker", {}))


@pytest.mark.parametrize(
    ("old", "new", "names"), [({}, {}, []), ({"a": 1}, {}, ["a"]), ({"b": 1, "a": 1}, {"b": 2, "c": 1}, ["a", "b", "c"])]
)
def test_differing(old: dict[str, int], new: dict[str, int], names: list[str]) -> None:
    """Fields that are new, gone or changed, sorted."""
    assert names == differing(old, new)


def test_keys_in_order(plan: Plan) -> None:
    """Task by task, seed by seed, attempt by attempt, counted from 1."""
    names = [key.name.rpartition("/")[2] for key in replace(plan, seeds=[3, 5], attempts=2).keys]

    assert ["s3-a1", "s3-a2", "s5-a1", "s5-a2"] == names


def test_options_are_typed(plan: Plan, presigned: Task) -> None:
    """Only what was set, as the declared type."""
    chosen = replace(plan, overrides={"window_seconds": "50", "stop_on_violation": "true"})

    assert {"window_seconds": 50.0, "stop_on_violation": True} == chosen.options(presigned)


def test_option_of_another_task(plan: Plan, presigned: Task) -> None:
    """An option that a task does not have is a usage error with the way to look it up."""
    with pytest.raises(UsageError) as refused:
        replace(plan, overrides={"mode": "x"}).options(presigned)

    known = "handles, mitigate, mutate, payload_bytes, stop_on_violation, window_seconds"
    assert f"presigned-url-download has no option 'mode'; it has {known}" == str(refused.value)
    assert refused.value.hint == "harness show presigned-url-download"


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0", [0]),
        ("0-3", [0, 1, 2, 3]),
        ("1,4,7-9", [1, 4, 7, 8, 9]),
        (" 2 - 3 , 0", [0, 2, 3]),
        ("5,5,4-6", [4, 5, 6]),
        ("7-7", [7]),
    ],
)
def test_parse_seeds(text: str, seeds: list[int]) -> None:
    """Numbers and ranges, sorted, without repeats."""
    assert seeds == parse_seeds(text)


@pytest.mark.parametrize("text", ["", ",", "a", "-1", "1-", "1--2", "1.5", "0-9;", "1 2", "9999999999"])
def test_seeds_refused(text: str) -> None:
    """Anything else is refused with what seeds look like."""
    with pytest.raises(UsageError) as refused:
        parse_seeds(text)

    assert f"seeds must look like 0-9 or 1,4,7-9, not {text!r}" == str(refused.value)


@pytest.mark.parametrize("text", ["3-1", "0-999999999"])
def test_seed_range_refused(text: str) -> None:
    """A range runs upwards, and not over millions."""
    with pytest.raises(UsageError) as refused:
        parse_seeds(f"0, {text}")

    assert f"seeds {text!r} is no range from low to high" == str(refused.value)

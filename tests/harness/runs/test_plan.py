"""The frozen plan: every field is either compared on resume, or named here as one that need not be."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentIdentity, AgentSpec, Budget, SeatSpec
from harness.errors import UsageError
from harness.pod import EpisodeSpec
from harness.records import Hint, RunFolder
from harness.registry import Task
from harness.runs.executors.base import Order
from harness.runs.plan import Plan, parse_seeds
from harness.runs.request import Coached, Retry, read_record
from harness.runs.resume_rules import differing

MAY_DIFFER = {"run_id", "request", "part", "shard", "record_wire"}
CHANGES: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "tasks": lambda plan: {"tasks": []},
    "seeds": lambda plan: {"seeds": [0, 1]},
    "attempts": lambda plan: {"attempts": 2},
    "agent": lambda plan: {"agent": AgentSpec(kind="nop")},
    "budget": lambda plan: {"budget": Budget(turns=5)},
    "overrides": lambda plan: {"overrides": {"window_seconds": "50"}},
    "key": lambda plan: {"key": "held-out"},
    "retry": lambda plan: {"retry": Retry(of="run-1", mode="correct", episodes=())},
    "templates": lambda plan: {"templates": {"turn.md.j2": "Go."}},
}


@pytest.fixture
def plan(presigned: Task) -> Plan:
    """The oracle on one task."""
    return Plan("run", [presigned], [0], 1)


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
    """A plan stays itself in another folder."""
    assert differing(plan.identity(), replace(plan, run_id="other").identity()) == []


def test_changed_task_is_another_plan(plan: Plan, presigned: Task) -> None:
    """A task counts with its digest."""
    assert plan.identity().tasks == {"presigned-url-download": presigned.digest}


AGENTS = (
    AgentSpec(),
    AgentSpec(kind="nop"),
    AgentSpec(kind="violation", name="listed_order"),
    AgentSpec(kind="scripted", actions=({"wait": 1.5}, {"submit": "é"})),
    AgentSpec(kind="seats", name="imap"),
    AgentSpec(kind="llm", model="openai/any", interface="tool", api_base="http://127.0.0.1:1/v1"),
    AgentSpec(kind="llm", model="openai/any", seats=(SeatSpec(seat=1, kind="model", name="openai/other"),)),
)


@pytest.mark.parametrize("agent", AGENTS)
def test_record_survives_its_file(plan: Plan, agent: AgentSpec, tmp_path: Path) -> None:
    """What is frozen compares equal to what froze it, and what was asked for is read back as it was."""
    folder, changed = RunFolder(tmp_path), replace(plan, agent=agent, overrides={"window_seconds": "50"}, attempts=2)
    written = changed.record("inprocess", {"image": "digest"})
    folder.write_plan(written.model_dump(mode="json"))
    read = read_record(folder)

    assert read == written
    assert differing(read.identity, changed.identity()) == []
    assert read.request.agents == (agent,)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_plan_can_be_pickled(plan: Plan, presigned: Task, agent: AgentSpec) -> None:
    """Whoever plays, a plan and its orders cross to another process as they are; a retry too."""
    hint = Hint(mode="correct", told="OTHER", first_label="OTHER", retry_of="first")
    (key,) = plan.keys
    changed = replace(plan, agent=agent, retry=Retry(of="first", mode="correct", episodes=(Coached(key=key, hint=hint),)))
    order = Order(EpisodeSpec("run", "e", presigned, 0, "key", {"handles": True}), key, agent, Budget(), hint)

    assert pickle.loads(pickle.dumps(changed)) == changed
    assert pickle.loads(pickle.dumps(changed)).identity() == changed.identity()
    assert pickle.loads(pickle.dumps(order)) == order


def test_secret_key_is_not_recorded(plan: Plan) -> None:
    """A private edition's key is in no record."""
    assert "held-out" not in replace(plan, key="held-out").record("docker", {}).model_dump_json()


def test_password_in_an_address_is_not_recorded(plan: Plan) -> None:
    """Nor is what an address says of who asks."""
    agent = AgentSpec(kind="llm", model="openai/any", api_base="http://me:hush-hush@there/v1?key=hush-hush")

    assert "hush-hush" not in replace(plan, agent=agent).record("docker", {}).model_dump_json()


def test_keys_in_order(plan: Plan) -> None:
    """Task by task, seed by seed, attempt by attempt, counted from 1."""
    names = [key.name.rpartition("/")[2] for key in replace(plan, seeds=[3, 5], attempts=2).keys]

    assert ["s3-a1", "s3-a2", "s5-a1", "s5-a2"] == names


def test_options_are_typed(plan: Plan, presigned: Task) -> None:
    """Only what was set, as the declared type."""
    chosen = replace(plan, overrides={"window_seconds": "50", "stop_on_violation": "true"})

    assert {"window_seconds": 50.0, "stop_on_violation": True} == chosen.options(presigned)


@pytest.mark.parametrize(("level", "chosen"), [("1", {}), ("4", {"level": 4})])
def test_the_first_level_is_nothing_that_was_set(plan: Plan, presigned: Task, level: str, chosen: dict[str, int]) -> None:
    """Episodes of level 1 are those of a run that names no level, and share their rows."""
    assert chosen == replace(plan, overrides={"level": level}).options(presigned)


def test_a_player_is_told_the_budgets_of_its_level(presigned: Task) -> None:
    """What a model's system prompt says of requests is what the world enforces."""
    told = EpisodeSpec("run", "e", presigned, 0, "key", {"level": 4}).leveled.parley

    assert told is not None
    assert (told.budgets.steps, presigned.parley and presigned.parley.budgets.steps) == (9, 12)


def test_level_that_a_task_does_not_have(plan: Plan, presigned: Task) -> None:
    """It is a usage error with those that it has."""
    with pytest.raises(UsageError, match=r"^presigned-url-download has no level 7; it has levels 1, 2, 3 and 4$"):
        replace(plan, overrides={"level": "7"}).options(presigned)


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

    assert f"seeds {text!r} is not a range from low to high" == str(refused.value)


def test_identity_is_written_as_it_always_was() -> None:
    """A key that an agent says is in the file, null or not; one that it does not say is not; one of another version stays."""
    said = {"name": "llm", "model": "openai/any", "api_base": None, "requested": {"temperature": 0.0}, "voice": "loud"}
    seats = {"name": "imap", "seats": [{"seat": 1, "kind": "model", "name": "openai/any"}], "rotate": True}

    for one in ({"name": "nop"}, said, seats):
        assert AgentIdentity.model_validate(one).model_dump(mode="json") == one
    assert AgentIdentity.model_validate(said).conditions() == {"requested": {"temperature": 0.0}, "voice": "loud"}

"""The path between agent and world, set by options: what each toggle does to an episode, and where it cannot act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.agents.solutions import SolutionAgent
from harness.cli.flags import RunFlags
from harness.cli.settings import options
from harness.episode import run_episode
from harness.errors import UsageError
from harness.options import check_path, is_bent
from harness.pod import EpisodeSpec
from harness.records import Key, Result
from harness.registry import Task
from harness.runs.request import RunRequest
from harness.runtimes.inprocess import InProcessRuntime
from worlds.core.manifest import OptionValue
from worlds.core.testing import world_in_process
from worlds.core.wire import WireRequest


def played(task: Task, options: Mapping[str, OptionValue], player: str = "solve") -> Result:
    """One episode with options."""
    spec, key = (
        EpisodeSpec("r", "e", task, 0, overrides=options),
        Key(task_id=task.task_id, family="contract", seed=0, attempt=1),
    )
    return run_episode(spec, key, InProcessRuntime(), SolutionAgent(player), Budget()).result


@pytest.mark.parametrize(
    ("mutate", "label"),
    [
        ("", "SUCCESS"),
        ("clip=200", "MUTATED_TOKEN"),
        ("resort", "SIGNATURE_MISMATCH"),
        ("clip=9000+decode", "MUTATED_TOKEN"),
    ],
)
def test_mutation_by_option(presigned: Task, mutate: str, label: str) -> None:
    """A mutation acts on the oracle, and stands in the record."""
    result = played(presigned, {"mutate": mutate})

    assert (result.failure_label, result.options) == (label, {"mutate": mutate})


def test_backoff_cures_impatience(rate_limit: Task) -> None:
    """A client that hammers is held back by the middleware until it may ask again."""
    assert played(rate_limit, {}, "hammer").failure_label == "RATE_LIMITED"
    assert played(rate_limit, {"mitigate": "backoff"}, "hammer").failure_label == "SUCCESS"


@pytest.mark.parametrize(("mitigate", "told"), [("", None), ("backoff", None), ("ttl", "40"), ("backoff+ttl", "40")])
def test_lives_are_told_where_asked_for(presigned: Task, mitigate: str, told: str | None) -> None:
    """With mitigate=ttl an answer that issues something says in how many seconds the first of it runs out."""
    world = world_in_process(presigned.world_folder, overrides={"mitigate": mitigate})
    answer = world(WireRequest("GET", b"/api/precheck"))
    first = min(made.expires_at for made in world.events[-1].issued) - world.world.now

    assert answer.header("X-Expires-In") == (told and f"{first / 1000:g}")


@pytest.mark.parametrize(
    ("options", "bent"),
    [({}, False), ({"mutate": ""}, False), ({"mutate": "clip"}, True), ({"handles": True}, True), ({"mitigate": "ttl"}, False)],
)
def test_bent_means_the_harness_stands_between(options: Mapping[str, OptionValue], bent: bool) -> None:
    """Only what the harness itself does on the way bends a path; a header that the world adds does not."""
    assert is_bent(options) == bent


@pytest.mark.parametrize("options", [{"mutate": "clop"}, {"mutate": "clip+"}, {"mitigate": "soon"}, {"mitigate": "ttl+ttl2"}])
def test_unknown_toggle(options: Mapping[str, OptionValue]) -> None:
    """A mutation or mitigation that does not exist is refused before anything starts."""
    with pytest.raises(UsageError):
        check_path("contract", options)


@pytest.mark.parametrize("options", [{"mutate": "clip"}, {"handles": True}, {"mitigate": "backoff"}, {"mitigate": "ttl"}])
def test_family_without_a_path(options: Mapping[str, OptionValue]) -> None:
    """A family that has no path says of each toggle that it has no such option."""
    (name,) = options

    with pytest.raises(UsageError, match=f"the family 'calendar' has no option '{name}'"):
        check_path("calendar", options)


def request(*agents: AgentSpec, **flags: Any) -> RunRequest:
    """A request with the options of these flags."""
    return RunRequest(tasks={}, seeds=(0,), agents=agents, key_digest="", options=options(RunFlags(**flags)))


def test_comma_is_a_sweep() -> None:
    """Each value of each option meets each of the others; a folder is named after what differs."""
    parts = request(AgentSpec(), options=["a=1,2", "b=x", "c=3,4"], mutate=["clip=200", "resort"]).parts

    assert [part.name for part in parts] == ["a=1,c=3", "a=1,c=4", "a=2,c=3", "a=2,c=4"]
    assert parts[0].options == {"a": "1", "b": "x", "c": "3", "mutate": "clip=200+resort"}


def test_controls_are_further_parts() -> None:
    """Each combination is played once more with the control's values, unless it is there already; names tell them apart."""
    one = request(AgentSpec(), options=["a=1,2", "b=x"]).model_copy(update={"control": {"a": "1", "b": "y"}})
    none = one.model_copy(update={"control": {"b": "x"}})

    assert [part.name for part in one.parts] == ["a=1,b=x", "a=2,b=x", "a=1,b=y"]
    assert one.parts[-1].options == {"a": "1", "b": "y"}
    assert [part.name for part in none.parts] == ["a=1", "a=2"]


def test_several_agents_are_a_sweep_too() -> None:
    """Each agent plays each combination, in a folder that names both."""
    parts = request(AgentSpec(kind="nop"), AgentSpec(), options=["a=1,2"]).parts

    assert [part.name for part in parts] == ["agent=nop,a=1", "agent=nop,a=2", "agent=oracle,a=1", "agent=oracle,a=2"]


def test_one_combination_has_no_name() -> None:
    """Without a comma there is one run, in the folder that was named."""
    (part,) = request(AgentSpec(), options=["a=1"], mitigate=["backoff"], handles=True).parts

    assert part == ("", AgentSpec(), {"a": "1", "mitigate": "backoff", "handles": "true"})
    assert request(AgentSpec()).combinations == [{}]

"""Trajectories are ATIF-v1.8, whoever builds them."""

import pytest

from harness.agent import Usage
from harness.agents.trajectory import ToolCall, Trajectory
from tests.harness.agents.atif import SCHEMA


def valid(document):
    """The document, once the schema and the rules beyond it hold."""
    SCHEMA.validate(document)
    assert [step["step_id"] for step in document["steps"]] == list(range(1, len(document["steps"]) + 1))
    for step in document["steps"]:
        made = {call["tool_call_id"] for call in step.get("tool_calls", [])}
        assert {
            r["source_call_id"] for r in step.get("observation", {"results": []})["results"] if "source_call_id" in r
        } <= made
    return document


def test_nop_has_one_user_step():
    """The least there is: what the agent was told."""
    trajectory = Trajectory("run", "episode", "nop")
    trajectory.user("the instruction")

    assert [step["source"] for step in valid(trajectory.to_dict())["steps"]] == ["user"]


def test_no_step_is_an_error():
    """ATIF has no empty trajectory."""
    with pytest.raises(ValueError, match=r"^a trajectory needs at least one step$"):
        Trajectory("run", "episode", "nop").to_dict()


def test_scripted_steps_have_no_metrics():
    """A scripted step counts no model call."""
    trajectory = Trajectory("run", "episode", "oracle")
    trajectory.user("x")
    trajectory.agent("", tool_calls=[ToolCall("c1", "get", {"path": "/"})])
    trajectory.observe("200", "c1")
    step = valid(trajectory.to_dict())["steps"][1]

    assert (step["llm_call_count"], "metrics" in step) == (0, False)
    with pytest.raises(ValueError, match=r"^a step without model calls has no metrics$"):
        trajectory.agent("", metrics=Usage(calls=1), llm_call_count=0)


def test_model_steps_sum_up():
    """Metrics per step, sums at the end; reasoning apart."""
    trajectory = Trajectory("run", "episode", "llm", "gpt-5", tools=[{"type": "function"}], extra={"interface": "shell"})
    for cost in (0.25, 0.5):
        usage = Usage(calls=1, prompt_tokens=10, completion_tokens=5, cached_tokens=2, reasoning_tokens=3, cost_usd=cost)
        trajectory.agent("t", metrics=usage, reasoning="because")
    document = valid(trajectory.to_dict(extra={"provider_wait_s": 0.0}))

    assert document["steps"][0]["metrics"]["prompt_tokens"] == 10
    assert document["final_metrics"] == {
        "total_steps": 2,
        "total_prompt_tokens": 20,
        "total_completion_tokens": 10,
        "total_cached_tokens": 4,
        "total_cost_usd": 0.75,
        "extra": {"reasoning_tokens": 6, "provider_wait_s": 0.0},
    }


def test_unknown_price_is_no_sum():
    """One call without a price leaves the total out."""
    trajectory = Trajectory("run", "episode", "llm", "m")
    trajectory.agent("a", metrics=Usage(calls=1, cost_usd=1.0))
    trajectory.agent("b", metrics=Usage(calls=1))

    assert "total_cost_usd" not in valid(trajectory.to_dict())["final_metrics"]


def test_malformed_arguments_stay_readable():
    """Arguments that are no object are kept raw."""
    trajectory = Trajectory("run", "episode", "llm")
    trajectory.agent("", tool_calls=[ToolCall("c", "run", '{"oops')])

    assert valid(trajectory.to_dict())["steps"][0]["tool_calls"][0]["arguments"] == {"_raw": '{"oops'}


def test_observations_belong_to_a_call():
    """An answer to a call nobody made cannot be written."""
    trajectory = Trajectory("run", "episode", "llm")
    trajectory.agent("x")

    with pytest.raises(ValueError, match=r"^step 1 did not make the call 'c9'$"):
        trajectory.observe("?", "c9")


def test_seats_are_embedded():
    """One document for a group: each seat its own trajectory, in one session."""
    group = Trajectory("run", "group", "seats")
    group.user("a game")
    for seat in range(3):
        one = Trajectory("run", f"group-seat{seat}", f"seat{seat}")
        one.user("your view")
        group.seat(one)

    document = valid(group.to_dict())
    assert [t["trajectory_id"] for t in document["subagent_trajectories"]] == ["group-seat0", "group-seat1", "group-seat2"]

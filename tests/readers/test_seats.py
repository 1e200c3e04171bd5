"""SeatsAgent is an agent of Harbor's: its own factory makes it, and its own models take what it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.agent_factory import make_agent
from parley.bulk import run_in_process
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, Script, ScriptedReply
from tests.harness.agents.imap_model import imap
from tests.parley.interop.recorded import spec_of
from tests.readers.asking import read_by
from tests.shipped import SHIPPED

pytestmark = pytest.mark.readers

GAME, ALONE = (next(task for task in SHIPPED if task.task_id == name) for name in ("uniform-01", "csrf-form-submit"))


@pytest.fixture(scope="module")
def trials() -> dict[str, Any]:
    """A whole game, one whose provider refuses later turns, one whose model is slow, and a task without seats."""
    denied = ScriptedReply(text="{}", faults=(Fault(status=401, message="no such key", times=1_000),))
    slow = ScriptedReply(text="{}", faults=(Fault(kind="stall", stall_s=3.0),))
    scripts = [
        Script(model="imap", play=imap),
        Script(model="denied", play=lambda messages: denied if len(messages) > 2 else ScriptedReply(text=imap(messages))),
        Script(model="slow", play=lambda messages: slow if len(messages) > 2 else ScriptedReply(text=imap(messages))),
    ]
    with OpenAIServer(*scripts) as server:
        return read_by("seats", GAME.path, server.url, str(ALONE.path), script="play.py")


def test_a_game_is_played_to_its_end(trials: dict[str, Any]) -> None:
    """The world's log is to the letter that of the protocol that the model plays, and Harbor hears what it cost."""
    (policies,) = run_in_process([spec_of(GAME)], make_agent(AgentSpec(kind="seats", name="imap"), {}), Budget())
    whole = trials["whole"]

    assert (whole["ended"], whole["name"], whole["atif"]) == ("played", "parley-seats", True)
    assert whole["hash"] == policies.result.trace_hash
    assert (whole["steps"], whole["seats"]) == (61, 5)
    assert whole["context"]["metadata"]["calls"] == 60
    assert whole["context"]["n_input_tokens"] > 1000


def test_a_provider_that_fails_leaves_no_valid_reward(trials: dict[str, Any]) -> None:
    """It is an error of an API to Harbor, and what was said before is recorded."""
    broken = trials["broken"]

    assert broken["ended"] == "ApiError"
    assert broken["seats"] == 5
    assert 2 <= broken["steps"] < 61


def test_nobody_plays_on_when_the_time_is_up(trials: dict[str, Any]) -> None:
    """What was said in time is recorded, and the thread of the game asks the container nothing more."""
    late = trials["late"]

    assert late["ended"] == "TimeoutError"
    assert late["seats"] == 5
    assert 2 <= late["steps"] < 61
    assert late["asked_after_the_end"] == 0


def test_a_task_without_seats_is_no_zero(trials: dict[str, Any]) -> None:
    """The agent says that there is no game, and asks no model."""
    alone = trials["alone"]

    assert alone["ended"] == "HealthcheckError"
    assert "only tasks with seats are games" in alone["why"]
    assert alone["context"]["metadata"]["calls"] == 0

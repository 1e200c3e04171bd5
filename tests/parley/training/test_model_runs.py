"""A model in `harness run`, through LiteLLM, and the same answers handed in turn by turn leave one log and one verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, Script, ScriptedReply
from parley.training import Episode, tasks_named
from tests.parley.training.driving import driven

pytestmark = pytest.mark.property

TASKS = tasks_named("csrf-form-submit", "oauth-pkce-with-rotation", "uniform-01", "varied-02", "airliner-by-night")
MOST = 6
"""Turns of a seat: the calendars use them up, so that the stop is compared too."""


class AnyModel:
    """Solves contracts, and talks at seats."""

    def __init__(self) -> None:
        self._solve = SolutionModel(tasks_named("contract"), lambda task, attempt: "solve", "tool")

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """By what the conversation is about."""
        if "You are agent" in str(messages[0]["content"]) or len(messages) < 2:
            return self._talk(messages)
        try:
            return self._solve(messages)
        except KeyError:
            return self._talk(messages)

    def _talk(self, messages: Messages) -> str:
        return f"Turn {len(messages)}: {str(messages[-1]['content'])[-50:]}"


def test_a_model_in_a_run_and_turn_by_turn(harness: Callable[..., CompletedProcess[str]], tmp_path: Path) -> None:
    """Trace hash, reward, label, severity and the budget that ended it, for tasks of every family at two seeds."""
    model = AnyModel()
    flags = ["--interface", "tool", "--runtime", "inprocess", "--yes", "--seeds", "0,1", "--turns", str(MOST), "--json"]
    with OpenAIServer(Script(play=model)) as server:
        names = [task.task_id for task in TASKS]
        done = harness("run", *names, "--model", "openai/any", "--api-base", server.url, *flags, "--out", tmp_path / "run")
    ran = {(one["task_id"], one["seed"]): one for one in json.loads(done.stdout)["episodes"]}
    mine: dict[tuple[str, int], Any] = {}
    for task in TASKS:
        for seed in (0, 1):
            mine[task.task_id, seed] = driven(Episode(turns=MOST), task, seed, model).verdict()

    assert len(ran) == len(mine) == 10, done.stderr
    for key, verdict in mine.items():
        one = ran[key]
        theirs = (one["trace_hash"], one["reward"], one["failure_label"], one["severity"], one["stopped_by"])
        assert (verdict.trace_hash, verdict.reward, verdict.label, verdict.severity, verdict.result.stopped_by) == theirs, key
        assert verdict.result.prompt_digest in {one["prompt_digest"], None}
    assert {one["stopped_by"] for one in ran.values()} >= {"turns"}

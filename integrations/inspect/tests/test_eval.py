"""Inspect's own runner plays Parley against a local server, and its scores are ours."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig, modelapi
from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
from parley_inspect import UntilClear, parley, parley_scorer, parley_solver
from parley_inspect.dataset import episodes

from harness.errors import UsageError
from harness.registry import Task as ParleyTask
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, Script, ScriptedReply
from parley.training import Episode, tasks_named

ROOT = Path(__file__).parents[3]
PLAYED = 20


@modelapi("parley_local")
class LocalAPI(OpenAICompatibleAPI):
    """Inspect's own client of OpenAI-compatible servers, without the table of tokens that it fetches from the internet."""

    def __init__(
        self, model_name: str, base_url: str | None = None, config: GenerateConfig = GenerateConfig(), **rest: Any
    ) -> None:
        rest["api_key"] = "none"
        super().__init__(model_name, base_url=base_url, config=config, service="local", **rest)

    async def count_text_tokens(self, text: str) -> int:
        """About four characters each."""
        return len(text) // 4 + 1


class TalkingModel:
    """Says something else at each turn of a conversation, and votes for what its rules name last."""

    def __call__(self, messages: Messages) -> str:
        """By the number of turns so far."""
        number = sum(message["role"] == "user" for message in messages)
        return f"Turn {number}: " + str(messages[-1]["content"])[-60:]


class Giving:
    """A contract's model that gives up on every other task."""

    def __init__(self, tasks: Sequence[ParleyTask]) -> None:
        self._solve = SolutionModel(tasks, lambda task, attempt: "solve", "tool")
        self._failed = {(task.path / "instruction.md").read_text(encoding="utf-8").partition("\n")[0] for task in tasks[1::2]}

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """The solution, or nothing."""
        heading = str(messages[1]["content"]).partition("\n")[0]
        return "I give up." if heading in self._failed else self._solve(messages)


def ours(task: ParleyTask, seed: int, play: Any) -> float:
    """What the same model earns in an episode of ours."""
    episode = Episode()
    episode.reset(task, seed)
    while not episode.done:
        turn = episode.turns[0]
        reply = play([dict(message) for message in turn.messages])
        calls = [] if isinstance(reply, str) else [call.model_dump() for call in reply.tool_calls]
        episode.submit(turn.id, reply if isinstance(reply, str) else reply.text, calls)
    return episode.verdict().reward


def evaluated(folder: Path, play: Any, **arguments: Any) -> EvalLog:
    """The log of one eval by Inspect's runner, read back from its file."""
    with OpenAIServer(Script(play=play)) as server:
        (log,) = inspect_eval(
            parley(**arguments), model="parley_local/scripted", model_base_url=server.url, log_dir=str(folder), display="none",
            max_samples=4,
        )  # fmt: skip
    return read_eval_log(log.location)


@pytest.mark.parametrize("family", ["contract", "calendar", "hidden-profile"])
def test_rewards_are_ours(tmp_path: Path, family: str) -> None:
    """Twenty episodes of each family: every score is the reward of the same answers in an episode of ours."""
    tasks = tasks_named(family)[:PLAYED]
    play = TalkingModel() if tasks[0].is_seated else Giving(tasks)
    log = evaluated(tmp_path, play, tasks=[task.task_id for task in tasks])

    assert log.status == "success", log.error
    scores = {sample.metadata["task_id"]: next(iter((sample.scores or {}).values())) for sample in log.samples or ()}
    assert {name: score.as_float() for name, score in scores.items()} == {task.task_id: ours(task, 0, play) for task in tasks}
    assert len(scores) == PLAYED
    if family == "contract":
        assert sorted({score.answer for score in scores.values()}) == ["OTHER", "SUCCESS"]


def test_a_seat_is_a_span(tmp_path: Path) -> None:
    """A game's transcript has one span a seat, and in each the model calls of that seat alone."""
    log = evaluated(tmp_path, TalkingModel(), tasks="airliner-by-night")
    (sample,) = log.samples or ()
    spans = {event.id: event.name for event in sample.events if event.event == "span_begin" and event.type == "agent"}
    calls = [event for event in sample.events if event.event == "model"]
    by_span: dict[str, set[str]] = {}
    for call in calls:
        seen = next(iter(call.input)).text
        by_span.setdefault(spans[call.span_id or ""], set()).add(seen)

    assert sorted(by_span) == [f"seat {seat}" for seat in range(len(by_span))]
    assert len(by_span) >= 3
    assert all(len(systems) == 1 for systems in by_span.values())
    metrics = next(iter(log.results.scores if log.results else ())).metrics
    assert {"mean", "stderr"} <= set(metrics)


def test_a_limit_is_a_budget(tmp_path: Path) -> None:
    """An episode that Inspect cuts short is graded as far as it got."""
    with OpenAIServer(Script(play=TalkingModel())) as server:
        (log,) = inspect_eval(
            parley(tasks="uniform-01"), model="parley_local/scripted", model_base_url=server.url, log_dir=str(tmp_path),
            display="none", token_limit=3000,
        )  # fmt: skip
    (sample,) = read_eval_log(log.location).samples or ()
    (score,) = (sample.scores or {}).values()

    assert sample.limit is not None
    assert (score.as_float(), sample.error) == (0.0, None)


def test_early_stopping_is_the_bet_of_a_run(tmp_path: Path) -> None:
    """A model that gives up at once is told apart from a recorded run of the oracle long before all tasks are played."""
    command = [
        sys.executable,
        "-m",
        "harness",
        "run",
        "contract",
        "--runtime",
        "inprocess",
        "--yes",
        "--out",
        str(tmp_path / "run"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with pytest.raises(UsageError, match="needs 60 tasks"):
        asyncio.run(UntilClear(tmp_path / "run").start_task(None, [*episodes("contract")], 1))  # type: ignore[arg-type]
    stopping = UntilClear(tmp_path / "run", fewest=20)
    task = Task(
        dataset=episodes("contract", drawn=True), solver=parley_solver(), scorer=parley_scorer(), early_stopping=stopping
    )
    with OpenAIServer(Script(play=lambda messages: "I give up.")) as server:
        (log,) = inspect_eval(
            task, model="parley_local/scripted", model_base_url=server.url, log_dir=str(tmp_path), display="none", max_samples=1
        )
    stopped = log.results.early_stopping if log.results else None

    assert log.status == "success", log.error
    assert stopped is not None
    assert stopped.metadata["winner"] == "the recorded run"
    assert len(stopped.early_stops) == 33 - int(str(stopped.metadata["tasks"])) > 10

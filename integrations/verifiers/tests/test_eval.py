"""verifiers' own runner plays Parley against a local server, and every seat's reward is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from parley_vf.env import KEPT
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from harness.registry import Task
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, Script, ScriptedReply
from parley.training import Episode, EpisodeVerdict, tasks_named

PLAYED = 20


def talking(messages: Messages) -> str:
    """Says something else at each turn of a conversation."""
    number = sum(message["role"] == "user" for message in messages)
    return f"Turn {number}: " + str(messages[-1]["content"])[-60:]


class Giving:
    """A contract's model that gives up on every other task."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._solve = SolutionModel(tasks, lambda task, attempt: "solve", "tool")
        self._failed = {(task.path / "instruction.md").read_text(encoding="utf-8").partition("\n")[0] for task in tasks[1::2]}

    def __call__(self, messages: Messages) -> ScriptedReply | str:
        """The solution, or nothing."""
        heading = str(messages[1]["content"]).partition("\n")[0]
        return "I give up." if heading in self._failed else self._solve(messages)


def ours(task: Task, play: Any) -> EpisodeVerdict:
    """What the same model earns in an episode of ours."""
    episode = Episode(options=KEPT.get(task.family, {}))
    episode.reset(task, 0)
    while not episode.done:
        turn = episode.turns[0]
        reply = play([dict(message) for message in turn.messages])
        calls = [] if isinstance(reply, str) else [call.model_dump() for call in reply.tool_calls]
        episode.submit(turn.id, reply if isinstance(reply, str) else reply.text, calls)
    return episode.verdict()


def evaluated(folder: Path, tasks: Sequence[Task], play: Any, **env: Any) -> list[Any]:
    """The episodes of one eval by verifiers' runner."""
    with OpenAIServer(Script(play=play)) as server:
        taskset = {"id": "parley_vf", "tasks": ",".join(task.task_id for task in tasks)}
        config = EvalConfig.model_validate(
            {
                "env": {"taskset": taskset, **env}, "model": "scripted", "client": {"base_url": server.url}, "rich": None,
                "push": False, "output_dir": str(folder), "max_concurrent": 4,
            }
        )  # fmt: skip
        return list(asyncio.run(run_eval(config)))


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client wants a key in the environment, whoever it asks."""
    for name in ("OPENAI_API_KEY", "PRIME_API_KEY"):
        monkeypatch.setenv(name, "none")


@pytest.mark.parametrize("family", ["contract", "calendar", "hidden-profile"])
def test_rewards_are_ours(tmp_path: Path, family: str) -> None:
    """Twenty episodes of each family: each seat's trace has the reward that its seat has in an episode of ours."""
    tasks = tasks_named(family)[:PLAYED]
    play = talking if tasks[0].is_seated else Giving(tasks)
    episodes = evaluated(tmp_path, tasks, play)
    wanted = {task.task_id: ours(task, play) for task in tasks}

    assert [error for episode in episodes for error in episode.errors] == []
    assert len(episodes) == PLAYED
    for episode in episodes:
        verdict = wanted[episode.task.data.task_id]
        rewards = {trace.info["parley"]["seat"]: trace.reward for trace in episode.traces}
        assert rewards == dict(enumerate(verdict.seat_rewards))
        assert {trace.info["parley"]["trace_hash"] for trace in episode.traces} == {verdict.trace_hash}
    if family == "contract":
        assert sorted({verdict.reward for verdict in wanted.values()}) == [0.0, 1.0]


def test_a_limit_of_a_seat_forfeits_its_turns(tmp_path: Path) -> None:
    """A seat that may take two turns says nothing more, and the game goes on without it."""
    (episode,) = evaluated(tmp_path, tasks_named("airliner-by-night"), talking, seat_0={"max_turns": 2})
    turns = {trace.info["parley"]["seat"]: trace.num_turns for trace in episode.traces}

    assert turns[0] == 2
    assert min(turns[seat] for seat in turns if seat) > 2

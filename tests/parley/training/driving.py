"""What drives episodes in these tests: a family's players, a task's own clients, and what `harness run` makes of the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.agent import AgentSpec, Budget
from harness.agent_factory import make_agent
from harness.agents.seats.lineup import SeatPlayer, seat_players
from harness.live_agent import Agent
from harness.pod import EpisodeSpec
from harness.records import Key, Result
from harness.registry import Task
from harness.runtimes.inprocess import InProcessPod
from parley.bulk import run_in_process
from parley.testing.players import SolutionModel
from parley.testing.scripts import Messages, ScriptedReply
from parley.training import Episode, SeatTurn
from worlds.core.turns import OpenTurn
from worlds.core.wire import request

ENDLESS = 10**6
"""More turns than any policy takes: `harness run` counts those of models alone."""

Said = tuple[str, Sequence[Mapping[str, Any]]]


def spec_of(task: Task, seed: int, **options: Any) -> EpisodeSpec:
    """One episode."""
    return EpisodeSpec("run", f"{task.task_id}-{seed}", task, seed, overrides=options)


def run(task: Task, seed: int, agent: Agent, **options: Any) -> Result:
    """What a run makes of an agent's episode."""
    key = Key(task_id=task.task_id, family=task.family, seed=seed, attempt=1)
    (outcome,) = run_in_process([(spec_of(task, seed, **options), key)], agent, Budget())
    return outcome.result


def policy_agent(name: str) -> Agent:
    """The agent behind `--agent NAME`."""
    return make_agent(AgentSpec(kind="seats", name=name), {})


def players(task: Task, seed: int, name: str, **options: Any) -> list[SeatPlayer]:
    """A policy at every seat of a game."""
    session = json.loads(InProcessPod(spec_of(task, seed, **options)).call_as_host(request("GET", "/session")).body)
    make = seat_players(task.family)[name]
    return [make(task, row["seat"], session) for row in session["seats"]]


def played(task: Task, seed: int, name: str, order: random.Random | None = None, **options: Any) -> Episode:
    """A game in which policies are asked by this loop; open turns are answered in a drawn order where one is given."""
    seated = players(task, seed, name, **options)
    episode = Episode(options=options, turns=ENDLESS)
    episode.reset(task, seed)
    while not episode.done:
        turn = order.choice(episode.turns) if order else episode.turns[0]
        reply = seated[turn.seat].reply(asked(turn))
        if reply is None:
            episode.forfeit(turn.id)
        else:
            episode.submit(turn.id, reply)
    return episode


def asked(turn: SeatTurn) -> OpenTurn:
    """A turn as policies read it."""
    return OpenTurn(
        id=turn.id, seat=turn.seat, phase=turn.phase, round=turn.round, attempt=turn.attempt, text=turn.text,
        ephemeral=turn.ephemeral,
    )  # fmt: skip


def client(task: Task, name: str, seed: int = 0, **options: Any) -> Episode:
    """A contract, played by one of its own clients, call by call."""
    model = SolutionModel([task], lambda task, attempt: name, "tool")
    return driven(Episode(options=options, turns=ENDLESS), task, seed, model)


def driven(episode: Episode, task: Task, seed: int, model: Callable[[Messages], ScriptedReply | str]) -> Episode:
    """An episode in which a scripted model answers every turn."""
    episode.reset(task, seed)
    while not episode.done:
        turn = episode.turns[0]
        episode.submit(turn.id, *said(model(turn.messages)))
    return episode


def said(reply: ScriptedReply | str) -> Said:
    """What a scripted model says, as it is handed in."""
    if isinstance(reply, str):
        return reply, ()
    return reply.text or "", [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]


def seen(result: Result) -> tuple[Any, ...]:
    """What two records of one episode must share."""
    return (
        result.task_id, result.status, result.cause, result.reward, result.failure_label, result.severity, result.steps,
        result.stopped_by, result.trace_hash, result.metrics, result.options,
    )  # fmt: skip

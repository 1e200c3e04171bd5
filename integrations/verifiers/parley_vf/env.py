"""Parley episodes as a verifiers environment: every seat is an agent with its own trace and its own reward.

1. Seats are fields of the config, `seat_0` to `seat_7`, since no task has more; a task with fewer leaves the rest unused. A
   single-agent task is played by `seat_0`, with tool calls.
2. A verifiers conversation keeps all of its turns, so turns that only measure are not possible. A hidden profile's first vote
   stays in its seat's conversation (`first_vote=kept`, which is also in the log), and options that ask for beliefs or stances
   are rejected.
3. A seat that has reached its limits forfeits its turns as `budget`, as in `harness run`; a single-agent task ends.
4. Each trace has the reward of its seat, and as metrics the team's reward, the severity and the success.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import verifiers.v1 as vf

from harness.errors import UsageError
from parley.training import Episode, EpisodeVerdict, SeatTurn
from parley_vf.taskset import ParleyData, ParleyTask

KEPT = {"hidden-profile": {"first_vote": "kept"}}
"""Options by family that avoid turns which only measure."""


def _seat() -> vf.AgentConfig:
    """Return a seat that runs in this process, since its harness starts no program."""
    return vf.AgentConfig(runtime=vf.SubprocessConfig())


class ParleyEnvConfig(vf.EnvConfig):
    """Seats, options of the world, and the maximum number of answers of one seat."""

    seat_0: vf.AgentConfig = _seat()
    seat_1: vf.AgentConfig = _seat()
    seat_2: vf.AgentConfig = _seat()
    seat_3: vf.AgentConfig = _seat()
    seat_4: vf.AgentConfig = _seat()
    seat_5: vf.AgentConfig = _seat()
    seat_6: vf.AgentConfig = _seat()
    seat_7: vf.AgentConfig = _seat()
    options: dict[str, str] = {}
    """Options as for `harness run --set`."""

    turns: int = 120


class ParleyEnv(vf.Env[ParleyEnvConfig]):
    """A verifiers environment in which each episode is one episode of Parley."""

    async def run(self, task: ParleyTask, agents: vf.Agents) -> None:
        """Play to the end, and give each seat its reward."""
        data = task.data
        episode = Episode(options={**KEPT.get(data.family, {}), **self.config.options}, turns=self.config.turns)
        episode.reset(data.task_id, data.seed)
        async with AsyncExitStack() as stack:
            table = _Table(episode, data, agents, stack)
            while not episode.done:
                await table.ask(episode.turns)
        _record(table.seats, await asyncio.to_thread(episode.verdict))


class _Table:
    """The seats of an episode that have had a turn so far."""

    def __init__(self, episode: Episode, data: ParleyData, agents: vf.Agents, stack: AsyncExitStack) -> None:
        self.seats: dict[int, vf.Interaction] = {}
        self._episode, self._data, self._agents, self._stack = episode, data, agents, stack
        self._over: set[int] = set()

    async def ask(self, turns: tuple[SeatTurn, ...]) -> None:
        """Send open turns to their seats concurrently, and submit their answers."""
        for turn in turns:
            if turn.ephemeral:
                raise UsageError(f"a turn of {turn.phase} only measures, and a conversation here keeps all of its turns")
            if turn.seat not in self.seats:
                self.seats[turn.seat] = await self._seated(turn)
        answers = await asyncio.gather(*(self._answer(turn) for turn in turns))
        for turn, answer in zip(turns, answers, strict=True):
            if answer is not None:
                calls = [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in answer.tool_calls or ()]
                self._episode.submit(turn.id, answer.content, calls)
            elif self._episode.seats > 1:
                self._episode.forfeit(turn.id, "budget")
            else:
                self._episode.stop("turns")

    async def _seated(self, turn: SeatTurn) -> vf.Interaction:
        """Start the conversation of a seat with its own rules."""
        rules = str(turn.messages[0]["content"])
        data = self._data.model_copy(update={"prompt": None, "system_prompt": rules, "tools": list(turn.tools)})
        agent: vf.Agent = getattr(self._agents, f"seat_{turn.seat}")
        return await self._stack.enter_async_context(agent.interaction(ParleyTask(data)))

    async def _answer(self, turn: SeatTurn) -> vf.AssistantMessage | None:
        """Return a seat's answer, or None if it has reached its limits."""
        if turn.seat in self._over:
            return None
        segment = await self.seats[turn.seat].turn(_new(turn))
        if segment.terminated:
            self._over.add(turn.seat)
            return None
        said = [one for one in segment.messages if isinstance(one, vf.AssistantMessage)]
        return said[-1]


def _new(turn: SeatTurn) -> list[dict[str, Any]]:
    """Return the messages since the seat's last answer."""
    new: list[dict[str, Any]] = []
    for message in reversed(turn.messages):
        if message["role"] in {"assistant", "system"}:
            break
        new.insert(0, dict(message))
    return new


def _record(seats: dict[int, vf.Interaction], verdict: EpisodeVerdict) -> None:
    for seat, interaction in seats.items():
        trace = interaction.trace
        trace.record_reward("reward", verdict.seat_rewards[seat])
        trace.record_metrics({"team": verdict.reward, "severity": verdict.severity, "success": float(verdict.success)})
        trace.info["parley"] = {"label": verdict.label, "trace_hash": verdict.trace_hash, "seat": seat}

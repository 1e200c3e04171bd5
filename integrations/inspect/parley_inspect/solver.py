"""Plays an episode with Inspect's model: one span per seat, with all of its turns and model calls.

1. Each seat is a coroutine that waits for its turn, so seats with open turns call their models concurrently.
2. A model that reaches one of Inspect's limits (messages, tokens, time) ends the episode like a budget, and it is graded.
3. A conversation that exceeds the model's context forfeits the turn of a game, and ends any other episode, as in `harness run`.
4. An episode that Parley leaves ungraded is an error of the sample.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import anyio
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo, ToolParams
from inspect_ai.util import LimitExceededError, span

from parley.training import Episode, EpisodeVerdict, SeatTurn

KEPT = "parley_verdict"
"""Key of the verdict in a sample's store."""

_LIMITS = {"time": "wall", "working": "wall", "token": "tokens", "cost": "cost", "message": "turns"}
"""Inspect's limits and the corresponding budgets in our logs."""


@solver
def parley_solver(
    options: dict[str, Any] | None = None, turns: int = 120, protocol: Literal["tools", "text"] = "tools"
) -> Solver:
    """Return the solver. `options` are the world's, as for `harness run --set`; `turns` limits the answers of one seat."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        episode = Episode(options=options, turns=turns, protocol=protocol)
        episode.reset(state.metadata["task_id"], state.metadata["seed"])
        table = _Table(episode, get_model(), state)
        try:
            await table.play()
        except LimitExceededError as limit:
            if not episode.done:
                episode.stop(_LIMITS.get(limit.type, "wall"))
            raise
        finally:
            if episode.done:
                state.store.set(KEPT, _kept(episode.verdict()))
        state.completed = True
        return state

    return solve


class _Table:
    """The seats of one episode."""

    def __init__(self, episode: Episode, model: Model, state: TaskState) -> None:
        self._episode, self._model, self._state = episode, model, state
        self._moved = anyio.Condition()
        self._said: dict[int, list[ChatMessageAssistant]] = {seat: [] for seat in range(episode.seats)}

    async def play(self) -> None:
        """Play every seat to the end of the episode."""
        if self._episode.seats == 1:
            await self._seat(0)
            return
        try:
            async with anyio.create_task_group() as group:
                for seat in range(self._episode.seats):
                    group.start_soon(self._seat, seat)
        except BaseExceptionGroup as errors:
            # one limit or one error of the model ends all seats, and Inspect is to see it as it was raised
            raise errors.exceptions[0] from None

    async def _seat(self, seat: int) -> None:
        async with span(f"seat {seat}", type="agent"):
            while (turn := await self._turn_of(seat)) is not None:
                messages = [self._message(seat, place, one) for place, one in _numbered(turn.messages)]
                output = await self._model.generate(messages, tools=[_tool(one) for one in turn.tools])
                async with self._moved:
                    self._hand_in(turn, messages, output)
                    self._moved.notify_all()

    async def _turn_of(self, seat: int) -> SeatTurn | None:
        """Return the next turn of a seat, or None once the episode is over."""
        async with self._moved:
            while not self._episode.done:
                for turn in self._episode.turns:
                    if turn.seat == seat:
                        return turn
                await self._moved.wait()
        return None

    def _hand_in(self, turn: SeatTurn, messages: list[ChatMessage], output: ModelOutput) -> None:
        message, ended = output.message, output.stop_reason
        self._state.messages = [*messages, message]
        self._state.output = output
        if ended == "model_length":
            self._outgrown(turn)
            return
        if not turn.ephemeral:
            self._said[turn.seat].append(message)
        calls = [
            {"id": call.id, "function": {"name": call.function, "arguments": json.dumps(call.arguments)}}
            for call in message.tool_calls or ()
        ]
        self._episode.submit(turn.id, message.text, calls, finish_reason="length" if ended == "max_tokens" else "stop")

    def _outgrown(self, turn: SeatTurn) -> None:
        if self._episode.seats > 1:
            self._episode.forfeit(turn.id, "context")
        else:
            self._episode.stop("context")

    def _message(self, seat: int, place: int, message: Mapping[str, Any]) -> ChatMessage:
        """Return an Inspect message. Model messages are returned as received, with reasoning and signatures."""
        role, content = message["role"], str(message["content"])
        if role == "assistant":
            given = self._said[seat][place] if place < len(self._said[seat]) else None
            # a reply that was too long to be taken stands there in other words
            return given if given is not None and given.text == content else ChatMessageAssistant(content=content)
        if role == "tool":
            return ChatMessageTool(content=content, tool_call_id=message["tool_call_id"])
        return ChatMessageSystem(content=content) if role == "system" else ChatMessageUser(content=content)


def _numbered(messages: Any) -> list[tuple[int, Mapping[str, Any]]]:
    """Return messages with the number of the model's own messages before each."""
    own, numbered = 0, []
    for message in messages:
        numbered.append((own, message))
        own += message["role"] == "assistant"
    return numbered


def _tool(tool: Mapping[str, Any]) -> ToolInfo:
    function = tool["function"]
    return ToolInfo(
        name=function["name"],
        description=function["description"],
        parameters=ToolParams.model_validate(function["parameters"]),
    )


def _kept(verdict: EpisodeVerdict) -> dict[str, Any]:
    """Return the verdict as JSON."""
    detail = json.dumps(verdict.result.failure_detail) if verdict.result.failure_detail else ""
    return {
        "reward": verdict.reward,
        "label": verdict.label,
        "severity": verdict.severity,
        "success": verdict.success,
        "seat_rewards": list(verdict.seat_rewards),
        "trace_hash": verdict.trace_hash,
        "why": f"{verdict.label} {detail}".strip(),
    }

"""Conversations out of trajectory.json (ATIF): one for the agent, and one for each trajectory that is nested in it.

Only what is shown is read, and what a later version adds is passed over. A seat's trajectory is known by its agent's name,
`seat 3`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import ConfigDict

from harness.reading.model import Conversation, ToolUse, Utterance
from worlds.core.models import Lenient

_SEAT = re.compile(r"seat (\d{1,6})")


class _Call(Lenient):
    tool_call_id: str
    function_name: str
    arguments: Any = None


class _Seen(Lenient):
    source_call_id: str | None = None
    content: str | list[Any] | None = None


class _Observation(Lenient):
    results: tuple[_Seen, ...] = ()


class _Extra(Lenient):
    finish_reason: str | None = None


class _Step(Lenient):
    source: Literal["system", "user", "agent"]
    message: str | list[Any] = ""
    reasoning_content: str | None = None
    metrics: dict[str, Any] | None = None
    timestamp: str | None = None
    tool_calls: tuple[_Call, ...] = ()
    observation: _Observation = _Observation()
    extra: _Extra = _Extra()


class _Agent(Lenient):
    model_config = ConfigDict(protected_namespaces=())

    name: str
    model_name: str | None = None


class AtifDocument(Lenient):
    """The part of an ATIF trajectory that is shown; raises ValidationError for anything else."""

    agent: _Agent
    steps: tuple[_Step, ...] = ()
    subagent_trajectories: tuple[AtifDocument, ...] = ()


def conversations_of(document: AtifDocument) -> Iterator[Conversation]:
    """Every conversation of a trajectory in which an agent said something, the outermost first."""
    spoke = any(step.source == "agent" for step in document.steps)
    if spoke:
        seat = _SEAT.fullmatch(document.agent.name)
        yield Conversation(
            name=document.agent.name,
            seat=int(seat[1]) if seat else None,
            model=document.agent.model_name,
            utterances=tuple(map(_utterance, document.steps)),
        )
    for nested in document.subagent_trajectories:
        yield from conversations_of(nested)


def _utterance(step: _Step) -> Utterance:
    answers = {seen.source_call_id: _text(seen.content) for seen in step.observation.results if seen.source_call_id}
    return Utterance(
        speaker=step.source,
        text=_text(step.message),
        reasoning=step.reasoning_content or None,
        usage=step.metrics,
        said_at=step.timestamp,
        finish_reason=step.extra.finish_reason,
        tools=tuple(
            ToolUse(
                tool=call.function_name,
                arguments=json.dumps(call.arguments, ensure_ascii=False),
                answer=answers.get(call.tool_call_id),
            )
            for call in step.tool_calls
        ),
        feedback=tuple(_text(seen.content) for seen in step.observation.results if not seen.source_call_id),
    )


def _text(content: str | list[Any] | None) -> str:
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)

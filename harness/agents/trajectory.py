"""Trajectory in ATIF-v1.8, built step by step, so that a crashed episode keeps everything before the crash.

Every agent builds a trajectory: models add agent steps with metrics (`llm_call_count` 1); scripts, oracles and replays add
agent steps without metrics (`llm_call_count` 0). Documents that violate ATIF cannot be built here: arguments that are not an
object become {"_raw": text}, an observation belongs to a call of its own step, and a trajectory without any step is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from harness.agent import Usage

SCHEMA_VERSION = "ATIF-v1.8"

AGENT_VERSION = "0.1.0"
"""Version of our agents; raise it with any change in their messages or actions."""


@dataclass(frozen=True)
class ToolCall:
    """Tool call as it was made."""

    call_id: str
    tool: str
    arguments: Any


class Trajectory:
    """Steps of one agent or seat."""

    def __init__(
        self,
        session_id: str,
        trajectory_id: str,
        agent_name: str,
        model: str | None = None,
        *,
        tools: Sequence[dict[str, Any]] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.session_id, self.trajectory_id = session_id, trajectory_id
        more = {"tool_definitions": list(tools) or None, "extra": dict(extra or {}) or None}
        self._agent = _without_none(name=agent_name, version=AGENT_VERSION, model_name=model, **more)
        self._steps: list[dict[str, Any]] = []
        self._usage: list[Usage] = []
        self._seats: list[Trajectory] = []

    def system(self, text: str) -> None:
        """Add a system prompt, or a message of the harness (such as why an episode stopped)."""
        self._add("system", text)

    def user(self, text: str) -> None:
        """Add the instruction, or any other message to the agent."""
        self._add("user", text)

    def agent(
        self,
        text: str,
        *,
        tool_calls: Sequence[ToolCall] = (),
        metrics: Usage | None = None,
        reasoning: str | None = None,
        llm_call_count: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Add the agent's message and actions; `metrics` are those of its `llm_call_count` model calls, None for a script."""
        calls = int(metrics is not None) if llm_call_count is None else llm_call_count
        if metrics is not None and calls == 0:
            raise ValueError("a step without model calls has no metrics")
        step = self._add("agent", text)
        step["llm_call_count"] = calls
        if tool_calls:
            step["tool_calls"] = [_call(made) for made in tool_calls]
        if metrics is not None:
            step["metrics"] = _metrics(metrics)
            self._usage.append(metrics)
            if reasoning:
                step["reasoning_content"] = reasoning
        if extra:
            step["extra"] = dict(extra)

    def observe(self, content: str, call_id: str | None = None) -> None:
        """Add a result to the last step; raises ValueError for a call that this step did not make."""
        step = self._steps[-1]
        made = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        if call_id is not None and call_id not in made:
            raise ValueError(f"step {step['step_id']} did not make the call {call_id!r}")
        results = step.setdefault("observation", {"results": []})["results"]
        results.append(_without_none(source_call_id=call_id, content=content))

    def seat(self, trajectory: Trajectory) -> None:
        """Embed the trajectory of one seat."""
        self._seats.append(trajectory)

    def to_dict(self, *, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the whole document; raises ValueError if there is no step."""
        if not self._steps:
            raise ValueError("a trajectory needs at least one step")
        return _without_none(
            schema_version=SCHEMA_VERSION, session_id=self.session_id, trajectory_id=self.trajectory_id, agent=self._agent,
            steps=self._steps, final_metrics=self._final(extra or {}),
            subagent_trajectories=[seat.to_dict() for seat in self._seats] or None,
        )  # fmt: skip

    def _add(self, source: Literal["system", "user", "agent"], text: str) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        step = {"step_id": len(self._steps) + 1, "timestamp": now, "source": source, "message": text}
        self._steps.append(step)
        return step

    def _final(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        final: dict[str, Any] = {"total_steps": len(self._steps)}
        if self._usage:
            for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
                final[f"total_{name}"] = sum(getattr(usage, name) for usage in self._usage)
            costs = [u.cost_usd for u in self._usage]
            # If any call has no price, the sum is unknown.
            if None not in costs:
                final["total_cost_usd"] = sum(c for c in costs if c is not None)
            extra = {"reasoning_tokens": sum(u.reasoning_tokens for u in self._usage), **extra}
        return {**final, "extra": dict(extra)} if extra else final


def scripted_trajectory(agent: str, instruction: str, did: str | None) -> dict[str, Any]:
    """Return an ATIF-v1.8 trajectory for a scripted player; `did` is None for one that did nothing."""
    trajectory = Trajectory(session_id=agent, trajectory_id=agent, agent_name=agent)
    trajectory.user(instruction)
    if did is not None:
        trajectory.agent(did)
    return trajectory.to_dict()


def _call(made: ToolCall) -> dict[str, Any]:
    arguments = made.arguments if isinstance(made.arguments, dict) else {"_raw": made.arguments}
    return {"tool_call_id": made.call_id, "function_name": made.tool, "arguments": arguments}


def _metrics(usage: Usage) -> dict[str, Any]:
    extra = {"reasoning_tokens": usage.reasoning_tokens, "estimated": usage.estimated}
    return _without_none(
        prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens, cached_tokens=usage.cached_tokens,
        cost_usd=usage.cost_usd, extra=extra | ({"kept": True} if usage.kept_calls else {}),
    )  # fmt: skip


def _without_none(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}

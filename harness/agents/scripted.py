"""Scripted agents: `NopAgent` does nothing, and `ScriptedAgent` plays a fixed list of actions.

An action is one object: {"request": {"method", "target", "headers", "body"}}, {"wait": seconds}, {"submit": text} or {"run":
command}. The list is JSON, so a test or a bug report can contain the exact actions of an agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.agent import Budget, Report
from harness.agents.trajectory import scripted_trajectory
from harness.errors import UsageError
from harness.limits import RECORD_BYTES
from harness.live_agent import Agent
from harness.pod import Pod
from harness.registry import Task
from harness.safe_read import read_given
from worlds.core.errors import WireError
from worlds.core.wire import request


class NopAgent(Agent):
    """Agent that does nothing; its reward must be 0 on every task."""

    name = "nop"
    only_computes = True

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Do nothing, and record an empty trajectory."""
        report.trajectory = scripted_trajectory(self.name, pod.instruction, None)


class ScriptedAgent(Agent):
    """Agent that plays the actions in order; an action that cannot be sent is recorded and skipped."""

    def __init__(self, actions: Sequence[Mapping[str, Any]], name: str = "scripted") -> None:
        self.actions = list(actions)
        self.name = name

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return True if the script contains a command; raises UsageError if the runtime cannot run it."""
        needed = any("run" in action for action in self.actions)
        if needed and runtime == "inprocess":
            hint = "harness doctor, which says why no sandbox works here"
            raise UsageError("a script with run actions needs a sandbox", hint=hint)
        return needed

    def check(self) -> None:
        """Raise UsageError for an action of an unknown kind."""
        for number, action in enumerate(self.actions):
            if len(action) != 1 or next(iter(action)) not in _ACTIONS:
                raise UsageError(f"action {number} must have exactly one of {', '.join(_ACTIONS)}")

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play every action once."""
        for action in self.actions:
            kind, value = next(iter(action.items()))
            report.tool_calls += 1
            try:
                report.log.append(f"{kind}: {_ACTIONS[kind](pod, value)}")
            except WireError as error:
                report.log.append(f"{kind}: not sent: {error}")
        report.trajectory = scripted_trajectory(self.name, pod.instruction, "\n".join(report.log) or "no action")


def _request(pod: Pod, value: Mapping[str, Any]) -> str:
    made = request(
        value.get("method", "GET"), value["target"], headers=dict(value.get("headers", {})), body=value.get("body", "")
    )
    return str(pod.call(made).status)


def _wait(pod: Pod, seconds: float) -> str:
    return str(pod.call(request("POST", "/clock/wait", body=json.dumps({"seconds": seconds}))).status)


def _submit(pod: Pod, body: str) -> str:
    return str(pod.call(request("POST", "/submission", body=body)).status)


def _run(pod: Pod, command: str) -> str:
    done = pod.run(["bash", "-c", command], timeout_s=60)
    return f"exit {done.code}, {len(done.output)} bytes"


_ACTIONS: dict[str, Callable[[Pod, Any], str]] = {"request": _request, "wait": _wait, "submit": _submit, "run": _run}


def read_actions(path: Path) -> list[dict[str, Any]]:
    """Read the actions in a file; raises UsageError unless it is a JSON list of objects."""
    try:
        actions = json.loads(read_given(path, RECORD_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a JSON list of actions: {error}") from None
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise UsageError(f"{path}: not a JSON list of actions")
    return actions

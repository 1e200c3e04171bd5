"""Person who plays a task without seats at the terminal, with the tools of the interface `tool`.

Each entry is one call (`commands`), and its result is shown as to a model. Harness budgets do not apply to a person, but the
world's own steps and virtual time do. /quit ends the episode immediately.
"""

from __future__ import annotations

from typing import Any

from harness.agent import AgentIdentity, Budget, Report
from harness.agents.llm.interface import ActionResult, Hands, Interface, Mistake
from harness.agents.trajectory import ToolCall, Trajectory
from harness.errors import UsageError
from harness.pod import Pod
from harness.registry import Task
from parley.hosting.terminal.commands import HELP, read_command
from parley.hosting.terminal.terminal import Left, Terminal

_LIMIT_S = 600.0
"""Timeout of one request in real seconds."""


class HumanAgent:
    """Agent that is played by a person."""

    name = "human"
    only_computes = False

    def __init__(self, terminal: Terminal) -> None:
        self._terminal, self._interface = terminal, Interface("tool")

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return False; raises UsageError for a task without a tool interface."""
        has = task.parley.interfaces if task.parley else ("shell",)
        if self._interface.name not in has:
            raise UsageError(f"{task.task_id} has no tool interface for a person, it has {', '.join(has)}")
        return self._interface.needs_main(runtime)

    def identity(self) -> AgentIdentity:
        """Return the identity, which is the name alone."""
        return AgentIdentity(name=self.name)

    def check(self) -> None:
        """Raise UsageError without a terminal."""
        self._terminal.check()

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Play one episode, while other episodes wait for the terminal."""
        report.interface = self._interface.name
        trajectory = Trajectory(f"{task.task_id}-s{seed}", f"{task.task_id}-s{seed}-human", self.name)
        trajectory.user(pod.instruction)
        with self._terminal.held:
            try:
                self._acted(pod, self._interface.hands(task, pod), report, trajectory)
            finally:
                report.trajectory = trajectory.to_dict()

    def _acted(self, pod: Pod, hands: Hands, report: Report, trajectory: Trajectory) -> None:
        self._terminal.show(f"\n=== your instruction ===\n\n{pod.instruction.strip()}\n\n{HELP}\n")
        while True:
            try:
                typed = self._terminal.entry()
            except Left:
                typed = "/quit"
            if typed == "/rules":
                self._terminal.show(f"\n{pod.instruction.strip()}\n\n{HELP}\n")
                continue
            if typed == "/quit":
                report.log.append("the person gave up")
                self._terminal.show("You gave up.")
                return
            try:
                tool, arguments = read_command(typed)
                result = hands.act(tool, arguments, _LIMIT_S)
            except Mistake as mistake:
                self._terminal.show(f"{mistake}\n")
                continue
            report.tool_calls += 1
            self._terminal.show(f"\n{result.text}\n")
            _written(trajectory, report.tool_calls, tool, arguments, result)
            report.log.append(f"call {report.tool_calls}: {tool}")
            if result.done:
                return


def _written(trajectory: Trajectory, number: int, tool: str, arguments: dict[str, Any], result: ActionResult) -> None:
    call = f"call-{number}"
    trajectory.agent("", tool_calls=[ToolCall(call, tool, arguments)])
    trajectory.observe(result.text, call)

"""Person who plays a task without seats at the terminal, with the tools of the interface `tool`.

Each entry (`HELP`) makes a tool call that a model could make, and shows the result that a model would get. The address of a
request is sent byte for byte. The harness's budgets do not apply to a person; the world's limits on steps and virtual time do.
"""

from __future__ import annotations

import re
from typing import Any

from harness.agent import Budget, Report
from harness.agents.llm.interface import Interface, Mistake, ToolExecutor
from harness.agents.trajectory import ToolCall, Trajectory
from harness.errors import UsageError
from harness.live_agent import Agent
from harness.pod import Pod
from harness.registry import Task
from parley.hosting.terminal.terminal import QUIT, RULES, Terminal

_LIMIT_S = 600.0
"""Timeout of one request in real seconds."""

BODY = "--"
"""Line that separates headers from the body."""

_REQUEST = re.compile(r"([A-Za-z]+) (\S.*)")
_HEADER = re.compile(r"([^:\s]+):[ \t]*(.*)")

HELP = """\
GET /path               send a request; lines after it are headers (Name: value); after a line -- comes the body
wait SECONDS            let virtual time pass
submit TEXT             hand in the result; this ends the episode
/rules                  read the instruction again
/quit                   give up
An empty line or Ctrl-D sends what you typed; a line that ends with a backslash goes on in the next one."""


class HumanAgent(Agent):
    """Agent that is played by a person."""

    name = "human"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal, self._interface = terminal, Interface("tool")

    def needs_main(self, task: Task, runtime: str) -> bool:
        """Return False; raises UsageError for a task without a tool interface."""
        has = task.parley.interfaces if task.parley else ("shell",)
        if self._interface.name not in has:
            raise UsageError(
                f"{task.task_id} cannot be played at the terminal: it has no tool interface, only {', '.join(has)}"
            )
        return self._interface.needs_main(runtime)

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

    def _acted(self, pod: Pod, hands: ToolExecutor, report: Report, trajectory: Trajectory) -> None:
        self._terminal.show(f"\n=== your instruction ===\n\n{pod.instruction.strip()}\n\n{HELP}\n")
        while True:
            typed = self._terminal.entry()
            if typed == RULES:
                self._terminal.show(f"\n{pod.instruction.strip()}\n\n{HELP}\n")
                continue
            if typed == QUIT:
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
            call = f"call-{report.tool_calls}"
            trajectory.agent("", tool_calls=[ToolCall(call, tool, arguments)])
            trajectory.observe(result.text, call)
            report.log.append(f"call {report.tool_calls}: {tool}")
            if result.done:
                return


def read_command(entry: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of an entry; raises Mistake naming the invalid line."""
    first, _, rest = entry.partition("\n")
    word, _, after = first.strip().partition(" ")
    if word.lower() == "wait":
        return "wait", {"seconds": _seconds(after)}
    if word.lower() == "submit":
        return "submit", {"body": "\n".join(part for part in (after, rest) if part)}
    asked = _REQUEST.fullmatch(first.strip())
    if asked is None:
        raise Mistake(f"{first[:60]!r} is not a command: GET /path, wait SECONDS or submit TEXT")
    head, body = _parted(rest)
    headers = [_header(line) for line in head.splitlines() if line.strip()]
    return "http_request", {"method": asked[1].upper(), "url": asked[2], "headers": headers, "body": body}


def _parted(rest: str) -> tuple[str, str]:
    lines = rest.split("\n")
    if BODY not in lines:
        return rest, ""
    at = lines.index(BODY)
    return "\n".join(lines[:at]), "\n".join(lines[at + 1 :])


def _header(line: str) -> list[str]:
    header = _HEADER.fullmatch(line)
    if header is None:
        raise Mistake(f"{line[:60]!r} is not a header (Name: value); a body comes after a line {BODY}")
    return [header[1], header[2]]


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Mistake(f"wait takes seconds, not {text[:40]!r}") from None

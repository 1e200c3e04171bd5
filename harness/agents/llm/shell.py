"""The `shell` interface: one tool that runs a command in `main`.

Commands run in the task's virtual time and are killed by group at their limit; the model sees head and tail of what they
wrote, with the exact count left out. A plain `bash -c`, not a login shell: login profiles reset PATH, and with it the
`sleep` that moves virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from harness.agents.llm.interface import ActionResult, Hands, Mistake, Tool, definition, head_and_tail, read_tool
from harness.errors import UsageError
from harness.pod import CommandResult, Pod
from harness.registry import Task

SHOWN = 32 * 1024
"""Bytes of a command's output that the model sees."""

LONGEST_S = 600.0


class RunCommand(Tool):
    """Run a command with bash in the sandbox.

    Each call starts a new shell; files stay, variables do not. The answer is the exit code and what the command wrote (stdout
    and stderr together). Of a longer output than 32768 bytes, a quarter of that from its start and the rest from its end are
    shown, with the number of bytes left out.
    """

    command: str = Field(description="The command line, as for `bash -c`.", min_length=1)
    timeout_s: float = Field(
        default=60.0, gt=0, le=LONGEST_S, description="Real seconds after which the command and all it started are killed."
    )


class ShellInterface:
    """A shell in `main`."""

    name = "shell"
    template = "shell.j2"
    tools: Sequence[dict[str, Any]] = (definition("run", RunCommand),)

    def needs_main(self, runtime: str) -> bool:
        """Always; raises UsageError in process."""
        if runtime == "inprocess":
            hint = "--interface tool, or harness doctor, which says what a sandbox lacks here"
            raise UsageError("the shell interface needs a sandbox, and inprocess has none", hint=hint)
        return True

    def hands(self, task: Task, pod: Pod) -> Hands:
        """A shell for one episode; foreign tasks keep real time."""
        return _Shell(pod, virtual_time=task.parley is not None)


class _Shell:
    def __init__(self, pod: Pod, *, virtual_time: bool) -> None:
        self._pod, self._virtual_time = pod, virtual_time

    def act(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> ActionResult:
        if tool != "run":
            raise Mistake(f"there is no tool {tool!r}; there is run")
        asked = read_tool(tool, RunCommand, arguments)
        if "\0" in asked.command:
            raise Mistake("run: command: a command line cannot hold a zero byte")
        limit = min(asked.timeout_s, limit_s)
        command = ["bash", "-c", asked.command]
        return ActionResult(shown(self._pod.run(command, timeout_s=limit, virtual_time=self._virtual_time), limit))


def shown(result: CommandResult, limit_s: float) -> str:
    """What the model is told of a command."""
    ended = f"killed at its limit of {limit_s:g} s" if result.code is None else f"exit code {result.code}"
    head, omitted, tail = head_and_tail(result.output, SHOWN, result.omitted)
    text = head.decode(errors="replace")
    if omitted:
        text += f"\n[{omitted} bytes left out]\n{tail.decode(errors='replace')}"
    return f"[{ended}]\n{text}" if text else f"[{ended}, no output]"

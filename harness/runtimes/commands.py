"""What the host says to the runner inside `main`, and what it believes of the answer.

The runner (docker/agent/parley_run.py) does the work: session, limit, capped output. A runtime starts it by its own means
with `RUNNER`, writes `request(...)` to its stdin, reads at most `ANSWER_CAP` bytes of its stdout, and calls `result`.
The runner lives among the agent's processes, which may kill it or write in its name. Either only spoils what the agent is
told of its own command, so no answer, or a torn one, is the agent's own doing and never fails the episode.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from harness.runtimes.base import OUTPUT_CAP, CommandResult

RUNNER_PATH = "/opt/parley/bin/parley_run.py"
RUNNER = ("python3", "-I", "-S", RUNNER_PATH)

ANSWER_CAP = OUTPUT_CAP + 4096
"""More than any honest answer takes."""

GRACE_S = 10.0
"""How long after a command's limit the runner may take to say so."""

VIRTUAL_TIME = "/opt/parley/bin/virtual-time"
"""Wraps a command so that it reads and moves the world's clock."""

KILLED = 137
"""The code of a command whose runner was killed under it."""


def request(command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = False) -> bytes:
    """The bytes that ask the runner for one command."""
    wrapped = [VIRTUAL_TIME, *command] if virtual_time else list(command)
    asked = {"command": wrapped, "timeout": timeout_s, "cap": OUTPUT_CAP, "stdin": len(stdin)}
    return json.dumps(asked).encode() + b"\n" + stdin


def read_answer(receive: Callable[[], bytes]) -> bytes:
    """All the runner says, up to the cap; `receive` returns nothing at the end."""
    answer = bytearray()
    while len(answer) < ANSWER_CAP and (chunk := receive()):
        answer += chunk
    return bytes(answer[:ANSWER_CAP])


def capped(receive: Callable[[], bytes], cap: int = OUTPUT_CAP) -> tuple[bytes, int]:
    """A whole stream cut as the runner cuts it, for programs that run without one: what is kept, and the bytes left out."""
    head, tail, total = b"", b"", 0
    while chunk := receive():
        total += len(chunk)
        taken = chunk[: cap // 4 - len(head)]
        head, tail = head + taken, (tail + chunk[len(taken) :])[-(cap - cap // 4) :]
    return head + tail, total - len(head) - len(tail)


def result(answer: bytes) -> CommandResult | None:
    """What a command did; None where the runner left no whole answer."""
    head, _, output = answer.partition(b"\n")
    try:
        said = json.loads(head)
        code, omitted, size = said["code"], int(said["omitted"]), int(said["size"])
        whole = CommandResult(None if code is None else int(code), output[:size], omitted)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return whole if len(output) >= size else None

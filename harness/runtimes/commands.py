"""Protocol between the host and the runner in `main`, and validation of the runner's answers.

The runner (docker/agent/parley_run.py) does the work: session, limit, capped output. A runtime starts it with `RUNNER`, writes
`request(...)` to its stdin, reads at most `ANSWER_CAP` bytes of its stdout, and calls `result`. The runner runs among the
agent's processes, which may kill it or write in its name. This only affects what the agent is told about its own command: a
missing, incomplete or invalid answer is the agent's own doing and never fails the episode.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from harness.errors import RuntimeFailure
from harness.pod import OUTPUT_CAP, CommandResult
from harness.runtimes.archives import pack

RUNNER_PATH = "/opt/parley/bin/parley_run.py"
RUNNER = ("python3", "-I", "-S", RUNNER_PATH)

ANSWER_CAP = OUTPUT_CAP + 4096
"""Upper bound of a valid answer in bytes."""

HIGHEST_CODE = 255
"""Highest exit code of a command; one killed by a signal has 128 plus its number."""

MOST_OMITTED = 1 << 53
"""Upper bound of omitted bytes, which every JSON reader still represents exactly."""

GRACE_S = 10.0
"""Seconds after a command's limit within which the runner must report it."""

VIRTUAL_TIME = "/opt/parley/bin/virtual-time"
"""Wrapper that lets a command read and move the world's clock."""

KILLED = 137
"""Exit code of a command whose runner was killed."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """Pack files for `main` into an archive for the runner; raises RuntimeFailure for a path that is not the agent's."""
    for path in files:
        if not path.startswith(("/workspace/", "/tmp/")) or ".." in path.split("/"):
            raise RuntimeFailure(f"files enter main under /workspace or /tmp, not at {path}")
    return pack(files, mode=0o755)


def request(
    command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = False, files: Sequence[bytes] = ()
) -> bytes:
    """Return a request to run one command after unpacking `files`, which are archives."""
    wrapped = [VIRTUAL_TIME, *command] if virtual_time else list(command)
    sizes = [len(archive) for archive in files]
    asked = {"command": wrapped, "timeout": timeout_s, "cap": OUTPUT_CAP, "stdin": len(stdin), "files": sizes}
    return json.dumps(asked).encode() + b"\n" + b"".join(files) + stdin


def read_answer(receive: Callable[[], bytes]) -> bytes:
    """Read the runner's answer, up to the cap; `receive` returns nothing at the end."""
    answer = bytearray()
    while len(answer) < ANSWER_CAP and (chunk := receive()):
        answer += chunk
    return bytes(answer[:ANSWER_CAP])


def capped(receive: Callable[[], bytes], cap: int = OUTPUT_CAP) -> tuple[bytes, int]:
    """Read a whole stream, cut as the runner cuts it, for programs without a runner. Return the kept part and the bytes cut."""
    head, tail, total = b"", b"", 0
    while chunk := receive():
        total += len(chunk)
        taken = chunk[: cap // 4 - len(head)]
        head, tail = head + taken, (tail + chunk[len(taken) :])[-(cap - cap // 4) :]
    return head + tail, total - len(head) - len(tail)


def result(answer: bytes) -> CommandResult | None:
    """Parse the result of a command; return None if the runner's answer is incomplete or invalid."""
    head, _, output = answer.partition(b"\n")
    try:
        said = json.loads(head)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    code, omitted, size = said.get("code", ""), said.get("omitted"), said.get("size")
    if (
        not (code is None or _is_count(code, HIGHEST_CODE))
        or not _is_count(omitted, MOST_OMITTED)
        or not _is_count(size, OUTPUT_CAP)
    ):
        return None
    return CommandResult(code, output[:size], omitted) if len(output) >= size else None


def _is_count(value: object, most: int) -> TypeGuard[int]:
    """Return True if a value is an integer from 0 to `most`; True and 1.0 are not integers."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most

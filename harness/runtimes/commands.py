"""Protocol between the host and the runner in `main`, and validation of the runner's answers.

The runner (docker/agent/parley_run.py) does the work: session, limit, capped output. A runtime starts it with `RUNNER`, writes
`request(...)` to its stdin, reads at most `ANSWER_CAP` bytes of its stdout, and calls `result`. The runner runs among the
agent's processes, which may kill it or write in its name. This only affects the output of its own command: a missing,
incomplete or invalid answer is attributed to the agent and never fails the episode.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError

from harness.errors import RuntimeFailure
from harness.pod import OUTPUT_CAP, CommandResult
from harness.runtimes.archives import pack
from worlds.core.models import Lenient

RUNNER_PATH = "/opt/parley/bin/parley_run.py"
RUNNER = ("python3", "-I", "-S", RUNNER_PATH)

ANSWER_CAP = OUTPUT_CAP + 4096
"""Upper bound of a valid answer in bytes."""

HIGHEST_CODE = 255
"""Highest exit code of a command; one killed by a signal has 128 plus its number."""

MOST_OMITTED = 1 << 53
"""Upper bound of the number of omitted bytes; every JSON reader represents it exactly."""

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
    """Read a whole stream and cut it as the runner does, for programs without a runner; return the rest and the bytes cut."""
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
        said = _RunnerAnswer.model_validate_json(head)
    except ValidationError:
        return None
    return CommandResult(said.code, output[: said.size], said.omitted) if len(output) >= said.size else None


class _RunnerAnswer(Lenient, strict=True):
    """First line of an answer; `strict`, because True and 1.0 are no integers."""

    code: Annotated[int, Field(ge=0, le=HIGHEST_CODE)] | None
    omitted: Annotated[int, Field(ge=0, le=MOST_OMITTED)]
    size: Annotated[int, Field(ge=0, le=OUTPUT_CAP)]

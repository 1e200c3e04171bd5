"""A recorded play of the folder's own solution: its requests, their answers and its files.

1. A solution in Parley's format is code of the folder, so it runs in `main`, in a program that gives it a recording client. In
games the turn routes are open in `main`, as under Harbor. If the folder has only a plan, the family's player plays the plan.
2. A foreign folder's solution/solve.sh runs behind a small proxy, if `main` has python3. The files that it made are read
   afterwards: every file newer than its start, and every declared artifact.
3. The listening ports of `main` are listed before the solution starts.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from harness.agent import Budget
from harness.agents.solutions import IN_MAIN, OWN, UNDER_HARBOR
from harness.errors import RuntimeFailure
from harness.plugins import family_part
from harness.pod import Pod
from harness.registry import Task, contents_of
from parley.interop.foreign.variables import solution_environment
from parley.proof.attacks.scripts import script, shell
from worlds.core.wire import WireRequest, WireResponse

SLICE = 45_000
"""Bytes per read; in base64 they fit the limit for a command's output."""

MOST = 4 << 20
"""Maximum bytes read of one file."""


class RecordedExchange(NamedTuple):
    """A request, the service it was sent to, and its answer."""

    host: str
    port: int
    request: WireRequest
    answer: WireResponse


def read_out(pod: Pod, path: str, most: int = MOST) -> bytes:
    """Return a file of `main`, or its first `most` bytes; empty if it cannot be read."""
    data = b""
    while len(data) < most:
        done = shell(pod, f"tail -c +{len(data) + 1} {path} | head -c {SLICE} | base64 -w0")
        try:
            part = base64.b64decode(done.output, validate=True)
        except binascii.Error:
            break
        data += part
        if len(part) < SLICE:
            break
    return data


def exchanges_of(data: bytes) -> tuple[RecordedExchange, ...]:
    """Parse the exchanges written by record-solution or the proxy, skipping other lines."""
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    exchanges = []
    for line in data.splitlines():
        if line.startswith(b"["):
            host, port, (method, target, headers, body), (status, said, content) = json.loads(line)
            asked = WireRequest(method, target.encode(), _pairs(headers), base64.b64decode(body))
            exchanges.append(RecordedExchange(host, port, asked, WireResponse(status, _pairs(said), base64.b64decode(content))))
    return tuple(exchanges)


def lines_of(exchanges: Iterable[RecordedExchange]) -> bytes:
    """Return exchanges in the format that in-main/resend reads."""
    lines = []
    for host, port, request, answer in exchanges:
        body, content = (base64.b64encode(one.body).decode() for one in (request, answer))
        asked = [request.method, request.target.decode(), list(request.headers), body]
        lines.append(json.dumps([host, port, asked, [answer.status, list(answer.headers), content]]) + "\n")
    return "".join(lines).encode()


def _pairs(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in headers)


_DERIVED = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
"""Headers that a transport adds by itself."""

_LISTENING = re.compile(rb"^listening (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Recording:
    """Requests and files of the solution in one episode."""

    exchanges: tuple[RecordedExchange, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    listening: frozenset[int] = frozenset()
    """Ports on which `main` listened before the solution began."""

    reward: float = 0.0
    note: str = ""
    """A note on what could not be recorded."""


def record_solution(task: Task, pod: Pod, budget: Budget) -> Recording:
    """Play the folder's own solution once, in the agent's container."""
    return _in_main(task, pod, budget) if task.parley else record_work(task, pod, budget)


def solution_files(task: Task) -> dict[str, bytes]:
    """Return the solution's files by their path in `main`."""
    where = IN_MAIN if task.parley else UNDER_HARBOR
    return {f"{where}/{name}": file.data for name, file in contents_of(task.path, "solution").items()}


def record_work(task: Task, pod: Pod, budget: Budget) -> Recording:
    """Run a foreign folder's solution in `main`, with the variables of [solution.env]."""
    programs = {f"/tmp/parley-{name}": script(name).encode() for name in ("proxy", "collect", "record-work", "ports")}
    pod.put(programs)
    listening = frozenset(int(port) for port in _LISTENING.findall(shell(pod, "bash /tmp/parley-ports --").output))
    pod.put(solution_files(task))
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in solution_environment(task).items())
    sources = " ".join(shlex.quote(one.source) for one in task.file.artifacts if (one.service or "main") == "main")
    limit = budget.seconds(game=False)
    done = shell(pod, f"env {given} bash /tmp/parley-record-work {int(limit)} {sources}", limit + 30)
    if done.code is None:
        raise RuntimeFailure("the solution did not end in time")
    said, made = read_out(pod, "/tmp/parley-said"), read_out(pod, "/tmp/parley-made", 4 * MOST)
    # as in-main/collect writes them, without a truncated last line
    pairs = (line.split(b" ") for line in made.split(b"\n")[:-1])
    files = {base64.b64decode(name).decode("utf-8", "replace"): base64.b64decode(data) for name, data in pairs}
    return Recording(exchanges_of(said), files, listening, note=done.output.decode("utf-8", "replace").strip())


def _in_main(task: Task, pod: Pod, budget: Budget) -> Recording:
    programs = {"/tmp/parley-record": script("record-solution").encode(), f"{IN_MAIN}/instruction.md": pod.instruction.encode()}
    if not (task.path / OWN).exists():
        player = Path(str(family_part(task.family, "player").__file__))
        programs[f"{IN_MAIN}/player.py"] = player.read_bytes()
    pod.put({**solution_files(task), **programs})
    command = ["python3", "-B", "/tmp/parley-record", IN_MAIN, "/tmp/parley-said"]
    done = pod.run(command, timeout_s=budget.seconds(game=False), virtual_time=False)
    if done.code != 0:
        raise RuntimeFailure(f"the solution failed: {done.output[-300:].decode('utf-8', 'replace').strip()}")
    exchanges = []
    for one in exchanges_of(read_out(pod, "/tmp/parley-said")):
        kept = tuple((name, value) for name, value in one.request.headers if name.lower() not in _DERIVED)
        exchanges.append(one._replace(request=one.request._replace(headers=kept)))
    return Recording(tuple(exchanges))

"""Protocols of runtimes and pods: a runtime opens pods, and judges the event log of each finished pod.

A pod is one episode: a world, its bridge, and, for agents that need a shell, `main`. All runtimes guarantee:
1. Only `Pod.call` (raw bytes to the world) and `Pod.run` (a command in `main`) affect the world and `main`.
2. `Pod.finish` kills every process of `main` before it fetches the log.
3. Closing a pod kills its processes immediately and leaves nothing behind.
4. `Runtime.judge` runs the task's hidden tests in a place where no agent code ever ran.
Failures are raised as RuntimeFailure, WorldFailure or VerifierFailure, so that they are attributed to the right part.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from harness.errors import VerifierFailure
from harness.orphans import Orphan
from harness.registry import Task
from worlds.core.chance import PUBLISHED_KEY
from worlds.core.levels import FIRST, LEVEL
from worlds.core.manifest import OptionValue
from worlds.core.wire import WireRequest, WireResponse

OUTPUT_CAP = 64 * 1024
"""Bytes of a command's output that are kept: the first quarter from its start, the rest from its end."""


ROOMS = ("agent", "world", "verifier")
TESTS_ROOM = "tests"
"""Image that adds the hidden tests of many tasks to the verifier, for runners that build no images."""

"""Images that pods and their verification use."""

NO_POLICY, ENGINE_POLICY = "none", "engine"
"""Values in place of the digest of our system call policy if that policy does not apply."""

Say = Callable[[str], object]
"""Callback that prints one line for people."""


@dataclass(frozen=True)
class EpisodeSpec:
    """Arguments for opening one episode in a runtime."""

    run_id: str
    episode_id: str
    task: Task
    seed: int
    key: str = PUBLISHED_KEY
    overrides: Mapping[str, OptionValue] = field(default_factory=dict)
    needs_main: bool = False
    note: str = ""
    """Text that the harness appends to the instruction, such as the coaching note of a retry."""

    open_turns: bool = False
    """True if a game accepts turns from `main`, as under Harbor, where one script plays every seat."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace the family's own, by file name."""

    host_token: str | None = None
    """Token for host-only routes. If None, the runtime generates one; only the attacks on seats set it."""

    record_wire: bool = False
    """True to record every model call, not only those before a failure."""

    @property
    def leveled(self) -> Task:
        """Task with the budgets of the spec's level."""
        return self.task.at(int(self.overrides.get(LEVEL, FIRST)))


def world_variables(spec: EpisodeSpec, token: str) -> dict[str, str]:
    """Return the environment variables that tell a world's process which episode it serves (worlds.core.serve)."""
    said = {"SEED": str(spec.seed), "KEY": spec.key, "OPTIONS": json.dumps(dict(spec.overrides)), "HOST_TOKEN": token}
    said |= {"OPEN_TURNS": "1"} if spec.open_turns else {}
    said |= {"TEXTS": json.dumps(dict(spec.texts))} if spec.texts else {}
    return {f"PARLEY_{name}": value for name, value in said.items()}


@dataclass(frozen=True)
class CommandResult:
    """Result of a command in `main`: `output` is stdout and stderr together, `omitted` the number of bytes cut from its middle.

    `code` is None if the command was killed at its time limit.
    """

    code: int | None
    output: bytes
    omitted: int = 0


@dataclass(frozen=True)
class Judgement:
    """Output of the verifier: `reward.json`, `verdict.json` and its own output, as bytes."""

    reward: bytes
    verdict: bytes
    log: bytes = b""


@dataclass(frozen=True)
class Probe:
    """Availability of a runtime on this host, with one clause that says why."""

    ok: bool
    why: str
    missing: bool = False
    """True if the runtime may only need `set_up`."""


class Pod(Protocol):
    """Open episode in a runtime."""

    instruction: str
    """Instruction as the world renders it for this seed."""

    has_main: bool
    """True if there is a `main` to run commands in."""

    def call(self, request: WireRequest) -> WireResponse:
        """Send one request to the world; raises WireError, WorldFailure (the world is gone), RuntimeFailure."""
        ...

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send a request with the token that opens host-only routes; raises as `call` does."""
        ...

    def stop(self, cause: str) -> None:
        """Tell the world to log a `stop`, because a budget that only the harness counts is used up."""
        ...

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main`, in a new session, killed by group at `timeout_s` real seconds."""
        ...

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files (absolute paths under /workspace or /tmp) into `main`, owned by the agent.

        The files may be sent with the next command, which then fails if they cannot be written. Raises RuntimeFailure for an
        invalid path.
        """
        ...

    def finish(self) -> bytes:
        """Kill `main`, then return the event log's bytes; raises WorldFailure if the world died before that."""
        ...


class Runtime(Protocol):
    """Backend that runs episodes: `docker`, `bubblewrap` or `inprocess`."""

    name: str

    plays_in_process: bool
    """True if its episodes run as pure Python (`harness.episode.run_in_process`), so that another process may play them."""

    def probe(self) -> Probe:
        """Check whether the runtime works here by running the commands of a pod; never raises."""
        ...

    def set_up(self) -> None:
        """Build the common requirements of all episodes, once; raises RuntimeFailure if that fails."""
        ...

    def refuses(self, task: Task) -> str | None:
        """Return the reason why this runtime cannot run a task, or None. Called before anything starts."""
        ...

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Build what the tasks require (idempotent), and return image digests or similar ids by name, for the record."""
        ...

    def open(self, spec: EpisodeSpec) -> AbstractContextManager[Pod]:
        """Open a pod that is ready to answer. Leaving the context always removes it."""
        ...

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Run the task's hidden tests on a log, after `finish`; raises VerifierFailure if they leave no verdict."""
        ...

    def syscalls(self, task: Task) -> str:
        """Return the digest of the system call policy for a task: `none` without one, `engine` for Docker's own."""
        ...

    def limits(self) -> str:
        """Return what this runtime cannot limit or report here, in one clause for `doctor`; empty if there is nothing."""
        ...

    def leftovers(self) -> list[Orphan]:
        """Return the resources that a sweep would remove now, without removing them."""
        ...

    def sweep(self) -> list[str]:
        """Remove resources of dead runs (never those of a live one), and return their names."""
        ...

    def abort(self, run_id: str) -> None:
        """Kill everything that belongs to a run, from any thread; used on Ctrl-C."""
        ...


class BulkRuntime(Runtime, Protocol):
    """Runtime that can judge many episodes in one call."""

    def judge_all(self, cases: Sequence[tuple[Task, bytes]]) -> list[Judgement | VerifierFailure]:
        """Run the hidden tests on each log and return the results."""
        ...


class SandboxedRuntime(Runtime, Protocol):
    """Runtime that isolates code from this host: `docker` or `bubblewrap`."""

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """Run a program in a sandbox with our packages, without network and files of this host, and return its stdout.

        Raises RuntimeFailure if it fails, prints more than `most` bytes, or is killed after `limit_s` real seconds.
        """
        ...

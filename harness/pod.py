"""One protocol, three small classes: a runtime opens pods, and judges the log that a pod leaves behind.

A pod is one episode: a world, its bridge, and, for agents that need hands, `main`. All runtimes keep these promises:
1. `Pod.call` sends raw bytes to the world; `Pod.run` runs a command in `main`; nothing else touches them.
2. `Pod.finish` kills `main` first and only then takes the log out; no process of `main` outlives it.
3. Closing a pod kills, never waits for a polite stop, and leaves nothing behind.
4. `Runtime.judge` runs the task's hidden tests where no agent code ever ran.
Failures are RuntimeFailure, WorldFailure or VerifierFailure, so that an episode is attributed to the boundary it crossed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from harness.errors import VerifierFailure
from harness.leftovers import Leftover
from harness.registry import Task
from worlds.core.chance import PUBLISHED_KEY
from worlds.core.levels import FIRST, LEVEL
from worlds.core.manifest import OptionValue
from worlds.core.wire import WireRequest, WireResponse

OUTPUT_CAP = 64 * 1024
"""Bytes of a command's output that are kept: the first quarter and the last three."""


ROOMS = ("agent", "world", "verifier")
TESTS_ROOM = "tests"
"""The image that brings the hidden tests of many tasks on top of the verifier, for runners that build none."""

"""What a pod and its judgement are made of."""

NO_POLICY, ENGINE_POLICY = "none", "engine"
"""What stands in the place of the digest of our policy of system calls where it does not hold."""

Say = Callable[[str], object]
"""Hears one line for a person."""


@dataclass(frozen=True)
class EpisodeSpec:
    """What a runtime needs to open one episode."""

    run_id: str
    episode_id: str
    task: Task
    seed: int
    key: str = PUBLISHED_KEY
    overrides: Mapping[str, OptionValue] = field(default_factory=dict)
    needs_main: bool = False
    note: str = ""
    """What the harness adds to the instruction: a coaching note on a retry."""

    open_turns: bool = False
    """Whether a game takes its turns from `main`, as under Harbor: one script there holds every seat."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand in the place of the family's own, by the names of their files."""

    host_token: str | None = None
    """What opens host-only routes; None lets the runtime draw it, which is right for all but attacks on the seats."""

    record_wire: bool = False
    """Whether every model call is recorded, not only those before a failure."""

    @property
    def leveled(self) -> Task:
        """The task as its player meets it: with the budgets of the level that is played."""
        return self.task.at(int(self.overrides.get(LEVEL, FIRST)))


def world_variables(spec: EpisodeSpec, token: str) -> dict[str, str]:
    """The variables by which a world's process knows which episode it is (worlds.core.serve)."""
    said = {"SEED": str(spec.seed), "KEY": spec.key, "OPTIONS": json.dumps(dict(spec.overrides)), "HOST_TOKEN": token}
    said |= {"OPEN_TURNS": "1"} if spec.open_turns else {}
    said |= {"TEXTS": json.dumps(dict(spec.texts))} if spec.texts else {}
    return {f"PARLEY_{name}": value for name, value in said.items()}


@dataclass(frozen=True)
class CommandResult:
    """What a command in `main` did: `output` is stdout and stderr together, `omitted` the bytes left out of its middle.

    `code` is None when the command was killed at its limit.
    """

    code: int | None
    output: bytes
    omitted: int = 0


@dataclass(frozen=True)
class Judgement:
    """What the verifier wrote: `reward.json`, `verdict.json` and its own output, as bytes."""

    reward: bytes
    verdict: bytes
    log: bytes = b""


@dataclass(frozen=True)
class Probe:
    """Whether a runtime works here, and the one clause that says why or why not."""

    ok: bool
    why: str
    missing: bool = False
    """Whether `set_up` may be all that is missing."""


class Pod(Protocol):
    """One open episode."""

    instruction: str
    """The world's own rendering for this seed."""

    has_main: bool
    """Whether there is a `main` to run commands in."""

    def call(self, request: WireRequest) -> WireResponse:
        """Send one request to the world; raises WireError, WorldFailure (the world is gone), RuntimeFailure."""
        ...

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send a request with the token that opens host-only routes; raises as `call` does."""
        ...

    def stop(self, cause: str) -> None:
        """Tell the world, with a logged `stop`, that a budget only the harness counts ran out."""
        ...

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main`, in a new session, killed by group at `timeout_s` real seconds."""
        ...

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files (absolute paths under /workspace or /tmp) into `main`, owned by the agent.

        They may travel with the next command, which then fails where they cannot be written. Raises RuntimeFailure for a path.
        """
        ...

    def finish(self) -> bytes:
        """Kill `main`, then return the event log's bytes; raises WorldFailure if the world died before that."""
        ...


class Runtime(Protocol):
    """A way to run episodes: `docker`, `bubblewrap` or `inprocess`."""

    name: str

    plays_in_process: bool
    """Whether its episodes are Python of this process alone (`play.episode.run_in_process`), so that another may play them."""

    def probe(self) -> Probe:
        """Whether it works here, decided by running a pod's worth of it; never raises."""
        ...

    def set_up(self) -> None:
        """Build what every episode needs, once; raises RuntimeFailure where that cannot be had."""
        ...

    def refuses(self, task: Task) -> str | None:
        """Why this runtime cannot run a task, or None; asked before anything starts."""
        ...

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Build what the tasks need (idempotent) and return image digests or the like by name, for the record."""
        ...

    def open(self, spec: EpisodeSpec) -> AbstractContextManager[Pod]:
        """A pod, ready to answer; closing the context removes it whatever happened inside."""
        ...

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Run the task's hidden tests over a log, after `finish`; raises VerifierFailure when they leave no verdict."""
        ...

    def syscalls(self, task: Task) -> str:
        """The digest of the policy of system calls that holds for a task; `none` without one, `engine` for Docker's own."""
        ...

    def limits(self) -> str:
        """What this runtime cannot limit or show here, in one clause for `doctor`; empty where there is nothing to say."""
        ...

    def leftovers(self) -> list[Leftover]:
        """What a sweep would remove now; nothing is changed."""
        ...

    def sweep(self) -> list[str]:
        """Remove what dead runs left behind (never what a live one owns) and name it."""
        ...

    def abort(self, run_id: str) -> None:
        """Kill everything that belongs to a run, from any thread; used on Ctrl-C."""
        ...


class BulkRuntime(Runtime, Protocol):
    """The runtime of this process, which judges many episodes at once."""

    def judge_all(self, cases: Sequence[tuple[Task, bytes]]) -> list[Judgement | VerifierFailure]:
        """What the hidden tests say of each log."""
        ...


class SandboxedRuntime(Runtime, Protocol):
    """A runtime that keeps code away from this host: `docker` or `bubblewrap`."""

    def confined(self, run_id: str, command: Sequence[str], stdin: bytes, *, limit_s: float, most: int) -> bytes:
        """What a program says on stdout in the prover's room: our packages, no network, no file of this host.

        Raises RuntimeFailure where it fails, says more than `most` bytes, or is killed at `limit_s` real seconds.
        """
        ...

"""In-process runtime without a sandbox: the world's app is called directly, thousands of requests a second.

It is used for the checks of oracles and wrong clients, agents with the tool interface, seats and training loops. There is no
`main`, and so no shell. Task code is imported into this process, so only folders allowed by `harness.trust` are opened. An
agent's code is not isolated here, because agents only submit bytes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from harness.errors import RuntimeFailure, VerifierFailure
from harness.orphans import Orphan
from harness.pod import NO_POLICY, CommandResult, EpisodeSpec, Judgement, Pod, Probe
from harness.registry import Task
from harness.runtimes.judging import judge_all, judge_together
from harness.trust import require, runs_here
from worlds.core.loading import open_world
from worlds.core.testing import InProcess
from worlds.core.wire import HOST_HEADER, WireRequest, WireResponse, request


class InProcessPod:
    """Episode whose world runs in this process."""

    has_main = False

    def __init__(self, spec: EpisodeSpec) -> None:
        require(spec.task)
        self._token = spec.host_token or secrets.token_hex(16)
        folder = spec.task.world_folder
        world = open_world(
            folder, seed=spec.seed, key=spec.key, overrides=spec.overrides, host_token=self._token, open_turns=spec.open_turns,
            texts=spec.texts,
        )  # fmt: skip
        self._world = InProcess(world)
        self.instruction = world.instruction

    def call(self, request: WireRequest) -> WireResponse:
        """Send one request to the world."""
        return self._world(request)

    def call_as_host(self, request: WireRequest) -> WireResponse:
        """Send a request with the token that opens host-only routes; raises as `call` does."""
        return self._world.send(request.with_header(HOST_HEADER, self._token))

    def stop(self, cause: str) -> None:
        """Log a `stop` with its cause."""
        self.call_as_host(request("POST", "/stop", body=f'{{"cause":"{cause}"}}'))

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Raise RuntimeFailure, because there is no `main` to run a command in."""
        raise RuntimeFailure("the in-process runtime runs no commands", hint="harness run ... --runtime bubblewrap")

    def put(self, files: Mapping[str, bytes]) -> None:
        """Raise RuntimeFailure, because there is no `main` to put files into."""
        raise RuntimeFailure("the in-process runtime runs no commands", hint="harness run ... --runtime bubblewrap")

    @property
    def failure(self) -> Exception | None:
        """Exception of the world, if it failed by itself."""
        return self._world.app.referee.failure

    def finish(self) -> bytes:
        """Return the log."""
        return self._world.log.dump()


class InProcessRuntime:
    """Runtime that is always available."""

    name = "inprocess"
    plays_in_process = True

    def probe(self) -> Probe:
        """Return a probe that is always successful."""
        return Probe(True, "needs nothing, isolates nothing")

    def set_up(self) -> None:
        """Do nothing, because there is nothing to build."""

    def refuses(self, task: Task) -> str | None:
        """Return a reason for a foreign task, which has no world, and for untrusted code without `--trust`; otherwise None."""
        if task.parley is None:
            return f"{task.path}/task.toml:1: a foreign Harbor task needs Docker"
        if not runs_here(task):
            return f"{task.path} is not a built-in task, so its code needs a sandbox, or --trust"
        return None

    def prepare(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        """Return no images, because there is nothing to build."""
        return {}

    @contextmanager
    def open(self, spec: EpisodeSpec) -> Iterator[Pod]:
        """Open a new world."""
        yield InProcessPod(spec)

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Judge a log in this process, in one pytest session with others that are waiting."""
        return judge_together(spec.task, log)

    def judge_all(self, cases: Sequence[tuple[Task, bytes]]) -> list[Judgement | VerifierFailure]:
        """Judge all logs in shared pytest sessions."""
        return judge_all(cases)

    def syscalls(self, task: Task) -> str:
        """Return `none`, because code runs in this process without a policy."""
        return NO_POLICY

    def limits(self) -> str:
        """Return a clause that says that nothing is limited."""
        return "runs task code in this process; agents without a shell only"

    def leftovers(self) -> list[Orphan]:
        """Return nothing, because this runtime leaves nothing behind."""
        return []

    def sweep(self) -> list[str]:
        """Return nothing, because there is nothing to remove."""
        return []

    def abort(self, run_id: str) -> None:
        """Do nothing, because this runtime has no state between calls."""

"""Pod of one episode in Docker: the world with its bridge, and `main` in the same network namespace, loopback only.

`api` is 127.0.0.1 in a namespace without any other interface: no bridge network, no egress. Containers drop all capabilities,
may gain none, and have limits on memory, processes and CPU; roots are read-only except for sized tmpfs. The world writes its
clock into a small volume that `main` sees read-only. The first process of `main` belongs to a separate user, so an agent that
kills all its processes does not end its container. Each container has a deadline, in case no process is left to remove it. Two
operations that take 0.1 s of CPU each are avoided: the bridge runs as the world's first child, on the container's own streams,
and returns the log; and files for `main` are sent with the next command.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from harness.errors import RuntimeFailure, WorldFailure
from harness.pod import CommandResult, EpisodeSpec, world_variables
from harness.runtimes import commands
from harness.runtimes.bridge import Bridge, BridgedPod
from harness.runtimes.docker.engine.client import (
    SETTLE_PAUSE_S,
    SETTLE_TRIES,
    Check,
    Engine,
    Streams,
    deadline_s,
    fresh_name,
    hardened,
    labels,
)
from worlds.core.wire import WireRequest, WireResponse

AGENT, NOBODY, VERIFIER = "1000:1000", "65534:65534", "1002:1002"
CLOCK = "/run/parley"
LOG = "/state/events.jsonl"
LOG_LIMIT = 64 << 20
WORLD_PLACES = {"/tmp": "size=16m", "/state": "nosuid,nodev,noexec,size=96m,uid=1001,gid=1001,mode=0700"}
"""Folders that the world may write: its log is in memory, and ends with it."""

WORLD_MB, VERIFIER_MB, MAIN_MB = 1024, 1024, 2048
_UNLOGGED = {"Type": "none", "Config": {}}
_TMPFS = "exec,nosuid,nodev,size=256m,nr_inodes=65536"
"""Options of a tmpfs with one inode per page, because empty files take memory that the size does not count."""

# A container at its limit of processes sometimes refuses an exec; this failure is Docker's, not the command's.
_EXEC_TRIES, _EXEC_PAUSE_S = 3, 0.3
T = TypeVar("T")


class DockerPod(BridgedPod):
    """Open episode of a task of ours."""

    def __init__(
        self, engine: Engine, spec: EpisodeSpec, images: Mapping[str, str], *, pool: Executor, check: Check, cpus: float,
        wall_s: float,
    ) -> None:  # fmt: skip
        """Prepare the pod; `check` is called after each creation of a resource, and raises if the run was aborted meanwhile."""
        super().__init__(spec)
        self._engine, self._images, self._pool, self._check, self._cpus = engine, images, pool, check, cpus
        self._deadline = str(deadline_s(spec.task, wall_s))
        self._world = self._main = self._clock = ""
        self._streams: Streams | None = None
        self._bridge: Bridge | None = None
        self._delivery = threading.Lock()

    def start(self) -> None:
        """Create and start everything, and return when the world has answered."""
        if self._spec.needs_main:
            self._clock = fresh_name("clock")
            with self._engine.doing("creating the clock volume") as api:
                api.create_volume(self._clock, labels=labels(self._spec))
        self._world = self._create_world()
        self._check()
        self._streams = self._engine.attach(self._world)
        self._engine.start(self._world)
        main: Future[None] | None = self._pool.submit(self._start_main) if self._spec.needs_main else None
        try:
            self._bridge = Bridge(self._streams.frames.send, self._streams.frames.receive)
            self._asking(self._bridge.wait_ready)
            self.instruction = self._read_instruction()
        finally:
            if main is not None:
                main.result()

    def call(self, made: WireRequest) -> WireResponse:
        """Send one request to the world; raises WireError, WorldFailure (the world is gone), RuntimeFailure."""
        bridge = self._open_bridge()
        return self._asking(lambda: bridge.call(made))

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main`, in a new session, killed by group at `timeout_s` real seconds."""
        if not self._main:
            raise RuntimeFailure("this episode was opened without main", hint="EpisodeSpec(needs_main=True)")
        asked = partial(commands.request, command, timeout_s=timeout_s, stdin=stdin, virtual_time=virtual_time)
        with self._delivery:
            # files are sent with one command; a concurrent one waits, because it would run without them
            files, self._pending = self._pending, []
            if files:
                return self._tried(command, asked(files=files), timeout_s)
        return self._tried(command, asked(), timeout_s)

    def _tried(self, command: Sequence[str], asked: bytes, timeout_s: float) -> CommandResult:
        """Return the result of a command, retried if `main` is too full to start it."""
        for _ in range(_EXEC_TRIES):
            try:
                result = self._run(asked, timeout_s)
            except RuntimeFailure:
                # only the agent can use up the memory of `main`
                state = self._engine.state(self._main)
                if state["Running"] or not state.get("OOMKilled"):
                    raise
                return CommandResult(commands.KILLED, b"this machine ran out of memory and is gone\n")
            if result is not None:
                return result
            time.sleep(_EXEC_PAUSE_S)
        # Docker works, but `main` cannot start another process; the agent caused that.
        return CommandResult(commands.KILLED, f"{command[0]} cannot be started, {_EXEC_TRIES} times\n".encode())

    def finish(self) -> bytes:
        """Kill `main`, take the event log, which no process can extend any more, and kill the world."""
        if self._main:
            self._engine.remove(self._main)
        self._main = ""
        self.call(WireRequest("GET", b"/healthz"))
        bridge = self._open_bridge()
        log = self._asking(lambda: bridge.log(LOG_LIMIT))
        if not log:
            raise WorldFailure("the world left no event log")
        self._engine.kill(self._world)
        return log

    def close(self) -> bool:
        """Kill and remove everything of this pod; safe to call twice; return False if something is still in use."""
        if self._streams is not None:
            self._streams.close()
            self._streams = None
        for container in filter(None, (self._main, self._world)):
            self._engine.remove(container)
        gone = not self._clock or self._engine.remove_volume(self._clock)
        self._main = self._world = self._clock = ""
        return gone

    def _create_world(self) -> str:
        environment = {**world_variables(self._spec, self._token), "PARLEY_BRIDGE": "1"}
        mounts = [f"{self._clock}:{CLOCK}"] if self._clock else []
        alone = {"network_mode": "none", "extra_hosts": {"api": "127.0.0.1"}, "read_only": True, "binds": mounts}
        return self._engine.create(
            self._images["world"], ["timeout", "-s", "KILL", self._deadline, "python3", "-m", "worlds.core.serve"],
            host=hardened(WORLD_MB, self._cpus, tmpfs=WORLD_PLACES, log_config=_UNLOGGED, **alone),
            hostname="api", stdin_open=True, environment=environment, labels=labels(self._spec), name=fresh_name("world"),
        )  # fmt: skip

    def _start_main(self) -> None:
        environment = self._spec.task.file.environment
        shared = {"network_mode": f"container:{self._world}", "read_only": True, "binds": [f"{self._clock}:{CLOCK}:ro"]}
        places = {"/workspace": f"{_TMPFS},uid=1000,gid=1000,mode=0755", "/tmp": f"{_TMPFS},mode=1777"}
        cpus = min(environment.cpus or self._cpus, self._cpus)
        main = self._engine.create(
            self._images["agent"], ["/usr/bin/sleep", self._deadline], user=NOBODY, environment=dict(environment.env),
            host=hardened(environment.memory_mb or MAIN_MB, cpus, tmpfs=places, **{**shared, "log_config": _UNLOGGED}),
            labels=labels(self._spec), name=fresh_name("main"), entrypoint=[],
        )  # fmt: skip
        self._main = main
        self._check()
        self._engine.start(main)

    def _run(self, asked: bytes, timeout_s: float) -> CommandResult | None:
        """Start the runner once; return None if Docker could not start it."""
        with closing(self._engine.execute(self._main, commands.RUNNER, user=AGENT, workdir="/workspace")) as runner:
            try:
                runner.limit(timeout_s + commands.GRACE_S)
                runner.frames.send(asked)
                answer = commands.read_answer(runner.frames.receive)
            except TimeoutError:
                return CommandResult(None, b"")
            except OSError:
                answer = b""
        if (result := commands.result(answer)) is not None:
            return result
        return CommandResult(commands.KILLED, runner.frames.stderr) if runner.started() else None

    def _open_bridge(self) -> Bridge:
        if self._bridge is None:
            raise RuntimeFailure("the pod is not open")
        return self._bridge

    def _asking(self, ask: Callable[[], T]) -> T:
        """Call the world; on failure, report the state of its container."""
        try:
            return ask()
        except WorldFailure as failure:
            state = self._final_state()
            if state["Running"]:
                raise
            said = self._streams.frames.stderr.decode("utf-8", "replace").strip()[-600:] if self._streams else ""
            ended = f"{state['ExitCode']}{' (out of memory)' if state.get('OOMKilled') else ''}"
            raise WorldFailure(f"{failure}; its container ended with {ended}: {said or 'no output'}") from None

    def _final_state(self) -> dict[str, Any]:
        """Return the world's final state. Its bridge ends shortly before Docker notices that the container has."""
        for _ in range(SETTLE_TRIES):
            state = self._engine.state(self._world)
            if not state["Running"]:
                break
            time.sleep(SETTLE_PAUSE_S)
        return state

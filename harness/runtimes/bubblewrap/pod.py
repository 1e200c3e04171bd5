"""Pod of one episode: an outer sandbox with its own network that contains the world and `main`.

1. The outer sandbox is forked from a template that has imported what worlds import. It has only a loopback interface. Programs
started in it join that network, so `api` is 127.0.0.1 there and port 8080 belongs to the pod. Its PID 1 starts two inner
sandboxes, the world's by a fork and `main` by bwrap, and everything ends with it.
2. Each inner sandbox has its own PID 1, which starts the world and its bridge, or the agent's commands. Secrets are sent over
the socket of the world's PID 1 into its environment, never on a command line and never through the template.
3. All start messages are sent immediately, and wait in their sockets until their receivers are ready.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from harness.errors import RuntimeFailure, WorldFailure
from harness.pod import CommandResult, EpisodeSpec, world_variables
from harness.runtimes import commands
from harness.runtimes.bridge import Bridge, BridgedPod
from harness.runtimes.bubblewrap import rooms
from harness.runtimes.bubblewrap.bounds import Machine, Watcher, entrances, new_group
from harness.runtimes.bubblewrap.cgroups import Cgroup
from harness.runtimes.bubblewrap.environments import Environments
from harness.runtimes.bubblewrap.folders import Folder
from harness.runtimes.bubblewrap.sandbox import Branch, Control, null
from harness.runtimes.bubblewrap.templates import Template, template
from worlds.core.wire import WireRequest, WireResponse

KILL_LIMIT_S = 120.0
"""Real seconds for a kill: the kernel needs a long time to free millions of files in memory, which an agent may leave."""

NOTICE_LIMIT_S = 0.2
"""Seconds in which a world or a sandbox should end after its last message."""

CHUNK = 65_536
COMPLAINT = 2048
"""Bytes of the runner's own error output that are kept."""

T = TypeVar("T")


class BubblewrapPod(BridgedPod):
    """Open episode of a task of ours."""

    def __init__(self, spec: EpisodeSpec, environments: Environments, watcher: Watcher) -> None:
        super().__init__(spec)
        self._environments = environments
        memory = rooms.memory_of(spec.task)
        self._folder = Folder.make()
        self._outer, self._world, self._main = Control(), Control(), Control()
        self._template: Template | None = None
        self._sandbox: Branch | None = None
        self._link, self._far_link = socket.socketpair()
        self._bridge = Bridge(self._link.sendall, lambda: self._link.recv(CHUNK))
        self._world_group = new_group(rooms.WORLD_MB)
        self._machine = Machine(memory, watcher, self._main.process, lambda: self._outer.kill("main"))

    def start(self) -> None:
        """Start everything, and return when the world has answered."""
        self._template = template(self._environments, "world")
        with self._folder.log("sandbox.log") as said, null() as nothing:
            self._outer.configure()
            self._asking(lambda: self._start_rooms(nothing, said))
        self._asking(self._bridge.wait_ready)
        self.instruction = self._read_instruction()

    def call(self, made: WireRequest) -> WireResponse:
        """Send one request to the world; raises WireError, WorldFailure (the world is gone), RuntimeFailure."""
        return self._asking(lambda: self._bridge.call(made))

    def run(self, command: Sequence[str], *, timeout_s: float, stdin: bytes = b"", virtual_time: bool = True) -> CommandResult:
        """Run a command in `main`, in a new session, killed by group at `timeout_s` real seconds."""
        if not self.has_main:
            raise RuntimeFailure("this episode was opened without main", hint="EpisodeSpec(needs_main=True)")
        files, self._pending = self._pending, []
        asked = commands.request(command, timeout_s=timeout_s, stdin=stdin, virtual_time=virtual_time, files=files)
        try:
            answer, said = self._ask_runner(asked, timeout_s + commands.GRACE_S)
        except TimeoutError:
            return CommandResult(None, self._machine.notice(self._main_is_gone))
        # A runner without an answer was killed by the agent, which may kill all processes of its user.
        done = commands.result(answer) or CommandResult(commands.KILLED, b"")
        return replace(done, output=said + done.output + self._machine.notice(self._main_is_gone))

    def finish(self) -> bytes:
        """Kill `main`, then the world, then return the event log's bytes."""
        if self.has_main:
            self._kill("main")
        self.has_main = False
        # No other process is left on this network, so the answer is the world's.
        self.call(WireRequest("GET", b"/healthz"))
        self._kill("world")
        try:
            return self._folder.read("state/events.jsonl", rooms.LOG_MB * rooms.MEGABYTE)
        except OSError as error:
            raise WorldFailure(f"the world left no event log: {error}") from None

    def kill(self) -> None:
        """Kill every process of this pod, from any thread."""
        if self._sandbox is not None:
            self._sandbox.kill()

    def close(self) -> None:
        """Kill and remove everything of this pod; safe to call twice."""
        if self._sandbox is not None:
            self._sandbox.close()
        for end in (self._link, self._far_link):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for control in (self._outer, self._world, self._main):
            control.close()
        self._machine.close()
        if self._world_group is not None:
            self._world_group.remove()
        self._folder.remove()

    def _start_rooms(self, nothing: int, said: int) -> None:
        warm = self._template or template(self._environments, "world")
        self._sandbox = warm.fork(rooms.POD, self._folder, self._outer, [nothing, nothing, said, self._outer.far.fileno()])
        files = [nothing, nothing, said]
        self._start_room(
            "world", self._world, self._world_group, files, partial(rooms.world_room, self._folder, self._spec.task)
        )
        with self._folder.log("world.log") as log:
            env = {**rooms.BASE_ENV, **world_variables(self._spec, self._token)}
            serve = {"cwd": "/srv/world", "vital": True, "call": "worlds.core.serve:main"}
            self._world.start("serve", [], [nothing, log, log], env, **serve)
            far = self._far_link.fileno()
            self._world.start("bridge", [], [far, far, log], rooms.BASE_ENV, call="worlds.core.bridge:main")
        self._far_link.close()
        if self.has_main:
            room = partial(rooms.main_room, self._folder, self._environments.room("agent"), self._spec.task)
            self._start_room("main", self._main, self._machine.group, files, room)
            self._machine.watch()

    def _start_room(
        self, name: str, control: Control, group: Cgroup | None, files: Sequence[int], room: Callable[[int], rooms.Start]
    ) -> None:
        with entrances(group) as groups:
            start = room(len(groups))
            control.configure(**start.config)
            self._outer.start(name, start.argv, [*files, control.far.fileno(), *groups], {}, **start.how)
        control.far.close()

    def _ask_runner(self, asked: bytes, limit_s: float) -> tuple[bytes, bytes]:
        """Start the runner in `main` once, and return its answer and its stderr; raises TimeoutError on a timeout."""
        until = time.monotonic() + limit_s
        (near, far), (complaints, complain) = socket.socketpair(), socket.socketpair()
        with closing(near), closing(complaints):
            try:
                with closing(far), closing(complain):
                    env = {**rooms.AGENT_ENV, **self._spec.task.file.environment.env}
                    files = [far.fileno(), far.fileno(), complain.fileno()]
                    self._main.start("command", commands.RUNNER, files, env, cwd="/workspace")
                near.settimeout(limit_s)
                near.sendall(asked)
                answer = commands.read_answer(lambda: _receive(near, until))
            except TimeoutError:
                raise
            except OSError:
                answer = b""
            said = b""
            with suppress(OSError):
                said = complaints.recv(COMPLAINT, socket.MSG_DONTWAIT)
            return answer, said

    def _main_is_gone(self) -> bool:
        return self._outer.ended("main", NOTICE_LIMIT_S) is not None

    def _kill(self, name: str) -> None:
        """Kill an inner sandbox and wait until it is gone; raises RuntimeFailure if that cannot be confirmed."""
        try:
            self._outer.kill(name)
        except OSError:
            raise RuntimeFailure(f"the sandbox of this pod is gone: {self._last_words() or 'killed'}") from None
        if self._outer.ended(name, KILL_LIMIT_S) is None:
            raise RuntimeFailure(f"{name} still runs {KILL_LIMIT_S:g} s after it was killed")

    def _last_words(self) -> str:
        """Return the last error output of its sandboxes, or of the template, which may have failed to start."""
        return self._folder.tail("sandbox.log") or (self._template.last_words() if self._template else "")

    def _asking(self, ask: Callable[[], T]) -> T:
        """Call the world; on failure, attribute the failure and add the last error output."""
        try:
            return ask()
        except (WorldFailure, OSError) as failure:
            ended = self._sandbox is None or self._sandbox.has_ended(NOTICE_LIMIT_S)
            if ended or self._outer.ended("world", NOTICE_LIMIT_S) is not None:
                raise RuntimeFailure(f"the sandbox ended: {self._last_words() or 'it was killed'}") from None
            codes = ((name, self._world.ended(name, NOTICE_LIMIT_S)) for name in ("serve", "bridge"))
            who = next((f"{name} ended with {code}" for name, code in codes if code is not None), None)
            if who is None:
                raise
            raise WorldFailure(f"{failure}; {who}: {self._folder.tail('world.log') or 'no output'}") from None


def _receive(link: socket.socket, until: float) -> bytes:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    link.settimeout(left)
    return link.recv(CHUNK)

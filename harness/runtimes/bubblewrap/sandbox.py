"""The host's end of a sandbox: a bwrap process, and the socket that its PID 1 obeys.

1. A message may be sent before anybody listens: starting a whole pod is a few sends and no round trip.
2. bwrap dies with the thread that started it (PR_SET_PDEATHSIG follows the thread, not the process), and episodes run in
   threads that come and go. One thread, as old as the first sandbox and as long-lived as this process, starts them all.
3. Closing the socket is what kills: PID 1 ends, the kernel kills its pid namespace, bwrap ends last. This also happens
   when this process is killed.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import RuntimeFailure
from harness.runtimes.bubblewrap import init

INIT_FILE = Path(init.__file__)
CONTROL = 3
"""The number of the control socket in a sandbox that another one started."""

MESSAGE_LIMIT = 4096
CLOSE_LIMIT_S = 10.0


class Control:
    """This end of one sandbox's control socket; its other end is `far` until it has been handed over."""

    def __init__(self) -> None:
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ended: dict[str, int] = {}
        self._listening = threading.Lock()

    def start(
        self, name: str, argv: Sequence[str], files: Sequence[int], env: Mapping[str, str], cwd: str = "/", vital: bool = False
    ) -> None:
        """Start a process with `files` as its descriptors from 0; raises OSError when the sandbox is gone."""
        message = {"start": name, "argv": list(argv), "env": dict(env), "cwd": cwd, "vital": vital}
        socket.send_fds(self._near, [json.dumps(message).encode()], list(files))

    def kill(self, name: str) -> None:
        """Kill a sandbox that was started in this one; raises OSError when this one is gone."""
        self._near.send(json.dumps({"kill": name}).encode())

    def ended(self, name: str, timeout_s: float = 0.0) -> int | None:
        """The exit code of a process; None while it runs, or when its sandbox is gone."""
        until = time.monotonic() + timeout_s
        with self._listening, suppress(OSError, ValueError):
            while name not in self._ended and select.select([self._near], [], [], max(0.0, until - time.monotonic()))[0]:
                if not (data := self._near.recv(MESSAGE_LIMIT, socket.MSG_DONTWAIT)):
                    break
                self._note(data)
        return self._ended.get(name)

    def cut(self) -> None:
        """Hang up, which ends the sandbox, whoever else holds a copy of this socket; from any thread."""
        with suppress(OSError):
            self._near.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up and let go."""
        self.cut()
        self.far.close()
        self._near.close()

    def _note(self, data: bytes) -> None:
        try:
            said = json.loads(data)
            self._ended[str(said["ended"])] = int(said["code"])
        except (ValueError, KeyError, TypeError):
            # Only an agent that took over its own PID 1 says anything else, and only its own commands are its own to spoil.
            pass


class Sandbox:
    """One bwrap process of this host."""

    def __init__(self, argv: Sequence[str], control: Control, stderr: int) -> None:
        """Start `argv`, which ends in the arguments of PID 1; raises RuntimeFailure where bwrap is missing."""
        self.control = control
        self._process = _spawner_of(os.getpid()).submit(_popen, [*argv], control.far.fileno(), stderr).result()
        control.far.close()

    @property
    def running(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def close(self) -> None:
        """Kill everything in it, and let go when all of it is gone; safe to call twice."""
        self.kill()
        self.control.close()

    def kill(self) -> None:
        """Kill everything in it and return when all of it is gone; from any thread."""
        self.control.cut()
        try:
            self._process.wait(CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def pid1(python: Sequence[str], init: str, control: int, **config: Any) -> list[str]:
    """The command line of a sandbox's PID 1: `user` to become (None stays), `limits`, folders to `own`, `oom` score."""
    defaults: dict[str, Any] = {"user": None, "limits": {}, "own": [], "oom": 0}
    return [*python, "-I", "-S", init, json.dumps({"control": control, **defaults, **config})]


@contextmanager
def null() -> Iterator[int]:
    """/dev/null as a descriptor."""
    file = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


@cache
def _spawner_of(process: int) -> ThreadPoolExecutor:
    """The one thread that starts sandboxes in a process; a fork of that process needs its own."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"parley-spawner-{process}")


def _popen(argv: Sequence[str], control: int, stderr: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, pass_fds=[control], env={},
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise RuntimeFailure(f"{argv[0]} cannot be started: {error.strerror}", hint="apt-get install bubblewrap") from None

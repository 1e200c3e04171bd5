"""Host side of a sandbox: a bwrap process, or one forked from a template, and the control socket of its PID 1.

1. A message may be sent before its receiver is ready, so starting a whole pod takes a few sends and no round trip.
2. bwrap dies with the thread that started it (PR_SET_PDEATHSIG follows the thread, not the process), and episodes run in
short-lived threads. Therefore one thread, created with the first sandbox and living as long as this process, starts them all.
3. Closing the socket kills the sandbox: PID 1 ends, the kernel kills its pid namespace, and bwrap ends last. This also happens
when this process is killed.
"""

from __future__ import annotations

import marshal
import os
import select
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import RuntimeFailure
from harness.runtimes.bubblewrap.inside import init

INSIDE = Path(init.__file__).parent
"""Folder with the code of PID 1."""

ROOMS_INSIDE = "/opt/parley"
"""Path of that folder in a sandbox, below its packages."""

FILTER, COUNTING_FILTER = f"{ROOMS_INSIDE}/calls.bpf", f"{ROOMS_INSIDE}/calls-counted.bpf"
"""Path in a sandbox of the system call filter, and of the filter for a pod whose memory is watched, not limited by a group."""

MESSAGE_LIMIT = 4096
CREDENTIALS = struct.Struct("iII")
"""struct ucred: process, user, group (unix(7))."""

CLOSE_LIMIT_S = 10.0


class Control:
    """Host side of one sandbox's control socket; the other end is `far` until it has been handed over."""

    def __init__(self) -> None:
        self._near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._process: int | None = None
        self._ended: dict[str, int] = {}
        self._listening = threading.Lock()

    def configure(self, **config: Any) -> None:
        """Send the configuration of PID 1, the fields of an `init.Config`, which must come first."""
        self._near.send(_written(config))

    def start(self, name: str, argv: Sequence[str], files: Sequence[int], env: Mapping[str, str], **more: Any) -> None:
        """Start a process with `files` from 0 and `more` fields of its `init.Program`; raises OSError without a sandbox."""
        socket.send_fds(self._near, [_written({"name": name, "argv": list(argv), "env": dict(env), **more})], list(files))

    def kill(self, name: str) -> None:
        """Kill a sandbox that was started in this one; raises OSError if this one is gone."""
        self._near.send(_written({"kill": name}))

    def ended(self, name: str, timeout_s: float = 0.0) -> int | None:
        """Return the exit code of a process; None while it runs, or if its sandbox is gone."""
        self._listen(lambda: name in self._ended, timeout_s)
        return self._ended.get(name)

    def process(self) -> int | None:
        """Return the sandbox's PID 1 as numbered on this host; None before it has started."""
        self._listen(lambda: self._process is not None, 0.0)
        return self._process

    def cut(self) -> None:
        """Shut down the socket, which ends the sandbox even if other processes hold a copy of it; safe from any thread."""
        with suppress(OSError):
            self._near.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Shut down the socket and release it."""
        self.cut()
        self.far.close()
        self._near.close()

    def _listen(self, enough: Callable[[], bool], timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        with self._listening, suppress(OSError, ValueError):
            # not select, which does not support descriptors above 1,023, which many open pods need
            heard = select.poll()
            heard.register(self._near, select.POLLIN)
            while not enough() and heard.poll(max(0.0, until - time.monotonic()) * 1000):
                data, ancillary, _, _ = self._near.recvmsg(
                    MESSAGE_LIMIT, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_DONTWAIT
                )
                if not data:
                    break
                self._note(data, ancillary)

    def _note(self, data: bytes, ancillary: Sequence[tuple[int, int, bytes]]) -> None:
        if data == b"here":
            # The kernel adds the sender's process id, as numbered in the receiver's namespace.
            self._process = self._process or CREDENTIALS.unpack(ancillary[0][2])[0]
            return
        name, _, code = data.decode("ascii").partition(" ")
        self._ended[name] = int(code)


class Sandbox:
    """Process of bwrap on this host."""

    def __init__(self, argv: Sequence[str], control: Control, stderr: int, files: Sequence[int] = ()) -> None:
        """Start `argv`, which ends in the arguments of PID 1 and may refer to `files`; raises RuntimeFailure without bwrap."""
        self.control = control
        kept = [control.far.fileno(), *files]
        self._process = _spawner_of(os.getpid()).submit(_popen, [*argv], kept, stderr).result()
        control.far.close()

    def has_ended(self, timeout_s: float = 0.0) -> bool:
        """Return True if it has ended, or ends within `timeout_s` seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return self._process.returncode is not None

    def close(self) -> None:
        """Kill everything in it, and release it once all of it is gone; safe to call twice."""
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


class Branch:
    """Sandbox that was forked from a template of this host."""

    def __init__(self, origin: Control, name: str, fork: Mapping[str, Any], control: Control, files: Sequence[int]) -> None:
        """Fork from `origin` under a unique `name`, with `files` from 0; raises OSError if the template is gone."""
        self.control, self._origin, self._name = control, origin, name
        self._lifeline, far = socket.socketpair()
        with far:
            handed = [*files, far.fileno()]
            origin.start(name, [], handed, {}, sandbox={**fork, "lifeline": len(files)})
        control.far.close()

    def has_ended(self, timeout_s: float = 0.0) -> bool:
        """Return True if everything in it has ended, or ends within `timeout_s` seconds."""
        try:
            self._lifeline.settimeout(timeout_s)
            return not self._lifeline.recv(1)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError:
            # it was closed
            return True

    def kill(self) -> None:
        """Kill everything in it and return when all of it is gone; from any thread."""
        self.control.cut()
        if not self.has_ended(CLOSE_LIMIT_S):
            with suppress(OSError):
                self._origin.kill(self._name)
            self.has_ended(CLOSE_LIMIT_S)

    def close(self) -> None:
        """Kill everything in it, and release it once all of it is gone; safe to call twice."""
        self.kill()
        self.control.close()
        self._lifeline.close()


def _written(message: Mapping[str, Any]) -> bytes:
    """Return a message in a format that any Python 3 can read without an import."""
    return marshal.dumps(dict(message), 2)


@contextmanager
def null() -> Iterator[int]:
    """Open /dev/null and yield the descriptor."""
    file = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


@cache
def _spawner_of(process: int) -> ThreadPoolExecutor:
    """Return the thread that starts sandboxes in a process; a fork of that process needs its own."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"parley-spawner-{process}")


def _popen(argv: Sequence[str], files: Sequence[int], stderr: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, pass_fds=files, env={},
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise RuntimeFailure(f"{argv[0]} cannot be started: {error.strerror}", hint="apt-get install bubblewrap") from None

"""PID 1 of every sandbox: starts programs for the host, with the user and the limits of the sandbox.

The host holds the other end of a socket. Its first message is the configuration, followed by one message per process, with its
open files attached: the fields of a Program, or {"kill": name}, encoded with marshal, which needs no import. The replies are
`here`, then `NAME CODE` for each process that ended. When the host's end closes for any reason, PID 1 ends, and the kernel
kills everything in its pid namespace. When a vital process ends, all others here are killed. Limits do not apply to root, so a
new process sets its limits, changes to its own user id, and only then runs the program. Processes inside cannot kill PID 1. If
a sandbox is full of processes, all are killed before the next one starts. This module imports only modules of this folder,
because it runs with -I -S, in places without other code of ours.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from harness.runtimes.bubblewrap.inside import forks, kernel

MESSAGE_LIMIT = 1 << 20
FILES_LIMIT = 8
FILTER_LIMIT = 1 << 15
"""Maximum size of a filter: the kernel accepts 4,096 instructions of 8 bytes."""

MOST_FILES = 4096
"""Upper bound of a template's file descriptors; it has a few dozen."""

ASIDE = 64
"""First descriptor number for temporary copies in a child, above the numbers that its files will get."""

HEADROOM = 16
"""Processes and threads that must still fit before another command starts."""


class Config(forks.HostMessage):
    """Configuration of a sandbox, sent first: the user (without one, programs stay as they are) and the limits of its programs.

    `groups` are open files for joining control groups. `calls` is the file of a system call filter; without it, calls are
    unfiltered, and the sandbox may mount.
    """

    user: int | None = None
    limits: Mapping[str, int] = {}
    oom = 0
    groups: Sequence[int] = ()
    calls: str | None = None


class Program(forks.HostMessage):
    """Program to start: its name here, command line, environment and folder, and whether the others end with it.

    `mounts` are tmpfs folders, with options, to mount before the start, which only an outer sandbox may do. A template and the
    sandboxes forked from it may `call` an imported function (`module:function`), fork a `sandbox` (the fields of a
    `forks.Fork`), and start a program that sees only the template's view of the host (`on_host`).
    """

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd = "/"
    vital = False
    mounts: Sequence[tuple[str, str]] = ()
    call = ""
    sandbox: Mapping[str, object] | None = None
    on_host = False


class Init:
    """Children of this sandbox by name, and the socket to the host."""

    def __init__(self, control: socket.socket, config: Config) -> None:
        self._control, self._config = control, config
        self._names: dict[int, str] = {}
        self._vital: set[str] = set()

    def serve(self) -> None:
        """Execute the host's messages and reap children until the host is gone."""
        self._say("here")
        wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        signal.set_wakeup_fd(wake_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            ready, _, _ = select.select([self._control.fileno(), wake], [], [])
            if wake in ready:
                os.read(wake, 4096)
                self._reap()
            if self._control.fileno() in ready and not self._obey():
                return

    def _obey(self) -> bool:
        data, files, _, _ = socket.recv_fds(self._control, MESSAGE_LIMIT, FILES_LIMIT)
        if not data:
            return False
        for file in files:
            os.set_inheritable(file, False)
        message = marshal.loads(data)  # noqa: S302 - the host alone can write to this socket
        if "kill" in message:
            self._kill(message["kill"])
        else:
            self._start(Program(**message), files)
        for file in files:
            os.close(file)
        return True

    def _start(self, program: Program, files: list[int]) -> None:
        limit = self._config.limits.get("NPROC")
        # processes and threads in this pid namespace
        if limit and sum(len(_names(f"/proc/{pid}/task")) for pid in _processes()) > limit - HEADROOM:
            _kill_all()
        try:
            pid = os.fork()
        except OSError:
            _kill_all()
            pid = os.fork()
        if pid == 0:
            self._become(program, files)
        self._names[pid] = program.name
        if program.vital:
            self._vital.add(program.name)

    def _become(self, program: Program, files: list[int]) -> None:
        """Set up file descriptors, limits and user in the child process, then exec the program. Never returns."""
        argv = program.argv
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            _take(files)
            for signum in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
                signal.signal(signum, signal.SIG_DFL)
            os.umask(0o022)
            for place, options in program.mounts:
                kernel.mount_tmpfs(place, options)
            if program.sandbox is not None:
                forks.become(forks.Fork(**program.sandbox), main)
            if program.on_host:
                # the next program builds its own view from the template's view of the host
                kernel.unshare(kernel.NEW_MOUNTS)
                kernel.change_root(forks.HOST)
            self._confine()
            _enter(program.cwd)
            if program.call:
                forks.call(program.call, program.env)
            os.execvpe(argv[0], argv, program.env)  # noqa: S606 - a shell is what must not come between
        except BaseException as error:  # noqa: BLE001 - a child must never run on as a second PID 1
            os.write(2, f"{(argv or [program.name])[0]}: {error}\n".encode())
        os._exit(126)

    def _confine(self) -> None:
        for name, wanted in self._config.limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            hard = resource.getrlimit(kind)[1]
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(kind, (most, most))
        if self._config.oom:
            # This process shares only its memory with PID 1, which contains no secret; its open files are its own.
            kernel.set_dumpable(True)
            score = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
            os.write(score, str(self._config.oom).encode())
            os.close(score)
        if (user := self._config.user) is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            kernel.drop_capabilities()

    def _kill(self, name: str) -> None:
        """Kill a sandbox that was started here, by its PID 1, with which the kernel kills the rest."""
        for pid in [pid for pid, known in self._names.items() if known == name]:
            for target in [int(child) for child in _processes() if _parent(child) == pid] or [pid]:
                os.kill(target, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if self._names.get(ended.si_pid) in self._vital:
                # before others can see that it has ended
                _kill_all()
            pid, status = os.waitpid(ended.si_pid, 0)
            if (name := self._names.pop(pid, None)) is not None:
                self._say(f"{name} {forks.shell_code(status)}")

    def _say(self, message: str) -> None:
        # The host asks for the states that it needs; other messages may be lost if it does not read.
        with suppress(OSError):
            self._control.send(message.encode(), socket.MSG_DONTWAIT)


def _take(files: list[int]) -> None:
    """Give files the numbers from 0 on, and close all others, because the sockets of PID 1 must not be inherited."""
    for number, file in enumerate(files):
        os.dup2(file, ASIDE + number, inheritable=False)
    for number in range(len(files)):
        os.dup2(ASIDE + number, number)
    os.closerange(len(files), MOST_FILES)


def _enter(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError as error:
        os.chdir("/")
        os.write(2, f"{folder}: {error.strerror}; this command runs in /\n".encode())


def _processes() -> list[str]:
    return [name for name in _names("/proc") if name.isdecimal()]


def _names(folder: str) -> list[str]:
    """Return the names in a folder of /proc; empty if its process has ended."""
    with suppress(OSError), os.scandir(folder) as entries:
        return [entry.name for entry in entries]
    return []


def _parent(pid: str) -> int:
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - as elsewhere in here, without pathlib
        return int(stat.read().rpartition(b")")[2].split()[1])
    return 0


def _kill_all() -> None:
    """Kill everything in this pid namespace except PID 1."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def shut_in(config: Config, program: str) -> None:
    """Restrict this process as PID 1 of a sandbox; raises OSError if the kernel refuses a step."""
    for group in config.groups:
        os.write(group, b"0")
        os.close(group)
    if config.user is not None:
        kernel.empty_bounding_set()
    kernel.set_dumpable(False)
    code = os.open(program, os.O_RDONLY)
    kernel.filter_calls(os.read(code, FILTER_LIMIT))
    os.close(code)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


def main(control: int | None = None) -> None:
    """Serve the host until it is gone, on the socket of this number, or of the one in the last argument."""
    link = socket.socket(fileno=int(sys.argv[-1]) if control is None else control)
    link.set_inheritable(False)
    kernel.join_new_keyring()
    if not (said := link.recv(MESSAGE_LIMIT)):
        return
    config = Config(**marshal.loads(said))  # noqa: S302 - the host alone can write to this socket
    if config.calls is not None:
        shut_in(config, config.calls)
    else:
        kernel.empty_ambient_set()
    Init(link, config).serve()
    os._exit(0)

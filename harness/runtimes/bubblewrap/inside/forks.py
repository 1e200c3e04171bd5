"""Children of a template process: the PID 1 of a pod or of a sandbox, or a program whose code is already in memory.

A template is one sandbox per process of this host, made by bwrap, whose PID 1 has imported what each episode needs
(`inside.template`). Its file system is that of a finished sandbox, plus /host with everything needed to make one. A child of
the template moves to new namespaces and forks. The grandchild is PID 1 of the new sandbox. The child waits for it, and holds
the `lifeline`, by which the host detects that everything in the sandbox has ended. The grandchild mounts the files of the
episode, removes /host, gives up the rights that this needed, and serves the host as any PID 1 does (`inside.init`). A template
never receives a secret or a task's files: these are sent over the socket of the grandchild.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from harness.runtimes.bubblewrap.inside import kernel

HOST = "/host"
"""Mount point in a template of the files for making sandboxes; it is removed from each sandbox."""

CONTROL = 3
"""File descriptor of the control socket in a sandbox that was started by another one."""

KEPT = (kernel.KILL, kernel.SETGID, kernel.SETUID, kernel.SETPCAP)
"""Capabilities of a sandbox's PID 1 as root: to start programs as another user, without rights, and to kill them."""


class HostMessage:
    """Fields of a message of the host, as attributes. The import of dataclasses would take too long in each episode."""

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


class Fork(HostMessage):
    """Sandbox to be forked: one with a hostname for programs, or a pod's outer sandbox without a hostname."""

    hostname = ""
    network = False
    """True for a new network namespace."""

    binds: Sequence[tuple[str, str, bool]] = ()
    """Folders of the host with their mount points, and whether they are writable."""

    scratch: Sequence[tuple[str, str]] = ()
    """Folders in memory with their options."""

    masks: Sequence[str] = ()
    """Files of /proc to hide."""

    user: tuple[int, int] | None = None
    """Mapping of a new user namespace: inside, outside."""

    lifeline: int | None = None
    """Open file."""


def become(fork: Fork, serve: Callable[[int], object]) -> None:
    """Turn this child into a sandbox, whose PID 1 will `serve` the control socket. Never returns."""
    kinds = kernel.NEW_MOUNTS | kernel.NEW_PROCESSES | (kernel.NEW_NETWORK if fork.network else 0)
    if fork.hostname:
        kinds |= kernel.NEW_IPC | kernel.NEW_NAMES | kernel.NEW_CGROUPS
    kernel.unshare(kinds)
    inner = os.fork()
    if inner:
        _wait(inner, fork.lifeline)
    kernel.die_with_parent()
    if fork.lifeline is not None:
        os.close(fork.lifeline)
    if fork.network:
        kernel.raise_loopback()
    if fork.hostname:
        _furnish(fork)
    else:
        kernel.mount_processes("/proc")
        kernel.bind("/proc", f"{HOST}/proc", writable=True)
    serve(CONTROL)
    os._exit(0)


def call(name: str, env: dict[str, str]) -> None:
    """Run `module:function` as if its module were the program, with this environment. Never returns."""
    # imported here because most processes that import this module do not need it
    import importlib  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    module, _, function = name.partition(":")
    os.environ.clear()
    os.environ.update(env)
    # a program must not import the code of PID 1
    for harness in [name for name in sys.modules if name.partition(".")[0] == __name__.partition(".")[0]]:
        del sys.modules[harness]
    sys.argv, sys.path = [module], [os.getcwd(), *(place for place in sys.path if place != sys.argv[1])]  # noqa: PTH109
    gc.enable()
    for signum in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(signum, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.set_dumpable(True)
    code = 1
    try:
        code = int(getattr(importlib.import_module(module), function)() or 0)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter tells whatever ends a program
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _wait(inner: int, lifeline: int | None) -> None:
    """Hold the lifeline until the sandbox has ended, and exit with its exit status."""
    rest = CONTROL if lifeline is None else lifeline + 1
    os.closerange(0, CONTROL if lifeline is None else lifeline)
    os.closerange(rest, rest + 64)
    os._exit(shell_code(os.waitpid(inner, 0)[1]))


def shell_code(status: int) -> int:
    """Return the exit code of a wait status, 128 plus the signal for a killed process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _furnish(fork: Fork) -> None:
    """Mount the files of this episode, then remove everything that does not belong to it."""
    for source, place, writable in fork.binds:
        kernel.bind(HOST + source, place, writable=writable)
    for place, options in fork.scratch:
        kernel.mount_tmpfs(place, options)
    kernel.mount_processes("/proc")
    kernel.mount_terminals("/dev/pts")
    for mask in fork.masks:
        if os.path.exists(mask):  # noqa: PTH110
            kernel.bind(os.devnull, mask, writable=True)
    socket.sethostname(fork.hostname)
    # otherwise folders mounted below it would stay reachable
    os.chdir("/")
    kernel.detach(HOST)
    if fork.user is None:
        kernel.keep_capabilities(KEPT)
    else:
        kernel.unshare(kernel.NEW_USERS)
        kernel.map_user(*fork.user)
        kernel.empty_bounding_set()
        kernel.drop_capabilities()

"""System calls that Python has no function for: permanent restrictions of a process, namespaces, and mounts.

The numbers are those of <linux/prctl.h>, <linux/keyctl.h>, <linux/seccomp.h>, <linux/sched.h>, <linux/if.h> and <sys/mount.h>.
A refusal by the kernel is an OSError that names the call.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Iterable

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 1, 4, 22, 24, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
KEYCTL_JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}
"""Number of the system call keyctl by machine."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_NOATIME, MS_NODIRATIME, MS_RELATIME, ST_RELATIME = 1024, 2048, 1 << 21, 4096
MNT_DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
"""Number of the system call pivot_root by machine."""

NEW_MOUNTS, NEW_CGROUPS, NEW_NAMES, NEW_IPC, NEW_USERS, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
"""Types of namespaces (unshare(2))."""

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SETGID, SETUID, SETPCAP, KILL = 6, 7, 8, 5
"""Numbers of capabilities (capabilities(7))."""

CAPABILITY_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3: two sets of 32 bits each."""

CAPABILITIES = 64
"""Upper bound of the number of capabilities in any kernel."""

INSTRUCTION_BYTES = 8
EINVAL = 22

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """struct sock_fprog of <linux/filter.h>."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def join_new_keyring() -> bool:
    """Replace the inherited session keyring with a new, empty one for this thread and the programs that it starts (keyctl(2)).

    Returns False if this kernel has no keyrings, or forbids even this, as in a container of Docker's.
    """
    number = KEYCTL.get(os.uname().machine)
    return number is not None and _libc.syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None) >= 0


def set_dumpable(dumpable: bool) -> None:
    """Allow or forbid other processes of the same user to inspect this one, with its open files, until its next exec."""
    _prctl("PR_SET_DUMPABLE", PR_SET_DUMPABLE, int(dumpable))


def empty_bounding_set() -> None:
    """Prevent programs started from here from gaining a capability, whatever their files say; needs CAP_SETPCAP."""
    for capability in range(CAPABILITIES):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            if ctypes.get_errno() == EINVAL:
                return
            raise _refused("PR_CAPBSET_DROP")


def empty_ambient_set() -> None:
    """Prevent programs started from here from inheriting a capability."""
    _prctl("PR_CAP_AMBIENT", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)


def drop_capabilities() -> None:
    """Drop all capabilities of this process and the programs that it runs: effective, permitted, inheritable (capset(2))."""
    keep_capabilities(())


def keep_capabilities(numbers: Iterable[int]) -> None:
    """Keep only these capabilities of this process; none is inheritable. All numbers must be below 32."""
    kept = sum(1 << number for number in numbers)
    header, sets = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0)
    if _libc.capset(header, sets) < 0:
        raise _refused("capset")


def filter_calls(code: bytes) -> None:
    """Apply a seccomp filter permanently to this process and its children; needs no_new_privs, which bwrap sets."""
    program = _Program(len(code) // INSTRUCTION_BYTES, code)
    _prctl("PR_SET_SECCOMP", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))


def die_with_parent() -> None:
    """Request to be killed when the thread that forked this process ends, until this process changes its user."""
    _prctl("PR_SET_PDEATHSIG", PR_SET_PDEATHSIG, int(signal.SIGKILL))


def unshare(kinds: int) -> None:
    """Move to new namespaces; a new pid namespace applies to the next child (unshare(2))."""
    if _libc.unshare(kinds) < 0:
        raise _refused("unshare")


def raise_loopback() -> None:
    """Enable the loopback interface of a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def mount_tmpfs(place: str, options: str) -> None:
    """Mount a folder in memory, with options as in tmpfs(5)."""
    _mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, options)


def mount_processes(place: str) -> None:
    """Mount a /proc of this process's own namespace."""
    _mount("proc", place, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def mount_terminals(place: str) -> None:
    """Mount a /dev/pts without terminals of other processes."""
    _mount("devpts", place, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")


def bind(source: str, place: str, *, writable: bool = False) -> None:
    """Bind a file, a folder or a device to another path."""
    _mount(source, place, None, MS_BIND)
    if not writable:
        # in a user namespace, the mount options that the host has set must be repeated
        flags = os.statvfs(place).f_flag
        kept = flags & (MS_NOEXEC | MS_NOATIME | MS_NODIRATIME) | (MS_RELATIME if flags & ST_RELATIME else 0)
        _mount(None, place, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | kept)


def detach(place: str) -> None:
    """Detach a mount with all mounts below it."""
    if _libc.umount2(os.fsencode(place), MNT_DETACH) < 0:
        raise _refused(f"umount of {place}")


def change_root(place: str) -> None:
    """Make a mount the root of this process's mount namespace, and detach the old one."""
    os.chdir(place)
    if _libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b".") < 0:
        raise _refused("pivot_root")
    detach(".")
    os.chdir("/")


def map_user(inside: int, outside: int) -> None:
    """Map one user and one group into this process's new user namespace."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside} {outside} 1"), ("gid_map", f"{inside} {outside} 1")):
        file = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def _mount(source: str | None, place: str, kind: str | None, flags: int, options: str = "") -> None:
    names = (None if name is None else os.fsencode(name) for name in (source, place, kind))
    if _libc.mount(*names, ctypes.c_ulong(flags), options.encode() or None) < 0:
        raise _refused(f"mount of {kind or source or 'a view'} at {place}" + (f" ({options})" if options else ""))


def _prctl(name: str, *arguments: object) -> None:
    if _libc.prctl(*arguments, *[0] * (5 - len(arguments))) < 0:
        raise _refused(name)


def _refused(what: str) -> OSError:
    return OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

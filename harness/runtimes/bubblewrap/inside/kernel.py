"""System calls that Python has no function for: what shuts a process in for good, and a mount.

The numbers are those of <linux/prctl.h>, <linux/keyctl.h>, <linux/seccomp.h> and <sys/mount.h>. What the kernel refuses
is an OSError that names the call.
"""

from __future__ import annotations

import ctypes
import os

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 4, 22, 24, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
KEYCTL_JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}
"""The number of keyctl by machine."""

MS_NOSUID, MS_NODEV = 2, 4
CAPABILITY_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3: two sets of 32 bits each."""

CAPABILITIES = 64
"""More than any kernel has."""

INSTRUCTION_BYTES = 8
EINVAL = 22

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """struct sock_fprog of <linux/filter.h>."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def join_new_keyring() -> bool:
    """Leave the session keyring that was inherited for a new, empty one of this thread and what it starts (keyctl(2)).

    False where this kernel has no keyrings, or forbids even this, as in a container of Docker's.
    """
    number = KEYCTL.get(os.uname().machine)
    return number is not None and _libc.syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None) >= 0


def set_dumpable(dumpable: bool) -> None:
    """Whether others of the same user may look into this process, its open files included, until it runs another program."""
    _prctl("PR_SET_DUMPABLE", PR_SET_DUMPABLE, int(dumpable))


def empty_bounding_set() -> None:
    """No program started from here on gains a capability, whatever its file says; needs CAP_SETPCAP."""
    for capability in range(CAPABILITIES):
        if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            if ctypes.get_errno() == EINVAL:
                return
            raise _refused("PR_CAPBSET_DROP")


def empty_ambient_set() -> None:
    """No program started from here on inherits a capability."""
    _prctl("PR_CAP_AMBIENT", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)


def drop_capabilities() -> None:
    """No capability of any kind is left to this process and what it runs: effective, permitted, inheritable (capset(2))."""
    header, none = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, none) < 0:
        raise _refused("capset")


def filter_calls(code: bytes) -> None:
    """Put this process and all it starts under a seccomp filter, for good; needs no_new_privs, which bwrap sets."""
    program = _Program(len(code) // INSTRUCTION_BYTES, code)
    _prctl("PR_SET_SECCOMP", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))


def mount_tmpfs(place: str, options: str) -> None:
    """A folder in memory, with options as in tmpfs(5)."""
    if _libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", MS_NOSUID | MS_NODEV, options.encode()) < 0:
        raise _refused(f"mount of a tmpfs ({options})")


def _prctl(name: str, *arguments: object) -> None:
    if _libc.prctl(*arguments, *[0] * (5 - len(arguments))) < 0:
        raise _refused(name)


def _refused(what: str) -> OSError:
    return OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")

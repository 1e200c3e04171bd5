"""Folders and files that only their owner can write, with clear errors; locks on folders.

1. Modes are set explicitly on creation, so that no umask changes them, also when this module is used as a library.
2. An error about a path (no such folder, no permission, a name too long) is reported as a wrong flag. An error that no other
path would fix (a full disk, no free descriptors) is reported as a failure of the machine.
3. A lock is held by one process at a time; the system releases it when that process ends for any reason.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RuntimeFailure, UsageError

FOLDER_MODE, FILE_MODE = 0o755, 0o644
"""Mode of every folder and file made here, before the umask is applied."""

_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that no other path would fix."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert OSError about a path given by a flag to UsageError, or to RuntimeFailure if the machine is at fault."""
    try:
        yield
    except OSError as error:
        why = f"{shortened(path)} cannot be written: {error.strerror}"
        if error.errno in _MACHINE:
            hint = "check df -h and ulimit -n, then the same command with --resume"
            raise RuntimeFailure(why, hint=hint) from None
        raise UsageError(why, hint="the same command with another path") from None


def make_folder(path: Path) -> None:
    """Create a folder and its parents, writable by the owner alone, unless it exists."""
    try:
        path.mkdir(FOLDER_MODE)
    except FileNotFoundError:
        make_folder(path.parent)
        path.mkdir(FOLDER_MODE, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise


def shortened(path: Path) -> str:
    """Return a path for a message, with the middle of very long paths cut out."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:100]}...{text[-100:]}"


def write_file(path: Path, content: bytes) -> None:
    """Write a file that is writable by its owner alone, without following a link."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(file, "wb") as opened:
        opened.write(content)


def append_to_file(path: Path, content: bytes) -> None:
    """Append to a file in one write, without following a link, so that concurrent writers do not mix."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        os.write(file, content)
    finally:
        os.close(file)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create the folder if needed and lock it for this process; raises UsageError if another process holds the lock."""
    with writing(folder):
        make_folder(folder)
        door = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another process is playing this run: {folder}", hint="harness run ... --out NEW_FOLDER"
            ) from None
        yield
    finally:
        os.close(door)


def is_locked(folder: Path) -> bool:
    """Return True if a process holds the folder now, on this machine or on another that shares the disk."""
    door = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(door, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(door)
    return False

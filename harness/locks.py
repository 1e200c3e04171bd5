"""Lock on a folder for one process at a time; the system releases it when its holder ends for any reason."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.atomic_write import make_folder, writing
from harness.errors import UsageError


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

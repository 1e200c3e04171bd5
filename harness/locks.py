"""One process at a time for a folder: a lock that the system lets go of when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import UsageError
from harness.writing import make_folder, writing


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made where it is not there, for this process alone; raises UsageError where another has it."""
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
    """Whether a process has the folder now, on this machine or another that shares the disk."""
    door = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(door, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(door)
    return False

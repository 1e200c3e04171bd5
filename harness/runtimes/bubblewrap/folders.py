"""Folder of one episode on this host, written by its sandboxes, accessible to its owner only, and labelled with the owner.

The owner is written into the folder before the folder gets its final name, so that a sweep can identify orphans. A folder is
renamed before it is removed, because the process that removes it may be killed. Output of a sandbox is read as a plain file of
limited size, without following links. A sandbox sees copies of a task's files, without links, and readable whatever the
permissions of the originals.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.errors import RuntimeFailure, quoted
from harness.orphans import Orphan, changed_at, is_dead, this_owner
from harness.registry import Task, contents_of

OWNER_FILE = "owner"
UNNAMED = ".new-"
UNNAMED_LIMIT_S = 600
GONE = ".gone"
"""Suffix of the name of a folder that is being removed."""

REMOVAL_PAUSES_S = (0.0, 0.05, 0.2, 0.5)
"""Pauses before attempts to remove a folder, because a killed process may write to it for a moment."""

TAIL = 600


@dataclass(frozen=True)
class Folder:
    """Folder of one episode, or of one verdict."""

    path: Path

    @classmethod
    def make(cls) -> Folder:
        """Create a new folder."""
        root = folders_root()
        beside = Path(tempfile.mkdtemp(prefix=UNNAMED, dir=root))
        (beside / OWNER_FILE).write_text(this_owner(), encoding="utf-8")
        return cls(beside.rename(root / beside.name.replace(UNNAMED, "pod-")))

    def part(self, name: str, user: int | None = None, mode: int = 0o755) -> Path:
        """Create a subfolder that belongs to `user`."""
        made = self.path / name
        if not made.is_dir():
            made.mkdir()
            # a sandbox's user must get in, whatever the umask
            made.chmod(mode)
        if user is not None:
            os.chown(made, user, user)
            made.chmod(mode)
        return made

    def copy(self, task: Task, part: str) -> Path:
        """Copy a part of a task's folder, readable for every user; raises TaskInvalid if it is not plain."""
        copied = self.part(part.replace("/", "-"))
        for name, file in contents_of(task.path, part).items():
            for folder in reversed(Path(name).parents[:-1]):
                (copied / folder).mkdir(exist_ok=True)
                (copied / folder).chmod(0o755)
            (copied / name).write_bytes(file.data)
            (copied / name).chmod(0o755 if file.executable else 0o644)
        return copied

    @contextmanager
    def log(self, name: str) -> Iterator[int]:
        """Open a file in it for appending, and yield the descriptor."""
        file = os.open(self.path / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield file
        finally:
            os.close(file)

    def read(self, name: str, most: int) -> bytes:
        """Read a file that a sandbox wrote; raises OSError if it is missing, not a plain file, or too long."""
        file = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(f"{name} is not a plain file")
            data = opened.read(most + 1)
        if len(data) > most:
            raise OSError(f"{name} is longer than {most} bytes")
        return data

    def tail(self, name: str, most: int = TAIL) -> str:
        """Return the end of a log as text; "" if there is none."""
        try:
            with (self.path / name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most))
                return file.read(most).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def remove(self) -> None:
        """Remove the folder with its contents."""
        gone = self.path if self.path.name.endswith(GONE) else self.path.with_name(self.path.name + GONE)
        with suppress(FileNotFoundError):
            self.path.rename(gone)
        for pause in REMOVAL_PAUSES_S:
            time.sleep(pause)
            shutil.rmtree(gone, ignore_errors=True)
            if not gone.exists():
                return


def folders_root() -> Path:
    """Return the parent of all episode folders, in the temporary folder; raises RuntimeFailure unless it is ours alone."""
    root = Path(tempfile.gettempdir()) / f"parley-{os.geteuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise RuntimeFailure(f"{root} must be a folder of user {os.geteuid()} with mode 0700", hint=f"rm -rf {quoted(root)}")
    return root


def folders_left() -> list[Orphan]:
    """Return the folders that dead processes of this host left behind, with their owners, without removing them."""
    owners = {folder: ["", "", *Folder(folder).tail(OWNER_FILE).rsplit(":", 2)][-2] for folder in _left()}
    return [Orphan("sandbox folder", str(folder), pid, made=changed_at(folder)) for folder, pid in sorted(owners.items())]


def sweep_folders() -> list[str]:
    """Remove the folders that dead processes of this host left behind, and return their names."""
    left = _left()
    for folder in left:
        Folder(folder).remove()
    return sorted(str(folder) for folder in left)


def _left() -> list[Path]:
    return [folder for folder in folders_root().iterdir() if _is_left(folder)]


def _is_left(folder: Path) -> bool:
    """Return True if the owner of a folder is dead, even if its name is not yet written or already removed."""
    if owner := Folder(folder).tail(OWNER_FILE):
        return is_dead(owner)
    # a folder without a time has got its final name meanwhile
    is_old = time.time() - (changed_at(folder) or time.time()) > UNNAMED_LIMIT_S
    return folder.name.endswith(GONE) or (folder.name.startswith(UNNAMED) and is_old)

"""What of this host no attack may change: a file and a folder anybody may write to, and a process that must stay alive.

They stand for the host. Their names are given to scripts, which try to reach them; afterwards all must be as it was.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

UNTOUCHED = "nobody has written here\n"


@dataclass(frozen=True)
class Host:
    """The things that are watched."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def file(self) -> Path:
        """A file that any user of this host may write to."""
        return self.folder / "file"

    def harm(self) -> str | None:
        """What was done to this host, or None."""
        if self.process.poll() is not None:
            return f"process {self.process.pid} of the host is dead"
        try:
            text = self.file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            return f"{self.file} of the host is gone: {error.strerror}"
        if text != UNTOUCHED:
            return f"{self.file} of the host was written to"
        others = [path.name for path in self.folder.iterdir() if path != self.file]
        return f"{others[0]} was made in {self.folder} of the host" if others else None


@contextmanager
def watched() -> Iterator[Host]:
    """A host that is being watched; what was made for that goes when the context ends."""
    with (
        tempfile.TemporaryDirectory(prefix="parley-host-") as name,
        subprocess.Popen(["sleep", "86400"], stdin=subprocess.DEVNULL) as process,
    ):
        host = Host(Path(name), process)
        host.folder.chmod(0o777)
        host.file.write_text(UNTOUCHED, encoding="utf-8")
        host.file.chmod(0o666)
        try:
            yield host
        finally:
            process.kill()

"""Spending of a run, one line per model call, so that its limits hold across sessions, kills and lost episodes.

`spending.jsonl` is in the run's folder, or in that of a sweep for all its parts. A call is written when it is answered, so a
kill loses only the calls in flight. The sum over results would miss the calls of every unfinished episode.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from harness.agents.llm.meter import Spent
from harness.atomic_write import append_to_file, make_folder, writing
from harness.errors import UsageError
from harness.limits import FILE_BYTES
from harness.safe_read import read_file

FILE = "spending.jsonl"


class RunLedger:
    """Recorded model calls of one run on disk."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._begun = False

    def read(self) -> Spent:
        """Return the spending so far, ignoring a truncated last line; raises UsageError if the file cannot be read."""
        total = Spent()
        try:
            lines = read_file(self.path.parent.resolve(), FILE, FILE_BYTES).data.splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return total
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                # the path is invalid, which is reported when the file is written
                return total
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from None
        for line in lines:
            with suppress(ValueError, TypeError):
                total += Spent(**json.loads(line))
        return total

    def note(self, spent: Spent) -> None:
        """Write one call to the file."""
        line = json.dumps(asdict(spent)).encode() + b"\n"
        with self._lock, writing(self.path):
            make_folder(self.path.parent)
            append_to_file(self.path, b"\n" + line if self._is_cut() else line)

    def _is_cut(self) -> bool:
        """Return True if a kill truncated the last line.

        Checked before the first line of a session, which must start on a new line.
        """
        if self._begun:
            return False
        self._begun = True
        with suppress(OSError), self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
        return False

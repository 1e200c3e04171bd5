"""One command in a process of its own: what it said, how it ended, and how much memory it took at most."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


class Measured(NamedTuple):
    """What came of a command; `said` is all that it printed, `seconds` are its own."""

    code: int
    said: str
    seconds: float
    megabytes: float


def measured(words: Sequence[str], folder: Path, environ: Mapping[str, str] = {}, limit_s: float = 60.0) -> Measured:
    """Run `harness` in a folder; its peak is that of the process itself, since ru_maxrss has that of whoever forked it."""
    log, began, peak = folder / "said.log", time.monotonic(), 0
    with log.open("wb") as said:
        command = [sys.executable, "-m", "harness", *words]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said}
        with subprocess.Popen(command, cwd=folder, env={**os.environ, **environ}, **pipes) as process:
            while process.poll() is None:
                peak = max(peak, peak_of(process.pid))
                if time.monotonic() - began > limit_s:
                    process.kill()
                time.sleep(0.01)
    seconds = time.monotonic() - began
    return Measured(process.returncode, log.read_text(encoding="utf-8", errors="replace"), seconds, peak / 1024)


def peak_of(pid: int) -> int:
    """The most kB that a process has held; 0 where it has ended."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return 0
    return int(found[1]) if found else 0

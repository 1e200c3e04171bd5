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
    """What came of a command; `said` is all that it printed."""

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
                status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii", errors="replace")
                peak = max(peak, *map(int, _PEAK.findall(status)), 0)
                if time.monotonic() - began > limit_s:
                    process.kill()
                time.sleep(0.01)
    seconds = time.monotonic() - began
    return Measured(process.returncode, log.read_text(encoding="utf-8", errors="replace"), seconds, peak / 1024)

"""Runs of the command line that wait at a stage for whoever wants to stop them, or die at one of their own file operations.

One process imports everything and waits, as in tests/forked.py; each run is a copy of it. A run that is to wait does so before
the real function of its stage and says so by a file; one that is to die kills itself with SIGKILL at the n-th time that it
opens a file of its run for writing, makes, renames or removes one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness.agents.solutions
import harness.records
import harness.runs.run
import harness.runtimes.inprocess
from harness.cli import main
from tests.forked import become

LIMIT_S = 60.0
STAGES: dict[str, tuple[Any, str]] = {
    "plan": (harness.runs.run, "open_folder"),
    "open": (harness.runtimes.inprocess.InProcessRuntime, "open"),
    "agent": (harness.agents.solutions.SolutionAgent, "play"),
    "finish": (harness.runtimes.inprocess.InProcessPod, "finish"),
    "judge": (harness.runtimes.inprocess.InProcessRuntime, "judge"),
    "write": (harness.records, "write_file"),
}
"""The function that each stage of an episode in process begins with; `write` is in the middle of an episode's folder."""

_WRITING = frozenset({"os.rename", "os.mkdir", "os.remove"})


class Stoppable:
    """One run: its number, and how it ended once it has."""

    def __init__(self, pid: int, read: Callable[[], str], files: Sequence[Path]) -> None:
        self.pid, self._read, self._files = pid, read, files

    def ended(self) -> tuple[int, float, str]:
        """Wait for the end: the exit code (negative: the signal), seconds, and what was said."""
        began = time.monotonic()
        code = int(self._read())
        return code, time.monotonic() - began, "".join(file.read_text(encoding="utf-8") for file in self._files)


class StoppableRuns:
    """Starts runs, one at a time."""

    def __init__(self, root: Path, scratch: Path) -> None:
        self._scratch = scratch
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.harness.runs.stopping import serve; serve()"],
            cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def start(self, arguments: Sequence[object], environ: Mapping[str, str], **how: Any) -> Stoppable:
        """Begin a run: `stage`, `after` (how many pass first) and `marker` to wait, `folder` and `killed_at` to die."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        files = [self._scratch / name for name in ("stopped-out", "stopped-err")]
        words = [str(word) for word in arguments]
        asked = {"arguments": words, "environ": dict(environ), "files": [str(file) for file in files], **how}
        self._process.stdin.write(json.dumps(asked, default=str) + "\n")
        self._process.stdin.flush()
        return Stoppable(int(self._process.stdout.readline()), self._process.stdout.readline, files)

    def close(self) -> None:
        """End the process that waits."""
        self._process.communicate()


@contextmanager
def stoppable_runs(root: Path, scratch: Path) -> Iterator[StoppableRuns]:
    """What starts them, for the time of the context."""
    runs = StoppableRuns(root, scratch)
    yield runs
    runs.close()


def serve() -> None:
    """Make a copy of this process for each line of stdin; print its number, and its exit code when it has ended."""
    for line in sys.stdin:
        asked = json.loads(line)
        if (pid := os.fork()) == 0:
            become(asked)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if "killed_at" in asked:
                _die_at(asked["killed_at"], asked["folder"])
            elif "stage" in asked:
                _wait_at(asked["stage"], asked["after"], Path(asked["marker"]))
            break
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    else:
        return
    main()


def _wait_at(stage: str, after: int, marker: Path) -> None:
    place, name = STAGES[stage]
    real, calls = getattr(place, name), iter(range(10**6))

    def waiting(*given: Any, **named: Any) -> Any:
        if next(calls) == after:
            marker.write_text(str(os.getpid()), encoding="utf-8")
            parent, until = os.getppid(), time.monotonic() + LIMIT_S
            while os.getppid() == parent and time.monotonic() < until:
                time.sleep(0.02)
        return real(*given, **named)

    setattr(place, name, waiting)


def _die_at(number: int, folder: str) -> None:
    left = iter(range(number - 1, -1, -1))

    def heard(event: str, given: tuple[Any, ...]) -> None:
        writes = event in _WRITING or (event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and str(given[0]).startswith(folder) and next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)

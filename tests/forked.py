"""The command line in processes of their own that start within milliseconds: copies of one that has imported everything.

A command of `harness` spends most of its time on imports, with statistics half a second more on SciPy, and with a model some
two on LiteLLM; and many read every task. So one process imports all of it, reads them and waits; for each command it forks,
and the copy gets the arguments, environment, files and exit of a process of its own. What the start itself promises - which
modules a command loads - is tested in tests/harness/cli/test_cli.py and tests/test_imports.py, in processes that start from
nothing.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.agents.llm.provider import library
from harness.cli import COMMANDS, main
from tests.measured import Measured, peak_of

LIMIT_S = 120
"""After so long a command is ended by SIGALRM."""


class WaitingHarness:
    """Runs commands as copies of a process that waits beside this one; started with `environ`, and ended by `close`."""

    def __init__(self, cwd: Path, environ: Mapping[str, str], scratch: Path) -> None:
        self._scratch = scratch
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.forked import wait_for_commands; wait_for_commands()"],
            cwd=cwd, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], limit_s: int = LIMIT_S
    ) -> subprocess.CompletedProcess[str]:
        """One command: its exit code, negative where a signal ended it, and what it said."""
        code, _, _, files = self._ended(arguments, environ, limit_s)
        return subprocess.CompletedProcess(["harness", *arguments], code, *(file.read_text(encoding="utf-8") for file in files))

    def measured(self, arguments: Sequence[str], environ: Mapping[str, str], limit_s: int = LIMIT_S) -> Measured:
        """One command, with its CPU seconds and the memory that it took at most."""
        code, peak, seconds, files = self._ended(arguments, environ, limit_s)
        said = "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        return Measured(code, said, seconds, peak / 1024)

    def _ended(self, arguments: Sequence[str], environ: Mapping[str, str], limit_s: int) -> tuple[int, int, float, list[Path]]:
        files = [self._scratch / name for name in ("stdout", "stderr")]
        asked = {
            "arguments": [*arguments],
            "environ": dict(environ),
            "files": [str(file) for file in files],
            "limit_s": limit_s,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        code, peak, seconds = self._process.stdout.readline().split()
        return int(code), int(peak), float(seconds), files

    def close(self) -> None:
        """End the process that waits."""
        self._process.communicate()


def wait_for_commands() -> None:
    """Import every command, then run each command that stdin asks for in a copy of this process, and print its exit code."""
    gc.disable()  # imports leave no garbage, and looking for it takes a fourth of their time
    for module in (*(module for module, _ in COMMANDS.values()), "scipy.stats", "tests.shipped"):
        importlib.import_module(module)
    for line in sys.stdin:
        asked = json.loads(line)
        if {"run", "--model", "--dry-run"} & {*asked["arguments"]} == {"run", "--model"}:
            import_litellm()
        gc.freeze()
        if (pid := os.fork()) == 0:
            gc.enable()
            become(asked)
            end_with(main)
        print(*ended(pid), flush=True)


def end_with(command: Callable[[], None]) -> None:
    """Run a command and end as a process of its own would, but leave alone what is shared: freeing it would copy all of it."""
    try:
        command()
        code: object = 0
    except SystemExit as done:
        code = done.code
    if not isinstance(code, int | None):
        sys.exit(str(code))
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)


def ended(pid: int) -> tuple[int, int, float]:
    """Wait for a copy: its exit code, its peak in kB, which nothing tells any more once it has ended, and its CPU seconds."""
    peak = 0
    while not (done := os.wait4(pid, os.WNOHANG))[0]:
        peak = max(peak, peak_of(pid))
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(done[1]), peak, done[2].ru_utime + done[2].ru_stime


def import_litellm() -> None:
    """All of LiteLLM that a call to a model imports, four seconds of it, before the first command that calls one."""
    library()
    for module in ("openai.resources", "litellm.proxy.openai_files_endpoints.common_utils"):
        importlib.import_module(module)


def become(asked: dict[str, Any]) -> None:
    """Make this copy the process that was asked for: its arguments, environment, input, output and limit of time."""
    sys.argv = ["harness", *asked["arguments"]]
    os.environ.clear()
    os.environ.update(asked["environ"])
    tempfile.tempdir = None  # it may be known from the environment before
    for number, path in enumerate((os.devnull, *asked["files"])):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    signal.alarm(asked.get("limit_s", LIMIT_S))

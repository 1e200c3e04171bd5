"""Judges event logs in this process: one pytest session over the task's own hidden tests, for one episode or hundreds.

The tests are the same files that a verifier container runs, with the same plugin, so the verdicts are the same bytes.
1. pytest keeps its state per session, but not per thread: a lock lets one session run at a time.
2. Its plugins that replace what belongs to the whole process stay out: captured output, exception hooks, log handlers,
   warning filters, and a terminal that prints. Other threads of a run are talking to people meanwhile; and a session of
   thousands of short tests pays for each plugin thousands of times.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.errors import VerifierFailure
from harness.registry import Task
from harness.runtimes.base import Judgement

_session = threading.Lock()
_SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Hundreds of small files for a moment: in memory where there is such a place."""


def judge_in_process(task: Task, logs: Sequence[bytes]) -> list[Judgement]:
    """The judgement of each log, in order; raises VerifierFailure when the session leaves one without a verdict."""
    with tempfile.TemporaryDirectory(prefix="parley-judge-", dir=_SCRATCH) as name:
        folder = Path(name)
        listing = [_stage(folder, number, log) for number, log in enumerate(logs)]
        (folder / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listing), encoding="utf-8")
        output = _run_session(task.path / "tests", folder / "episodes.jsonl")
        return [_collect(Path(row["out"]), output) for row in listing]


def _stage(folder: Path, number: int, log: bytes) -> dict[str, str]:
    path = folder / f"{number}.jsonl"
    path.write_bytes(log)
    return {"id": str(number), "log": str(path), "out": str(folder / str(number))}


def _run_session(tests: Path, listing: Path) -> str:
    arguments = [
        str(tests / "test_outcome.py"), "-p", "validators.plugin", "--parley-episodes", str(listing),
        "--disable-plugin-autoload", "-s", "-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:unraisableexception",
        "-p", "no:threadexception", "-p", "no:faulthandler", "-p", "no:logging", "-p", "no:warnings",
        "--import-mode=importlib", "-c", "/dev/null", "--rootdir", str(tests),
    ]  # fmt: skip
    transcript = _Transcript()
    with _session:
        modules = set(sys.modules)
        pytest.main(arguments, plugins=[transcript])
        for name in set(sys.modules) - modules:
            if getattr(sys.modules[name], "__file__", None) == arguments[0]:
                del sys.modules[name]
    return "".join(f"{line}\n" for line in transcript.lines)


class _Transcript:
    """What a verifier's log tells: each test with its outcome, and what could not be collected."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_configure(self, config: pytest.Config) -> None:
        """Asks for the failed assertion alone: drawing tracebacks is most of what judging failures costs."""
        config.option.tbstyle = "value"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes one test."""
        if report.when == "call" or not report.passed:
            self.lines.append(f"{report.outcome} {report.nodeid}" + (f"\n{report.longreprtext}" if report.failed else ""))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Notes a file that does not import."""
        if report.failed:
            self.lines.append(f"not collected {report.nodeid}\n{report.longreprtext}")


def _collect(out: Path, output: str) -> Judgement:
    try:
        return Judgement((out / "reward.json").read_bytes(), (out / "verdict.json").read_bytes(), output.encode())
    except OSError:
        raise VerifierFailure(f"the tests left no verdict: {output.strip()[-400:]}") from None

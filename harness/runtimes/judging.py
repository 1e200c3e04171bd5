"""Judging of event logs in this process: one pytest session over the task's hidden tests, for one episode or hundreds.

The tests and the plugin are those of a verifier container, so the verdicts are byte-identical. pytest keeps its state per
session and not per thread, so a lock allows one session at a time; all logs that wait for it are judged together in the next
one, because a session costs ten times as much as one more verdict in it. Tasks with identical hidden tests share a session;
each episode uses its own task's certificate. Plugins that change process-wide state are disabled, because other threads of a
run print meanwhile, and so are plugins that no hidden test uses.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pluggy import HookimplMarker

from harness.errors import VerifierFailure
from harness.pod import Judgement
from harness.registry import Task, contents_of
from harness.trust import require

_session = threading.Lock()
_SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Folder for hundreds of short-lived small files, in memory if possible."""

_UNUSED = (
    "cacheprovider", "debugging", "doctest", "faulthandler", "junitxml", "legacypath", "logging", "pastebin", "recwarn",
    "setuponly", "setupplan", "stepwise", "terminal", "threadexception", "unittest", "unraisableexception", "warnings",
)  # fmt: skip
"""Plugins of pytest that are disabled in a session here."""


@dataclass
class _Waiting:
    """Log that waits for its judgement; later with the judgement, or the reason why there is none."""

    task: Task
    log: bytes
    outcome: Judgement | VerifierFailure | None = None


_door = threading.Lock()
_queue: list[_Waiting] = []


def judge_together(task: Task, log: bytes) -> Judgement:
    """Return the judgement of one log, in a session shared with other waiting logs; raises VerifierFailure if there is none."""
    mine = _Waiting(task, log)
    with _door:
        _queue.append(mine)
    with _session:
        if mine.outcome is None:
            with _door:
                waiting, _queue[:] = list(_queue), []
            _judge_batches(waiting)
    if isinstance(mine.outcome, Judgement):
        return mine.outcome
    raise mine.outcome or VerifierFailure("the tests left no verdict")


def judge_all(cases: Sequence[tuple[Task, bytes]]) -> list[Judgement | VerifierFailure]:
    """Return the judgement of each log, or its failure; logs with identical hidden tests share a session."""
    waiting = [_Waiting(task, log) for task, log in cases]
    with _session:
        _judge_batches(waiting)
    return [one.outcome or VerifierFailure("the tests left no verdict") for one in waiting]


def judge_in_process(task: Task, logs: Sequence[bytes]) -> list[Judgement]:
    """Return the judgement of each log, in order; raises VerifierFailure if the session leaves one without a verdict."""
    with _session:
        return _judged([(task, log) for log in logs])


def _judge_batches(waiting: Sequence[_Waiting]) -> None:
    """Judge all logs, those with identical hidden tests together."""
    groups: dict[tuple[tuple[str, bytes], ...], list[_Waiting]] = {}
    for one in waiting:
        tests = contents_of(one.task.path, "tests").items()
        groups.setdefault(tuple((name, file.data) for name, file in tests if name != "oracle.json"), []).append(one)
    for batch in groups.values():
        _judge_batch(batch)


def _judge_batch(batch: Sequence[_Waiting]) -> None:
    try:
        judged = _judged([(one.task, one.log) for one in batch])
    except VerifierFailure as error:
        batch[0].outcome = error
        # one of these logs broke the session, so judge the others separately
        for one in batch if len(batch) > 1 else ():
            _judge_batch([one])
        return
    for one, judgement in zip(batch, judged, strict=True):
        one.outcome = judgement


def _judged(cases: Sequence[tuple[Task, bytes]]) -> list[Judgement]:
    for task in {task.path: task for task, _ in cases if not task.admitted}.values():
        require(task)
    with tempfile.TemporaryDirectory(prefix="parley-judge-", dir=os.environ.get("TMPDIR", _SCRATCH)) as name:
        folder = Path(name)
        listing: list[dict[str, str]] = []
        for number, (task, log) in enumerate(cases):
            path = folder / f"{number}.jsonl"
            path.write_bytes(log)
            tests = str(task.path.resolve() / "tests")
            listing.append({"id": str(number), "log": str(path), "out": str(folder / str(number)), "tests": tests})
        (folder / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listing), encoding="utf-8")
        transcript = _run_session(cases[0][0].path.resolve() / "tests", folder / "episodes.jsonl") if cases else _Transcript()
        return [_collect(Path(row["out"]), transcript.of(row["id"])) for row in listing]


def _run_session(tests: Path, listing: Path) -> _Transcript:
    arguments = [
        str(tests / "test_outcome.py"), "-p", "validators.plugin", "--parley-episodes", str(listing), "-s",
        "--disable-plugin-autoload", "--import-mode=importlib", "-c", "/dev/null", "--rootdir", str(tests),
        "--confcutdir", str(tests), *(word for plugin in _UNUSED for word in ("-p", f"no:{plugin}")),
    ]  # fmt: skip
    import pytest  # noqa: PLC0415 - a fifth of a second at each start of a command
    from _pytest import runner  # noqa: PLC0415

    transcript = _Transcript()
    modules = set(sys.modules)
    # pytest sets the current test in the process environment, which threads of other episodes read
    with patch.object(runner, "_update_current_test_var", lambda *_: None, create=True):
        pytest.main(arguments, plugins=[transcript])
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) == arguments[0]:
            del sys.modules[name]
    return transcript


class _Transcript:
    """Content of a verifier's log: each test with its outcome, and files that could not be collected."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}
        """Lines by episode, or "" for those that belong to no episode."""

    def of(self, episode: str) -> str:
        """Return the lines of one episode: its own tests, and lines that belong to no episode."""
        return "".join((*self._lines.get("", ()), *self._lines.get(episode, ())))

    @HookimplMarker("pytest")(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Report a failure by its message and place, because formatting tracebacks is most of the cost of judging failures."""
        if call.excinfo is None or call.when == "collect" or not isinstance(call.excinfo.value, Exception):
            return None
        import pytest  # noqa: PLC0415

        last = call.excinfo.traceback[-1]
        said = f"{last.path}:{last.lineno + 1}: {call.excinfo.exconly()}"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", said, call.when, duration=call.duration)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record one test."""
        if report.when == "call" or not report.passed:
            self._note(report.outcome, report)

    def pytest_collectreport(self, report: Any) -> None:
        """Record a file that cannot be imported."""
        if report.failed:
            self._note("not collected", report)

    def _note(self, outcome: str, report: Any) -> None:
        test, _, episode = report.nodeid.removesuffix("]").partition("[")
        said = f"\n{report.longreprtext}" if report.failed else ""
        self._lines.setdefault(episode, []).append(f"{outcome} {test}{said}\n")


def _collect(out: Path, output: str) -> Judgement:
    try:
        return Judgement((out / "reward.json").read_bytes(), (out / "verdict.json").read_bytes(), output.encode())
    except OSError:
        raise VerifierFailure(f"the tests left no verdict: {output.strip()[-400:]}") from None

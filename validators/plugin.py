"""pytest plugin of every hidden validator: it provides fixtures and writes one verdict per episode.

Fixtures: `episode` (typed events, chain verified), `verdict` (the family's assessment), `certificate` (tests/oracle.json).
1. In a verifier container there is one episode: the log in /state, the outcome in /logs/verifier.
2. With `--parley-episodes FILE` (JSON lines {"id", "log", "out", "tests"}) `episode` is parametrised over all of them, so one
session judges hundreds; `tests` is the folder of that episode's own certificate.
3. At the end of the session, verdict.json and reward.json are written once per episode. A failed assertion, a missing log, a
broken chain, a test file that fails to import, or a session without tests gives reward 0; the verdict gives the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json

from validators.episode import Episode
from validators.verdict import UNEXPLAINED, UNEXPLAINED_SEVERITY, Check, Verdict, write_outcome
from worlds.core.events import GENESIS
from worlds.core.parts import import_part

LOG = Path("/state/events.jsonl")
OUT = Path("/logs/verifier")
_MESSAGE_CAP = 500


@dataclass
class Case:
    """One episode of this session."""

    id: str
    log: Path
    out: Path
    tests: Path = Path()
    """The folder of the hidden tests."""

    checks: list[Check] = field(default_factory=list)
    unreadable: str = ""

    @cached_property
    def episode(self) -> Episode:
        """The log; raises LogError or OSError."""
        try:
            return Episode.read(self.log)
        except (OSError, ValueError) as error:
            self.unreadable = str(error)
            raise

    @cached_property
    def certificate(self) -> dict[str, Any] | None:
        """Content of oracle.json beside the test file, which was proved at authoring time; None if there is none."""
        path = self.tests / "oracle.json"
        return from_json(path.read_bytes()) if path.is_file() else None

    @cached_property
    def verdict(self) -> Verdict:
        """The family's own assessment."""
        family = self.episode.opened.family
        judging = import_part("validators", family, "verdict")
        if judging is None:
            raise LookupError(f"the family {family!r} has no verdict")
        assess: Callable[[Episode, dict[str, Any] | None], Verdict] = judging.assess
        return assess(self.episode, self.certificate)

    def outcome(self, session_error: str) -> Verdict:
        """Return the final verdict: the assessment, with reward 0 unless every check ran and passed."""
        checks = tuple(self.checks)
        try:
            assessed = self.verdict
        except Exception as error:  # noqa: BLE001 - whatever broke the assessment belongs into the verdict
            return _nothing(self.unreadable or f"{type(error).__name__}: {error}", checks)
        if checks and all(check.ok for check in checks) and not session_error:
            return assessed.model_copy(update={"checks": checks})
        if not assessed.success:
            return assessed.model_copy(update={"checks": checks, "reward": 0.0})
        why = session_error or next((check.message for check in checks if not check.ok), "no test ran")
        failed = {"success": False, "reward": 0.0, "failure_label": UNEXPLAINED, "severity": UNEXPLAINED_SEVERITY}
        return assessed.model_copy(update={"checks": checks, "failure_detail": {"reason": why}, **failed})


def _nothing(why: str, checks: tuple[Check, ...]) -> Verdict:
    return Verdict(
        task_id="", family="", seed=0, success=False, reward=0.0, failure_label=UNEXPLAINED, severity=UNEXPLAINED_SEVERITY,
        failure_detail={"reason": "unreadable", "why": why}, steps=0, virtual_time_elapsed=0.0,
        trace_hash=GENESIS, checks=checks,
    )  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --parley-episodes."""
    parser.addoption("--parley-episodes", default=None, help="JSON lines {id, log, out}: judge many episodes in one session")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the episodes of this session."""
    tests = Path(config.args[0].partition("::")[0] if config.args else ".").parent
    config.stash[_CASES] = {case.id: case for case in _cases(config.getoption("--parley-episodes"), tests)}


_CASES: pytest.StashKey[dict[str, Case]] = pytest.StashKey()


def _cases(listing: str | None, tests: Path) -> list[Case]:
    if listing is None:
        return [Case("episode", LOG, OUT, tests)]
    rows = [json.loads(line) for line in Path(listing).read_text(encoding="utf-8").splitlines()]
    return [Case(row["id"], Path(row["log"]), Path(row["out"]), Path(row.get("tests", tests))) for row in rows]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise every test that uses an episode, so that it runs once per episode."""
    if "case" in metafunc.fixturenames:
        names: list[str] = [*metafunc.config.stash[_CASES]]
        metafunc.parametrize("case", names, indirect=True)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """Return the episode's place in this session; test files use `episode` and `verdict`."""
    return request.config.stash[_CASES][request.param]


@pytest.fixture
def episode(case: Case) -> Episode:
    """Return the typed events of the episode, chain verified."""
    return case.episode


@pytest.fixture
def verdict(case: Case) -> Verdict:
    """Return the family's assessment of the episode."""
    return case.verdict


@pytest.fixture
def certificate(case: Case) -> dict[str, Any]:
    """Return the certificate made at authoring time: oracle.json beside the test file."""
    assert case.certificate is not None, "the task has no tests/oracle.json"
    return case.certificate


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Record failed and skipped phases, and each call, on the test's episode, or on all episodes if it has none."""
    report = yield
    if not report.passed or report.when == "call":
        # the lines after the first depend on pytest's version and on the order of sets
        message = "" if report.passed else _first_line(str(call.excinfo.value if call.excinfo else report.longrepr))
        check = Check(name=getattr(item, "originalname", item.name), ok=report.passed, message=message)
        cases, chosen = item.config.stash[_CASES], getattr(item, "callspec", None)
        for case in [cases[chosen.params["case"]]] if chosen and "case" in chosen.params else cases.values():
            case.checks.append(check)
    return report


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["it failed without a word"])[0][:_MESSAGE_CAP]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write every outcome."""
    broken = {2: "the session was interrupted or a test file does not import", 3: "pytest failed", 5: "no test ran"}
    for made in session.config.stash[_CASES].values():
        write_outcome(made.out, made.outcome(broken.get(int(exitstatus), "")))

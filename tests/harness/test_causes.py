"""The closed table of causes: each row as a played episode, said in the same words everywhere; old records; caveats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.attribution import EpisodeState
from harness.causes import CAUSES, FORFEITS, CauseName, Responsible
from harness.cli.summary import show_closing
from harness.episode import run_episode
from harness.errors import (
    BoundaryError,
    ClientFailure,
    LimitReached,
    ProviderFailure,
    ProviderLost,
    RetriesExhausted,
    RuntimeFailure,
    SetupFault,
    VerifierFailure,
    WorldFailure,
)  # fmt: skip
from harness.headline import setup_caveat
from harness.live_agent import Agent
from harness.outcome import Outcome, outcome_of, record
from harness.paths import ROOT
from harness.pod import EpisodeSpec, Pod
from harness.records import Forfeits, Key, Result, RunFolder, Tokens
from harness.registry import Task, read_task
from harness.runs.plan import Plan
from harness.runs.run import POLICIES
from harness.runtimes.inprocess import InProcessRuntime
from parley.bulk import lost_episodes
from parley.caveats import bounds_of, forfeits_told
from parley.interop.harbor_job import HarborJob
from parley.reports.board import board
from parley.reports.causes import NAME
from parley.reports.evidence import Breadth, gather, read_runs
from parley.reports.reading import episode_lines, read_episode
from parley.reports.reading.addresses import episode_page
from parley.reports.viewing import Library, Site
from parley.reports.whole import make_report
from worlds.core.turns import NO_REPLY_CAUSES

TASK = read_task(ROOT / "tasks" / "contract" / "presigned-url-download")
NAMES: tuple[CauseName, ...] = tuple(CAUSES)
STOPS = ("turns", "wall", "tokens", "cost", "context")
ENDS = ("no_action", "refusal", "empty_replies")
WORLD = ("steps", "virtual_time", "request_cap")
FAILURES: dict[str, type[BoundaryError]] = {
    "provider_timeout": RetriesExhausted, "world_fault": WorldFailure, "runtime_failure": RuntimeFailure,
    "client_failure": ClientFailure, "verifier_failure": VerifierFailure, "spending_limit": LimitReached,
}  # fmt: skip


class Caused(Agent):
    """An agent whose episode ends by one row of the table, or is disturbed by it."""

    name, only_computes = "caused", False

    def __init__(self, row: CauseName) -> None:
        self.row = row

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """Make the row happen."""
        row = self.row
        if row in STOPS:
            report.stopped_by = row
            pod.stop(row)
        elif row in ENDS:
            report.ended_by = row
        elif row == "reasoning_dropped":
            report.disturbed[row] += 3
        elif row == "agent_error":
            raise KeyError("what a model wrote")
        elif row == "cancelled":
            raise KeyboardInterrupt
        elif CAUSES[row].responsible == "setup":
            raise SetupFault("as the server answered", row)
        else:
            failure = FAILURES.get(row, ProviderFailure)("as the server answered")
            failure.name = row
            raise failure


def closed_by_the_world(spec: EpisodeSpec, key: Key, row: CauseName) -> Outcome:
    """The outcome of an episode whose log ends with the world's own budget, beside the files of one that was played."""
    files = run_episode(spec, key, InProcessRuntime(), Caused("turns"), Budget()).files
    log = json.dumps({"type": "closed", "cause": row}).encode()
    return Outcome(outcome_of(spec, "inprocess", EpisodeState(Report("caused"), key, log=log, opened=True)).result, files)


def outcome_of_row(row: CauseName, number: int) -> Outcome:
    """An episode that the row ended or disturbed, as attempt `number`."""
    key = Key(task_id=TASK.task_id, family="contract", seed=0, attempt=number)
    spec = EpisodeSpec("causes", key.name, TASK, 0, Plan("causes", [TASK], [0], 1, AgentSpec()).key, {})
    if row == "provider_lost":
        return lost_episodes([(spec, key)], Caused(row), ProviderLost("as the server answered"), "inprocess")[0]
    if row in WORLD:
        return closed_by_the_world(spec, key, row)
    return run_episode(spec, key, InProcessRuntime(), Caused(row), Budget())


class Told(NamedTuple):
    """What is said of the episode of each row."""

    results: dict[CauseName, Result]
    folder: Path
    report: dict[str, Any]
    leaderboard: str


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One run with an attempt for each row."""
    folder = RunFolder(tmp_path_factory.mktemp("runs") / "causes")
    plan = Plan("causes", [TASK], [0], len(NAMES), AgentSpec())
    folder.write_plan(plan.record("inprocess", {}).model_dump(mode="json"))
    results = {row: record(outcome_of_row(row, number), folder) for number, row in enumerate(NAMES, start=1)}
    read = read_runs([folder.path])
    report = make_report(read, [TASK], [], published=False, breadth=Breadth())
    table = board([gather(read, "contract", [TASK])], published=False)
    return Told(results, folder.path, report.document(), json.dumps(table.document()))


@pytest.mark.parametrize("row", NAMES)
def test_a_row_reads_the_same_everywhere(told: Told, row: CauseName, capsys: pytest.CaptureFixture[str]) -> None:
    """result.json has the name; closing line, show, the page, the report's table and the leaderboard have the message."""
    cause, result = CAUSES[row], told.results[row]
    episode = read_episode(Path(result.path))
    written = json.loads((Path(result.path) / "result.json").read_bytes())
    show_closing([result], told.folder, beside_json=True)
    closing, shown = capsys.readouterr().err, "\n".join(episode_lines(episode, 200))
    served = Site(Library([told.folder.parent])).answer(episode_page("causes", result.key))
    assert served is not None
    page = served.body.decode()
    rows = next(table["rows"] for table in told.report["tables"] if table["name"] == NAME)

    is_disturbance = row == "reasoning_dropped"
    assert (written["disturbed"] == {row: 3}) if is_disturbance else (written["ended_by"] == row)
    assert (result.status == "graded") == cause.is_graded
    assert result.cause in {None, cause.responsible}
    for text in (closing, shown, page.replace("&#39;", "'")):
        assert cause.message in text
    (mine,) = (one for one in rows if one["cause"] == row)
    assert (mine["message"], mine["responsible"], mine["graded"] == "yes") == (
        cause.message,
        cause.responsible,
        cause.is_graded,
    )
    assert cause.message in told.leaderboard or is_disturbance
    if not is_disturbance:
        first = next(line for line in closing.splitlines() if result.key.name in line)
        assert re.search(rf"(stopped: |ungraded, {cause.responsible}: ){re.escape(cause.message)}", first), first


def test_the_table_is_closed() -> None:
    """Every row and responsible has its place; forfeits have the causes of the world's turns; set-up is never retried."""
    assert set(CAUSES) == set(get_args(CauseName))
    assert {row.responsible for row in CAUSES.values()} <= set(get_args(Responsible))
    assert set(FORFEITS) == NO_REPLY_CAUSES
    assert set(POLICIES) == {"provider", "runtime"}
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8").partition("## Causes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    due = [(name, row.message, row.responsible, "yes" if row.is_graded else "no") for name, row in CAUSES.items()]
    assert rows == due


RECORD = {
    "run": "run", "task_id": "a", "family": "contract", "seed": 0, "attempt": 1, "agent": "x", "runtime": "inprocess",
    "key_digest": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        ({"status": "ungraded", "cause": "provider"}, "provider_error"),
        ({"status": "ungraded", "cause": "provider", "may_pass": True}, "provider_timeout"),
        ({"status": "ungraded", "cause": "runtime"}, "runtime_failure"),
        ({"status": "ungraded", "cause": "limit"}, "spending_limit"),
        ({"status": "graded", "cause": "world"}, "world_fault"),
        ({"status": "graded", "stopped_by": "context"}, "context"),
        ({"status": "graded", "stopped_by": "something else"}, None),
        ({"status": "graded"}, None),
    ],
)
def test_old_records_are_read(fields: dict[str, Any], row: CauseName | None) -> None:
    """A record without the new fields names its row by who failed and by the budget, and is the same when it is read again."""
    result = Result.model_validate_json(json.dumps({**RECORD, **fields}))

    assert (result.ended_by, result.disturbed, result.forfeits) == (row, {}, ())
    assert Result.model_validate_json(result.model_dump_json()) == result


def results(*outcomes: str, **fields: Any) -> list[Result]:
    """Results by outcome: `success`, `failure`, or the row that left one ungraded or stopped it."""
    return list(_results(outcomes, fields))


def _results(outcomes: tuple[str, ...], fields: dict[str, Any]) -> Iterator[Result]:
    for number, outcome in enumerate(outcomes, start=1):
        row: Any = None if outcome in {"success", "failure"} else outcome
        lost = row is not None and not CAUSES[row].is_graded
        yield Result.model_validate({
            **RECORD, "attempt": number, "status": "ungraded" if lost else "graded", "success": outcome == "success",
            "cause": CAUSES[row].responsible if row else None, "ended_by": row,
            "reward": None if lost else float(outcome == "success"), "failure_label": None if lost else "OTHER", **fields,
        })  # fmt: skip


def test_bounds_say_what_ungraded_episodes_could_change() -> None:
    """Of 3 of 6 graded and 4 ungraded: 30 % to 70 %, by who is responsible; nothing where all are graded."""
    graded = results(*["success"] * 3, *["failure"] * 3)
    lost = results("provider_error", "provider_timeout", "provider_error", "tools_not_seen")
    bounds = bounds_of(graded, lost, lambda one: float(one.success))

    assert bounds is not None
    assert bounds.sentence() == "30.0% to 70.0% if the 4 ungraded episodes had failed / succeeded: provider 3, setup 1"
    assert bounds_of(graded, [], lambda one: float(one.success)) is None
    by_task = bounds_of(graded, lost, lambda one: float(one.success), lambda one: one.attempt == 1)
    assert by_task is not None
    assert by_task.failed == pytest.approx((1 / 2 + 2 / 8) / 2)
    assert by_task.succeeded == pytest.approx((1 + 5 / 8) / 2)


def test_closing_lines_have_bounds_and_the_set_up_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With 2 of 16 episodes lost to their set-up the first line says so; bounds and causes stand under the counts."""
    (tmp_path / "run").mkdir()
    show_closing(
        results(*["success"] * 12, "failure", "provider_error", *["tools_not_seen"] * 2), tmp_path / "run", beside_json=True
    )
    lines = [line for line in capsys.readouterr().err.splitlines() if line]

    assert lines[0].startswith("SET-UP: 2 of 16 episodes (12%) met a fault of the set-up")
    assert "the model was never shown the tools (2)" in lines[0]
    due = "success 92.3% (75.0% to 93.8% if the 3 ungraded episodes had failed / succeeded: setup 2, provider 1)"
    assert any(due in line for line in lines)
    assert any("stopped: the model was never shown the tools (2), the provider returned an error (1)" in line for line in lines)


@pytest.mark.parametrize(("faults", "is_marked"), [(1, False), (2, True)])
def test_a_tenth_of_set_up_faults_is_not_yet_marked(faults: int, *, is_marked: bool) -> None:
    """10 % pass, more do not; what disturbed a graded episode counts too."""
    disturbed = results(*["success"] * faults, disturbed={"reasoning_dropped": 4})
    caveat = setup_caveat([*disturbed, *results(*["success"] * (10 - faults))])

    assert bool(caveat) is is_marked
    assert not is_marked or "the model's reasoning was not sent back to it (2)" in caveat


def test_forfeits_are_told_by_seat() -> None:
    """A seat and its reason in words; what a seat declined is no failure."""
    given_up = (Forfeits(seat=2, cause="context", count=14), Forfeits(seat=0, cause="declined", count=9))

    assert list(forfeits_told(given_up)) == ["seat 2 forfeited 14 turns: the conversation is longer than the model's context"]


def test_what_was_not_judged_is_not_said_to_be_missing(told: Told) -> None:
    """An ungraded episode has no verdict and no time by the world's clock; one call is one call."""
    episode = read_episode(Path(told.results["provider_error"].path))
    once = episode.result.model_copy(update={"tokens": Tokens(calls=1)})
    lines = list(episode_lines(episode.model_copy(update={"result": once}), 200))

    assert "verdict.json" in episode.absent
    assert [line for line in lines if "verdict.json" in line or "virtual s" in line] == []
    assert any(" out in 1 call, " in line for line in lines)


def test_an_export_carries_what_ended_an_episode(told: Told, tmp_path: Path) -> None:
    """A trial of Harbor names the row, and the message where it is ungraded."""
    result = told.results["tools_not_seen"]
    read = read_runs([told.folder])[0]
    episode = read_episode(Path(result.path))
    job = HarborJob(tmp_path / "job", "run", datetime(2026, 1, 1, tzinfo=UTC), read.planned.tasks)
    job.add(episode, {}, b"")
    (trial,) = (tmp_path / "job").glob("*/result.json")
    said = json.loads(trial.read_bytes())

    assert said["agent_result"]["metadata"]["ended_by"] == "tools_not_seen"
    assert CAUSES["tools_not_seen"].message in said["exception_info"]["exception_message"]

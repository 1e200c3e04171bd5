"""`harness run --until`: two players task by task, stopped when it is clear who is better, killed and gone on with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.agent import AgentSpec
from harness.agents.llm.meter import Meter
from harness.cli.progress import plainly, standing
from harness.records import Key, Result
from harness.registry import Task, discover
from harness.runs.executors.base import Finished, Scored
from harness.runs.plan import Plan
from harness.runs.request import Until
from harness.runs.session import WatchedRun
from parley.reports.stream import streamed
from parley.sweeps.early_stopping import read_decision, write_decision
from parley.sweeps.session import play_until
from worlds.core.chance import PUBLISHED_KEY, key_digest

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def plan(root: Path) -> Plan:
    """Sixty calendars at two seeds."""
    tasks: Sequence[Task] = [task for task in discover(root / "tasks") if task.family == "calendar"][:60]
    return Plan("run", tasks, [0, 1], 1, AgentSpec())


def scored(key: Key, coordination: float, status: str = "graded") -> Result:
    """A recorded game."""
    return Result.model_validate(
        {**key.model_dump(), "run": "run", "agent": "x", "runtime": "inprocess", "status": status, "key_digest":
         key_digest(PUBLISHED_KEY), "metrics": {"means": {"coordination": coordination}}}
    )  # fmt: skip


class Scripted:
    """Plays the first part at 1 and the second at `other`; loses what it is told to."""

    def __init__(self, other: float, lost: Sequence[str] = ()) -> None:
        self.other, self.lost = other, lost
        self.played: list[tuple[str, str]] = []

    def __call__(self, part: str, keys: Sequence[Key]) -> list[Result]:
        """The results of these episodes, noted."""
        self.played += [(part, key.task_id) for key in keys]
        worth = 1.0 if part == "a" else self.other
        return [scored(key, worth, "ungraded" if key.task_id in self.lost else "graded") for key in keys]


def until_of(plan: Plan) -> Until:
    """The order of the plan, turned around."""
    return Until(first="a", second="b", order=tuple(task.task_id for task in plan.tasks[::-1]))


def test_stops_when_decided(plan: Plan, tmp_path: Path) -> None:
    """A difference of 1 a task is decided after the seventh or so; both played the same tasks, in the frozen order."""
    until, play = until_of(plan), Scripted(0.0)
    decision = play_until(until, plan, tmp_path, 2, play)

    done = [step.task for step in decision.path]
    assert decision.winner == "a"
    assert done == list(until.order[: len(done)])
    assert len(done) < 12
    assert [task for part, task in play.played if part == "a"] == [task for part, task in play.played if part == "b"]
    assert {task for _, task in play.played} == {*done}
    assert read_decision(tmp_path) == decision


def test_says_where_the_decision_stands(plan: Plan, tmp_path: Path) -> None:
    """Before the first task and after each that is scored: the e-value, what it needs, and who is ahead; on a resume too."""
    until, heard = until_of(plan), list[Scored]()
    whole = play_until(until, plan, tmp_path, 2, Scripted(0.0), tell=heard.append)

    assert [one.scored for one in heard] == list(range(len(whole.path) + 1))
    assert standing(heard[0]) == "no task of 60 scored yet; the run stops at an e-value of 20"
    last = f"a - b +1.00 on {until.order[1]}"
    assert standing(heard[2]) == f"2 of 60 tasks scored, e-value {whole.path[1].e_value:.2f} of 20 needed, a ahead; {last}"
    assert (heard[0].ahead, heard[-1].ahead, heard[-1].e_value) == (None, "a", whole.path[-1].e_value)
    play_until(until, plan, tmp_path, 2, Scripted(0.0), tell=heard.append)
    assert heard[-1] == heard[-2]


def test_lines_count_both_players_and_name_them(plan: Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two players have episodes of the same names: neither hides the other in a line, nor in the totals of events."""
    key = plan.keys[0]
    both = [scored(key, 1.0).model_copy(update={"run": run, "reward": 1.0}) for run in ("agent=a", "agent=b")]
    watched = WatchedRun(240, (), Meter(), tmp_path)
    with streamed(plainly, str(tmp_path / "events"))(watched) as heard:
        play_until(until_of(plan), plan, tmp_path, 2, Scripted(0.0), lambda: False, heard)
        for one in both:
            heard(Finished(key, one))
    lines, events = capsys.readouterr().err.splitlines(), (tmp_path / "events").read_bytes().splitlines()

    assert [line[: line.index(key.name)] for line in lines[1:]] == ["[1/240] a: ", "[2/240] b: "]
    assert lines[0] == "no task of 60 scored yet; the run stops at an e-value of 20"
    assert [json.loads(line)["event"] for line in events] == ["begun", "scored", "finished", "finished", "ended"]
    assert json.loads(events[-1])["totals"]["done"] == 2


def test_either_direction(plan: Plan, tmp_path: Path) -> None:
    """The second player wins as fast, where it is named first."""
    until = until_of(plan)
    decision = play_until(until.model_copy(update={"first": "b", "second": "a"}), plan, tmp_path, 2, Scripted(0.0))

    assert decision.winner == "a"
    assert decision.differences[0] == -1.0


def test_used_up(plan: Plan, tmp_path: Path) -> None:
    """Two players alike play all tasks, and nothing is decided."""
    decision = play_until(until_of(plan), plan, tmp_path, 8, Scripted(1.0))

    assert (decision.winner, len(decision.path), decision.share) == (None, 60, 1.0)


def test_goes_on_where_it_was(plan: Plan, tmp_path: Path) -> None:
    """A path that was cut after three steps is gone on with after them; a decided one plays nothing more."""
    until = until_of(plan)
    whole = play_until(until, plan, tmp_path, 2, Scripted(0.0))
    write_decision(tmp_path, whole.model_copy(update={"path": whole.path[:3]}))
    again = Scripted(0.0)

    assert play_until(until, plan, tmp_path, 2, again) == whole
    assert {task for _, task in again.played} == {step.task for step in whole.path[3:]}
    idle = Scripted(0.0)
    assert play_until(until, plan, tmp_path, 2, idle) == whole
    assert idle.played == []


def test_a_task_that_was_lost_is_scored_later(plan: Plan, tmp_path: Path) -> None:
    """What a provider lost is passed over, and comes after the others when the run is gone on with."""
    until = until_of(plan)
    first = play_until(until, plan, tmp_path, 2, Scripted(1.0, lost=until.order[:1]))
    second = play_until(until, plan, tmp_path, 2, Scripted(1.0))

    assert first.left == [until.order[0]]
    assert [step.task for step in second.path] == [*until.order[1:], until.order[0]]


def test_a_limit_in_the_midst_of_a_task_scores_nothing_of_it(plan: Plan, tmp_path: Path) -> None:
    """What the run may spend is spent in the fourth task: three are scored, no more is begun, a resume scores the fourth."""
    until, played = until_of(plan), list[str]()

    def play(part: str, keys: Sequence[Key]) -> list[Result]:
        played.extend(key.task_id for key in keys)
        mine = [scored(key, 1.0) for key in keys]
        return mine if keys[0].task_id != until.order[3] or part == "a" else mine[:1]

    first = play_until(until, plan, tmp_path, 2, play, lambda: until.order[3] not in played)
    second = play_until(until, plan, tmp_path, 2, Scripted(1.0))

    assert [step.task for step in first.path] == [*until.order[:3]]
    assert set(played) == {*until.order[:4]}
    assert [step.task for step in second.path] == [*until.order]


@pytest.mark.property
def test_a_real_run(harness: Command, tmp_path: Path) -> None:
    """Imap against dsm-private over all calendars: decided for imap on a few of them; resumed, it plays nothing more."""
    out = tmp_path / "run"
    words = ("calendar", "--agent", "imap,dsm-private", "--until", "imap-dsm-private", "--runtime", "inprocess", "--yes")
    done = harness("run", *words, "--out", str(out), "--json", "--jsonl", str(tmp_path / "events"))
    events = [json.loads(line) for line in (tmp_path / "events").read_bytes().splitlines()]
    last = next(event for event in reversed(events) if event["event"] == "scored")
    told = json.loads(done.stdout)
    before = {path: path.stat().st_mtime_ns for path in out.glob("agent=*/episodes/*/*/*/result.json")}
    again = harness("run", "--resume", str(out))
    plan = json.loads((out / "agent=imap" / "run.json").read_text(encoding="utf-8"))

    assert told["until"]["winner"] == last["ahead"] == "agent=imap"
    assert last["e_value"] >= last["needed"] == 20
    assert last["e_value"] == told["until"]["path"][-1]["e_value"]
    scored_tasks, all_tasks = len(told["until"]["path"]), len(told["until"]["until"]["order"])
    assert 2 * scored_tasks <= len(before) <= 2 * (scored_tasks + 1)
    assert scored_tasks < 0.5 * all_tasks
    assert plan["request"]["until"]["order"] == told["until"]["until"]["order"]
    assert "imap is better than dsm-private: e-value" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in out.glob("agent=*/episodes/*/*/*/result.json")} == before
    part = harness("run", "--resume", str(out / "agent=imap"))
    assert (part.returncode, "is one of two players" in part.stderr) == (2, True)

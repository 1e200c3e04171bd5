"""A run plays what is not finished, keeps what was, and refuses to go on with another plan."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget, Report
from harness.agent_factory import AgentPool
from harness.agents.scripted import ScriptedAgent
from harness.attribution import Phase
from harness.errors import Cancelled, ProviderFailure, RuntimeFailure, UsageError, VerifierFailure, WorldFailure
from harness.live_agent import Agent
from harness.pod import EpisodeSpec, Judgement, Pod
from harness.records import Result, RunFolder
from harness.registry import Task, read_task
from harness.runs.executors.base import News, Progress, Started
from harness.runs.plan import Plan
from harness.runs.run import run_plan, summary
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from parley.proof.sync import new_task
from worlds.core.errors import WireError


@pytest.fixture
def plan(presigned: Task) -> Plan:
    """Four episodes of the oracle."""
    return Plan("run", [presigned], [0, 1], 2)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """An empty run."""
    return RunFolder(tmp_path / "run")


def played(
    plan: Plan,
    folder: RunFolder,
    *,
    agent: Agent | None = None,
    runtime: Any = None,
    workers: int = 2,
    progress: Progress = lambda event: None,
) -> list[Result]:
    """The plan, run in process; by this agent, where one is given."""
    cast = AgentPool(lambda *_: agent) if agent else None
    return run_plan(plan, runtime or InProcessRuntime(), folder, workers=workers, images={}, progress=progress, cast=cast)


class FailingAgent(Agent):
    """Fails in seed 1 with what it was given, after it has spoken to the world."""

    name = "failing"
    only_computes = False

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure

    def play(self, task: Task, seed: int, pod: Pod, budget: Budget, report: Report, attempt: int = 1) -> None:
        """One action, then the failure."""
        ScriptedAgent([{"request": {"target": "/task"}}]).play(task, seed, pod, budget, report)
        if seed == 1:
            raise self.failure


def test_four_episodes(plan: Plan, folder: RunFolder) -> None:
    """Every episode has its folder, in plan order, with all its files."""
    results = played(plan, folder)
    names = ["agent.log", "events.jsonl", "result.json", "reward.json", "trajectory.json", "verdict.json", "verifier.log"]

    assert [(0, 1), (0, 2), (1, 1), (1, 2)] == [(result.seed, result.attempt) for result in results]
    assert all(names == sorted(path.name for path in Path(result.path).iterdir()) for result in results)
    assert {"episodes": 4, "success": 4, "mean_reward": 1.0, "ungraded": 0} == summary(results)


def test_record_agrees_with_its_files(plan: Plan, folder: RunFolder) -> None:
    """Result, verdict, reward, rewards.jsonl and log tell the same."""
    result = played(replace(plan, seeds=[0], attempts=1), folder)[0]
    path = Path(result.path)
    verdict, row = json.loads((path / "verdict.json").read_bytes()), json.loads((folder.path / "rewards.jsonl").read_bytes())
    last = json.loads((path / "events.jsonl").read_bytes().splitlines()[-1])

    assert Result.model_validate_json((path / "result.json").read_bytes()) == result
    assert verdict["trace_hash"] == last["hash"] == row["trace_hash"] == result.trace_hash
    assert ({"reward": 1.0}, 1.0, 1.0) == (json.loads((path / "reward.json").read_bytes()), row["reward"], verdict["reward"])


@pytest.mark.property
def test_hashes_do_not_depend_on_workers(plan: Plan, tmp_path: Path) -> None:
    """One worker or four, the traces are the same, and attempts at one seed are equal."""
    hashes = [[result.trace_hash for result in played(plan, RunFolder(tmp_path / str(n)), workers=n)] for n in (1, 4)]

    assert hashes[0] == hashes[1]
    assert (hashes[0][0], 2) == (hashes[0][1], len(set(hashes[0])))


def test_resume_plays_only_what_is_missing(plan: Plan, folder: RunFolder) -> None:
    """A finished episode is not played again, a deleted one is."""
    first = played(plan, folder)
    shutil.rmtree(first[2].path)
    before = {result.path: Path(result.path, "result.json").stat().st_mtime_ns for result in first if result != first[2]}
    news: list[News] = []
    again = played(plan, folder, progress=news.append)

    assert [first[2].key] == [event.key for event in news if isinstance(event, Started)]
    assert before == {path: Path(path, "result.json").stat().st_mtime_ns for path in before}
    assert [result.trace_hash for result in first] == [result.trace_hash for result in again]
    assert len((folder.path / "rewards.jsonl").read_text(encoding="utf-8").splitlines()) == 4


def test_truncated_result_is_played_again(plan: Plan, folder: RunFolder) -> None:
    """A result that does not read is none; its folder is kept as evidence."""
    first = played(plan, folder)
    Path(first[0].path, "result.json").write_bytes(b'{"run":')

    assert [result.trace_hash for result in first] == [result.trace_hash for result in played(plan, folder)]
    assert [path.name for path in Path(first[0].path).parent.joinpath("attempts").iterdir()] == ["s0-a1.0"]


@pytest.mark.parametrize(
    ("failure", "cause", "status", "reward"),
    [
        (ProviderFailure("no answer"), "provider", "ungraded", None),
        (RuntimeFailure("no container"), "runtime", "ungraded", None),
        (VerifierFailure("no verdict"), "verifier", "ungraded", None),
        (Cancelled("interrupted"), "cancelled", "ungraded", None),
        (OSError("no files left"), "runtime", "ungraded", None),
        (KeyError("what a model wrote"), "agent", "graded", 0.0),
        (WireError("what a model sent"), "agent", "graded", 0.0),
        (SystemExit(0), "agent", "graded", 0.0),
        (WorldFailure("it died"), "world", "graded", 0.0),
    ],
)
def test_failure_is_attributed(
    plan: Plan, folder: RunFolder, failure: BaseException, cause: str, status: str, reward: float | None
) -> None:
    """Each failure is put to the boundary it crossed; a dead world and the agent's own count, the others do not."""
    good, bad = played(replace(plan, attempts=1), folder, agent=FailingAgent(failure))

    assert (None, "graded", 0.0) == (good.cause, good.status, good.reward)
    assert (cause, status, reward) == (bad.cause, bad.status, bad.reward)
    assert b'"/task"' in Path(bad.path, "events.jsonl").read_bytes()


def test_ungraded_is_tried_again_and_kept(plan: Plan, folder: RunFolder) -> None:
    """On resume an ungraded episode is played again, with its earlier evidence beside it."""
    agent = FailingAgent(ProviderFailure("no answer"))
    first = played(replace(plan, attempts=1), folder, agent=agent)
    agent.failure = ProviderFailure("no answer either")
    second = played(replace(plan, attempts=1), folder, agent=agent)
    kept = Result.model_validate_json((Path(first[1].path).parent / "attempts" / "s1-a1.0" / "result.json").read_bytes())

    assert ("no answer", "no answer either") == (kept.error, second[1].error)
    assert {"episodes": 2, "success": 0, "mean_reward": 0.0, "ungraded": 1} == summary(second)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"attempts": 1, "agent": AgentSpec(kind="nop")}, "agent"),
        ({"key": "held-out"}, "key_digest"),
    ],
)
def test_resume_with_another_plan_is_refused(plan: Plan, folder: RunFolder, change: dict[str, Any], fields: str) -> None:
    """A frozen plan is compared field by field, and nothing is touched."""
    played(replace(plan, seeds=[0, 1], attempts=2), folder)
    with pytest.raises(UsageError) as refused:
        played(replace(plan, **change), folder)

    assert f"{folder.path} was planned with other {fields}" == str(refused.value)


def test_foreign_folder_is_refused(plan: Plan, folder: RunFolder) -> None:
    """A folder with files but no plan is not taken over."""
    folder.path.mkdir()
    (folder.path / "thesis.tex").touch()
    with pytest.raises(UsageError) as refused:
        played(plan, folder)

    assert f"{folder.path} holds files but no run.json" == str(refused.value)


def test_folder_of_a_run_killed_at_once(plan: Plan, folder: RunFolder) -> None:
    """A run killed while it froze its plan left a half file only, and may start again."""
    folder.path.mkdir()
    (folder.path / ".run.json.999999999").write_bytes(b"{")

    assert len(played(replace(plan, seeds=[0], attempts=1), folder)) == 1


def test_run_that_another_plays_is_refused(plan: Plan, folder: RunFolder) -> None:
    """Two at once would play and grade everything twice."""
    with folder.held(), pytest.raises(UsageError, match="another process is playing this run"):
        played(plan, folder)

    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    ("solution", "error"),
    [
        ("def solve(*given):\n    raise SystemExit(0)\n", "SystemExit: 0"),
        ("raise SystemExit(0)\n", "SOLVE:1: SystemExit: 0"),
    ],
    ids=["called", "imported"],
)
def test_solution_that_exits_is_recorded(
    plan: Plan, presigned: Task, folder: RunFolder, tmp_path: Path, solution: str, error: str
) -> None:
    """A client that exits is judged by its log, like one that raises, and the run goes on."""
    task = tmp_path / presigned.task_id
    shutil.copytree(presigned.path, task)
    (task / "solution" / "violations.py").unlink()
    (task / "solution" / "solve.py").write_text(solution, encoding="utf-8")
    results = played(replace(plan, tasks=[admitted(read_task(task))]), folder)

    assert [(result.status, result.cause, result.reward) for result in results] == 4 * [("graded", None, 0.0)]
    assert {result.error for result in results} == {error.replace("SOLVE", str(task / "solution" / "solve.py"))}


class SlowRuntime(InProcessRuntime):
    """Waits in each verdict until it was aborted."""

    def __init__(self) -> None:
        self.aborted = threading.Event()

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """Waits."""
        self.aborted.wait(20)
        return super().judge(spec, log)

    def abort(self, run_id: str) -> None:
        """Ends the wait."""
        self.aborted.set()


def test_interrupt(plan: Plan, folder: RunFolder) -> None:
    """An interrupt kills what runs, leaves no half episode, and a resume finishes the run."""

    def interrupt(event: News) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Cancelled, match=r"^interrupted$"):
        played(plan, folder, runtime=SlowRuntime(), progress=interrupt)

    assert list(folder.path.glob("episodes/*/*/*")) == []
    assert summary(played(plan, folder))["success"] == 4


class UnjudgingRuntime(InProcessRuntime):
    """Its verifier answers what it was given."""

    def __init__(self, reward: bytes, verdict: bytes = b"") -> None:
        self.judgement = Judgement(reward, verdict)

    def judge(self, spec: EpisodeSpec, log: bytes) -> Judgement:
        """One judgement for every log."""
        return self.judgement


@pytest.mark.parametrize(
    ("reward", "verdict"),
    [
        (b"", b""),
        (b"[]", b""),
        (b"1.0", b""),
        (b'{"reward": 2}', b""),
        (b'{"reward": NaN}', b""),
        (b'{"reward": null}', b""),
        (b'{"reward": 1, "more": 1}', b""),
        (b'{"reward": 1}', b"{}"),
        (b'{"reward": 1}', b"\xff"),
    ],
)
def test_malformed_verdict_is_the_verifiers_failure(plan: Plan, folder: RunFolder, reward: bytes, verdict: bytes) -> None:
    """A verdict that breaks its form grades nobody."""
    (result,) = played(replace(plan, seeds=[0], attempts=1), folder, runtime=UnjudgingRuntime(reward, verdict))

    assert ("ungraded", "verifier", None) == (result.status, result.cause, result.reward)


def test_verdict_and_reward_must_agree(plan: Plan, folder: RunFolder, tmp_path: Path) -> None:
    """Nor does a reward that its own verdict contradicts."""
    done = played(replace(plan, seeds=[0], attempts=1), RunFolder(tmp_path / "honest"))[0]
    verdict = Path(done.path, "verdict.json").read_bytes()
    (result,) = played(replace(plan, seeds=[0], attempts=1), folder, runtime=UnjudgingRuntime(b'{"reward": 0.5}', verdict))

    assert ("verifier", "reward.json and verdict.json differ") == (result.cause, result.error)


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        (AgentSpec(kind="nop"), "OTHER"),
        (AgentSpec(kind="violation", name="listed_order"), "EXPIRED_BEFORE_USE"),
        (AgentSpec(kind="violation", name="no_anchor"), "MISSING_CONSTRAINT"),
    ],
)
def test_agents_earn_their_labels(plan: Plan, folder: RunFolder, agent: AgentSpec, label: str) -> None:
    """Doing nothing, or one thing wrong, is graded 0 with its label."""
    results = played(replace(plan, agent=agent), folder)

    assert Counter({(label, 0.0, "graded"): 4}) == Counter((r.failure_label, r.reward, r.status) for r in results)


def test_options_reach_the_world(plan: Plan, folder: RunFolder) -> None:
    """An override shapes the episode and is recorded."""
    result = played(replace(plan, seeds=[0], attempts=1, overrides={"payload_bytes": "16"}), folder)[0]
    opened = json.loads(Path(result.path, "events.jsonl").read_bytes().splitlines()[0])

    assert ({"payload_bytes": 16.0}, 16.0) == (result.options, opened["options"]["payload_bytes"])


def test_level_reaches_the_world_and_is_recorded(plan: Plan, folder: RunFolder) -> None:
    """Its knobs, with what is set on top; the record names the level, from which a retry rebuilds it all."""
    result = played(replace(plan, seeds=[0], attempts=1, overrides={"level": "3", "payload_bytes": "16"}), folder)[0]
    opened = json.loads(Path(result.path, "events.jsonl").read_bytes().splitlines()[0])

    assert {"level": 3, "payload_bytes": 16.0} == result.options
    assert (opened["options"]["window_seconds"], opened["options"]["payload_bytes"]) == (18.0, 16.0)
    assert opened["budgets"]["steps"] == 10
    assert result.success


def test_progress_starts_and_finishes_each(plan: Plan, folder: RunFolder) -> None:
    """A listener hears every episode begin, go through its phases, and end, in that order."""
    news: list[News] = []
    played(plan, folder, progress=news.append)
    told = {event.key.name: [heard(one) for one in news if one.key == event.key] for event in news}
    phases = [f"{phase}{end}" for phase in ("open", "agent", "finish", "judge", "close") for end in ("...", "")]

    assert list(told.values()) == 4 * [["started", *phases, "finished"]]


def heard(event: News) -> str:
    """One event in a word."""
    if isinstance(event, Phase):
        return event.name + ("..." if event.seconds is None else "")
    return "started" if isinstance(event, Started) else "finished"


def test_a_phase_that_fails_is_told_to_its_end(plan: Plan, folder: RunFolder) -> None:
    """Whoever listens knows where an episode was when it failed."""
    news: list[News] = []
    played(replace(plan, attempts=1), folder, agent=FailingAgent(RuntimeFailure("gone")), progress=news.append)
    second = [heard(event) for event in news if event.key.seed == 1]

    assert second == ["started", "open...", "open", "agent...", "agent", "finish...", "finish", "close...", "close", "finished"]


@pytest.mark.property
def test_a_rule_that_fails_is_named(harness: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """The kind of exception and the request, in the record and in the closing line; its words might hold an answer."""
    server = new_task(tmp_path / "tasks", "contract", "fresh") / "environment" / "api" / "server.py"
    text = server.read_text(encoding="utf-8")
    assert '{"value": self.value}' in text
    server.write_text(text.replace('{"value": self.value}', '{"value": vars(self)["valeu"]}'), encoding="utf-8")
    done = harness(
        "--tasks", tmp_path / "tasks", "run", "fresh", "--trust", "--runtime", "inprocess", "--out", tmp_path / "run", "--json"
    )
    (episode,) = json.loads(done.stdout)["episodes"]

    assert (episode["cause"], episode["error"]) == ("world", "its rule raised KeyError at GET /api/value")
    assert "the world failed: its rule raised KeyError at GET /api/value" in done.stderr
    assert "valeu" not in done.stdout + done.stderr


def test_a_shell_without_any_sandbox(harness: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """Where no sandbox works, who needs one is told what each lacks, and not to try a runtime that was tried."""
    script = tmp_path / "script.json"
    script.write_text('[{"run": "true"}]')
    env = {"PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"}
    done = harness("run", "presigned-url-download", "--script", script, "--out", tmp_path / "run", env=env)

    assert done.returncode == 2
    assert "a script with run actions needs a sandbox; docker: no Docker engine answers" in done.stderr
    assert "; bubblewrap: bubblewrap is not installed" in done.stderr
    assert "--runtime" not in done.stderr.partition("try: ")[2]

"""Runs as traces and traces as runs, by the commands that users type; models are real clients of a local server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from harness.agent import AgentSpec, SeatSpec
from harness.agent_factory import AgentPool
from harness.agents.llm.agent import LlmConfig
from harness.agents.seats.agent import SeatAgent
from harness.paths import ROOT
from harness.records import RunFolder
from harness.registry import read_task
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.commands.export import export_command
from parley.commands.kinds import import_command
from parley.reports.evidence import gather, read_runs
from parley.reports.reading import episode_lines, read_episode
from parley.reports.reading.model import trace_files
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Script, ScriptedReply, ScriptedUsage
from tests.harness.agents.imap_model import Messages, imap
from tests.parley.families.calendar.tracing import Document, in_published_layout, of_type

TASK = read_task(ROOT / "tasks" / "calendar" / "uniform-31")
pytestmark = pytest.mark.property


def thinking(messages: Messages) -> ScriptedReply:
    """A model that plays IMAP, thinks, and says what that cost."""
    usage = ScriptedUsage(prompt=100, completion=20, reasoning=7)
    return ScriptedReply(text=imap(messages), reasoning="let me see", usage=usage)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    """Its models play IMAP and think."""
    with OpenAIServer(Script(match="scheduling assistant", play=thinking)) as running:
        yield running


@pytest.fixture(scope="module")
def runs(server: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one task: SD-MAP in the published profile, twice; and IMAP with a model at seat 1."""
    root = tmp_path_factory.mktemp("runs")
    protocol = AgentSpec(kind="seats", name="sd-map")
    plan = Plan("protocol", [TASK], [0], 2, protocol, overrides={"profile": "paper"})
    quiet: dict[str, Any] = {"workers": 1, "images": {}, "progress": lambda event: None}
    run_plan(plan, InProcessRuntime(), RunFolder(root / "protocol"), **quiet)
    seats = (SeatSpec(seat=1, kind="model", name="openai/one"),)
    mixed = AgentSpec(kind="seats", name="imap", api_base=server.url, seats=seats)
    config = replace(LlmConfig.of(mixed), api_key="k", patience_s=1.0, first_pause_s=0.01)
    agent = SeatAgent(mixed, config=config, say=lambda line: None)
    plan = Plan("mixed", [TASK], [0], 1, mixed)
    run_plan(plan, InProcessRuntime(), RunFolder(root / "mixed"), cast=AgentPool(lambda *_: agent), **quiet)
    return root


@pytest.fixture(scope="module")
def traces(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both runs, exported."""
    out = tmp_path_factory.mktemp("exported") / "traces"
    typed(export_command, "trace", runs, "--out", out)
    return out


def typed(command: Any, *words: str | Path) -> Result:
    """A command that succeeds."""
    ran = CliRunner().invoke(command, [str(word) for word in words])
    assert ran.exit_code == 0, (ran.output, ran.exception)
    return ran


def harness(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "harness", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def read(path: Path) -> Document:
    """A trace file."""
    document: Document = json.loads(path.read_text())
    return document


def test_each_episode_is_a_file(runs: Path, traces: Path) -> None:
    """By run, task, seed and attempt; its measures are those of the verdict, its task's digest that of the plan."""
    files = sorted(path.relative_to(traces).as_posix() for path in traces.rglob("*.json"))
    results = {result.path: result for run in read_runs([runs]) for result in run.results}

    assert files == ["mixed/uniform-31-s0-a1.json", "protocol/uniform-31-s0-a1.json", "protocol/uniform-31-s0-a2.json"]
    for path, result in results.items():
        run, name = Path(path).parents[3].name, f"{result.task_id}-s{result.seed}-a{result.attempt}.json"
        document = read(traces / run / name)
        assert document["metrics"] == json.loads((Path(path) / "verdict.json").read_text())["metrics"]
        assert (document["task_id"], document["task_digest"]) == ("uniform-31", TASK.digest)
        assert document["started_at"] <= document["ended_at"]


def test_a_second_export_is_the_same(runs: Path, traces: Path, tmp_path: Path) -> None:
    """File by file and byte by byte; and nothing is written over."""
    typed(export_command, "trace", runs, "--out", tmp_path / "again")
    again = CliRunner().invoke(export_command, ["trace", str(runs), "--out", str(tmp_path / "again")])

    for path in traces.rglob("*.json"):
        assert (tmp_path / "again" / path.relative_to(traces)).read_bytes() == path.read_bytes()
    assert "is not empty" in str(again.exception)


def test_what_models_thought_and_used(traces: Path) -> None:
    """Of the seat that a model held: its name, tokens and thoughts at each turn; of policies nothing of these."""
    document = read(traces / "mixed" / "uniform-31-s0-a1.json")
    ended = of_type(document, "turn_end", "decide_end")
    start = of_type(document, "game_start")[0]

    assert (start["models"], start["agent_types"]) == ([None, "openai/one", None, None, None], ["imap", "llm"] + ["imap"] * 3)
    assert {(one["agent_id"], one["reasoning"]) for one in ended if one["reasoning"]} == {(1, "let me see")}
    assert all((one["usage"] is not None) == (one["agent_id"] == 1) for one in ended)
    assert all((one["latency_ms"] is not None) == (one["agent_id"] == 1) for one in ended)
    assert {one["usage"]["prompt_tokens"] for one in ended if one["usage"]} == {100}
    assert document["config"]["record"]["seats"][1]["tokens"]["reasoning"] == 7 * sum(one["usage"] is not None for one in ended)


def test_replay_by_the_command_line(traces: Path, tmp_path: Path) -> None:
    """What agrees is printed in a few lines; a file that was changed ends it with 1, one that is none with 2."""
    sound, tampered = traces / "protocol" / "uniform-31-s0-a1.json", tmp_path / "tampered.json"
    text = sound.read_text()
    place = text.index('"rounds_succeeded": ') + len('"rounds_succeeded": ')
    tampered.write_text(text[:place] + "9" + text[place + 1 :])
    (tmp_path / "other.json").write_text('{"schema": "other"}')
    (tmp_path / "empty").mkdir()
    paths = (sound, tampered, tmp_path / "other.json", tmp_path / "empty")
    done, wrong, other, empty = (harness("replay", path) for path in paths)

    assert (done.returncode, wrong.returncode, other.returncode, empty.returncode) == (0, 1, 2, 2)
    assert "empty holds no .json file" in empty.stderr
    assert [str(path) for path in trace_files([traces, sound])] == sorted(map(str, traces.rglob("*.json")))
    assert "uniform-31 s0-a1, sd-map" in done.stdout
    assert "measures" in done.stdout
    assert len(done.stdout.splitlines()) == 3
    assert "final_state.rounds_succeeded: 9 in the file" in wrong.stdout


def test_imported_runs_read_like_any_other(runs: Path, traces: Path, tmp_path: Path) -> None:
    """Results, verdicts and logs are those of the runs that were exported; tables and `show` say that they were imported."""
    typed(import_command, "trace", traces, "--out", tmp_path / "run")
    before = {(Path(r.path).parents[3].name, r.attempt): r for run in read_runs([runs]) for r in run.results}
    after = {(Path(r.path).parents[3].name, r.attempt): r for run in read_runs([tmp_path / "run"]) for r in run.results}

    assert set(after) == set(before)
    same = (
        "reward",
        "success",
        "failure_label",
        "failure_detail",
        "metrics",
        "trace_hash",
        "seats",
        "tokens",
        "agent",
        "severity",
    )
    for key, result in after.items():
        assert {name: getattr(result, name) for name in same} == {name: getattr(before[key], name) for name in same}
        assert (result.runtime, result.options["origin"]) == ("imported", "imported")
        for name in ("events.jsonl", "verdict.json", "reward.json"):
            assert (Path(result.path) / name).read_bytes() == (Path(before[key].path) / name).read_bytes()
    groups = gather(read_runs([tmp_path / "run"]), "calendar", [TASK]).groups
    assert sorted(group.name for group in groups) == [
        "imap (seat 1=openai/one, origin=imported)", "sd-map (origin=imported, profile=paper)",
    ]  # fmt: skip


def test_imported_episodes_are_shown(traces: Path, tmp_path: Path) -> None:
    """`harness show` reads the folder, with what the model thought."""
    typed(import_command, "trace", traces / "mixed" / "uniform-31-s0-a1.json", "--out", tmp_path / "run")
    (folder,) = (tmp_path / "run").glob("episodes/*/*/*")
    episode = read_episode(folder)
    lines = "\n".join(episode_lines(episode, 100, full=True))

    schema = json.loads((ROOT / "tests" / "harness" / "agents" / "atif-v1.8.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads((folder / "trajectory.json").read_text()))
    assert episode.doubts == ()
    assert "let me see" in lines
    assert "imported" in lines


def test_published_layout_is_imported(traces: Path, tmp_path: Path) -> None:
    """Two files of one game are two attempts; what they earn is what our own file says, but for what words cannot show."""
    document = read(traces / "protocol" / "uniform-31-s0-a1.json")
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(in_published_layout(document, 4)))
    typed(import_command, "trace", tmp_path / "a.json", tmp_path / "b.json", "--out", tmp_path / "run")
    results = [result for run in read_runs([tmp_path / "run"]) for result in run.results]

    assert [(result.attempt, result.agent, result.status) for result in results] == [
        (1, "sd-map", "graded"),
        (2, "sd-map", "graded"),
    ]
    assert {result.metrics["scheduled"] for result in results} == {document["metrics"]["scheduled"]}
    assert {result.options["profile"] for result in results} == {"paper"}


def test_one_episode_twice_is_refused(traces: Path, tmp_path: Path) -> None:
    """Two files of ours that are one episode are named, and nothing is written."""
    path = traces / "mixed" / "uniform-31-s0-a1.json"
    again = tmp_path / "again.json"
    again.write_bytes(path.read_bytes())
    refused = CliRunner().invoke(import_command, ["trace", str(path), str(again), "--out", str(tmp_path / "run")])

    assert "are both calendar/uniform-31/s0-a1" in str(refused.exception)
    assert not list(tmp_path.rglob("result.json"))


@pytest.mark.parametrize("words", [["trace", "nowhere"], ["trace", "RUN"]])
def test_export_of_what_has_no_trace(words: Sequence[str], tmp_path: Path) -> None:
    """A folder without runs, and runs of a family without traces."""
    plan = Plan("contract", [read_task(ROOT / "tasks" / "contract" / "presigned-url-download")], [0], 1, AgentSpec(kind="nop"))
    run_plan(plan, InProcessRuntime(), RunFolder(tmp_path / "RUN"), workers=1, images={}, progress=lambda event: None)
    refused = CliRunner().invoke(export_command, [words[0], str(tmp_path / words[1]), "--out", str(tmp_path / "out")])

    assert refused.exit_code == 1
    assert not (tmp_path / "out").exists()

"""A run is rebuilt from its run.json alone, in a fresh process; what must be typed each time is not in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec, Budget
from harness.cli.flags import RunFlags
from harness.cli.resuming import resumed_request
from harness.errors import UsageError
from harness.registry import Task
from harness.runs.plan import Plan, task_refs
from harness.runs.request import RunRequest
from harness.runs.resume_rules import read_resumed
from parley.testing.openai_server import OpenAIServer
from parley.testing.players import SolutionModel
from parley.testing.scripts import Script
from worlds.core.chance import PUBLISHED_KEY, key_digest

Command = Callable[..., subprocess.CompletedProcess[str]]
EPISODES = 6


@pytest.mark.property
def test_killed_model_run_goes_on_from_its_file_alone(root: Path, presigned: Task, harness: Command, tmp_path: Path) -> None:
    """Killed in the middle, a run by a model is gone on with by `--resume RUN` and no other flag: same model, same traces."""
    play = SolutionModel([presigned], lambda task, attempt: "solve", "tool")
    with OpenAIServer(Script(play=play)) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-mine"}
        flags = ("--model", "openai/any", "--interface", "tool", "--runtime", "inprocess", "--reply-tokens", "900", "--set")
        run = ("run", presigned.task_id, *flags, "payload_bytes=16", "--seeds", f"0-{EPISODES - 1}", "--workers", "1", "--out")
        whole = harness(*run, tmp_path / "whole", env=env)
        started = subprocess.Popen(
            [sys.executable, "-m", "harness", *run, str(tmp_path / "run")],
            cwd=root,
            env={**os.environ, **env},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert started.stderr is not None
        while "[2/" not in (line := started.stderr.readline()):
            assert line, "the run ended before it could be killed"
        started.send_signal(signal.SIGKILL)
        started.communicate()
        before = results(tmp_path / "run")
        done = harness("run", "--resume", tmp_path / "run", env=env)
        asked = {(request.body["model"], request.body["max_tokens"]) for request in server.requests}

    assert (whole.returncode, done.returncode) == (0, 0), done.stderr
    assert 2 <= len(before) < EPISODES
    after = results(tmp_path / "run")
    assert {key: after[key] for key in before} == before
    assert {key: one["trace_hash"] for key, one in after.items()} == {
        key: one["trace_hash"] for key, one in results(tmp_path / "whole").items()
    }
    assert {(one["model"], one["success"], one["options"]["payload_bytes"]) for one in after.values()} == {
        ("openai/any", True, 16.0)
    }
    assert asked == {("any", 900)}


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Every result of a run, by the place of its file."""
    return {str(path.relative_to(folder)): json.loads(path.read_bytes()) for path in folder.rglob("result.json")}


@pytest.mark.property
def test_sweep_goes_on_from_one_of_its_files(harness: Command, tmp_path: Path) -> None:
    """A part that was never begun is known from its neighbours; a part by itself is gone on with alone."""
    run = ("run", "presigned-url-download", "--agent", "nop,oracle,violation:listed_order")
    first = harness(*run, "--set", "payload_bytes=16,32", "--runtime", "inprocess", "--out", tmp_path / "run")
    assert first.returncode == 0, first.stderr
    before, parts = results(tmp_path / "run"), sorted(path.name for path in (tmp_path / "run").iterdir())
    shutil.rmtree(tmp_path / "run" / parts[0])
    shutil.rmtree(tmp_path / "run" / parts[1] / "episodes")
    shutil.rmtree(tmp_path / "run" / parts[2] / "episodes")
    alone = harness("run", "--resume", tmp_path / "run" / parts[1])

    assert (alone.returncode, len(results(tmp_path / "run"))) == (0, 4), alone.stderr
    assert harness("run", "--resume", tmp_path / "run").returncode == 0
    assert traces(results(tmp_path / "run")) == traces(before)
    assert len(parts) == 6


@pytest.mark.property
def test_script_goes_on_without_its_file(harness: Command, tmp_path: Path) -> None:
    """What a scripted agent does stands in run.json."""
    actions = tmp_path / "actions.json"
    actions.write_text('[{"wait": 3}, {"submit": "é"}]', encoding="utf-8")
    run = ("run", "presigned-url-download", "--script", actions, "--runtime", "inprocess", "--out", tmp_path / "run")
    assert harness(*run).returncode == 0
    before = results(tmp_path / "run")
    actions.unlink()
    shutil.rmtree(tmp_path / "run" / "episodes")

    assert harness("run", "--resume", tmp_path / "run").returncode == 0
    assert traces(results(tmp_path / "run")) == traces(before)


def traces(recorded: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What was played, by place."""
    return {place: one["trace_hash"] for place, one in recorded.items()}


@pytest.mark.property
def test_retry_goes_on_without_its_first_run(harness: Command, tmp_path: Path) -> None:
    """What each episode is told stands in the retry's own file."""
    run = ("run", "presigned-url-download", "--seeds", "0-1", "--runtime", "inprocess", "--agent", "violation:listed_order")
    assert harness(*run, "--out", tmp_path / "first").returncode == 0
    again = ("run", "--retry-of", tmp_path / "first", "--hint", "wrong", "--runtime", "inprocess", "--out", tmp_path / "again")
    assert harness(*again).returncode == 0
    hints = {place: one["hint"] for place, one in results(tmp_path / "again").items()}
    shutil.rmtree(tmp_path / "first")
    shutil.rmtree(tmp_path / "again" / "episodes")
    done = harness("run", "--resume", tmp_path / "again")

    assert done.returncode == 0, done.stderr
    assert {place: one["hint"] for place, one in results(tmp_path / "again").items()} == hints
    assert len(hints) == 2


@pytest.mark.property
def test_run_of_an_older_version(harness: Command, tmp_path: Path) -> None:
    """A run.json that does not say what was asked for: one line, and nothing is played."""
    run = ("run", "presigned-url-download", "--runtime", "inprocess")
    assert harness(*run, "--out", tmp_path / "run").returncode == 0
    record = json.loads((tmp_path / "run" / "run.json").read_bytes())
    del record["request"], record["part"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    done = harness(*run, "--resume", tmp_path / "run")

    assert done.returncode == 2
    assert done.stderr == (
        f"harness: {tmp_path}/run/run.json was written by an older version, which did not record the whole request\n"
        "  try: harness run presigned-url-download --runtime inprocess --out NEW_FOLDER, with the original options\n"
    )
    assert harness("report", tmp_path / "run").returncode == 0


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"part": "agent=nop"}, "names the part 'agent=nop', which its request does not have"),
        ({"request": {"options": {"../../x": ["1", "2"]}}}, "'../../x=1' has a slash"),
        ({"request": {"attempts": 0}}, "is not a valid plan of this version: request.attempts: "),
        ({"request": {"tasks": {"../x": {"digest": "0"}}}}, "is not a valid plan of this version: request.tasks"),
        ({"request": {"more": 1}}, "is not a valid plan of this version: request.more: Extra inputs are not permitted"),
    ],
)
def test_a_run_json_that_somebody_bent(tmp_path: Path, presigned: Task, changed: dict[str, Any], why: str) -> None:
    """One line for what no run of ours says; nothing is written, least of all elsewhere."""
    record = Plan("run", [presigned], [0], 1).record("inprocess", {}).model_dump(mode="json")
    bent = {**record, **changed, "request": {**record["request"], **changed.get("request", {})}}
    (tmp_path / "run.json").write_text(json.dumps(bent), encoding="utf-8")

    with pytest.raises(UsageError, match=re.escape(why)):
        read_resumed(tmp_path)


@pytest.mark.property
def test_trust_is_typed_each_time(root: Path, harness: Command, tmp_path: Path) -> None:
    """A folder from elsewhere is found again and not trusted again; `--trust` is not for one that the file alone names."""
    folder = tmp_path / "elsewhere" / "presigned-url-download"
    shutil.copytree(root / "tasks" / "contract" / "presigned-url-download", folder)
    (folder / "solution" / "more.md").write_text("another digest", encoding="utf-8")
    run = (folder, "--trust", "--runtime", "inprocess")
    assert harness("run", *run, "--out", tmp_path / "run").returncode == 0
    untrusted = harness("run", "--resume", tmp_path / "run")
    unnamed = harness("run", "--resume", tmp_path / "run", "--trust")
    typed = harness("run", *run, "--resume", tmp_path / "run")

    assert (untrusted.returncode, "is not a built-in task" in untrusted.stderr) == (2, True)
    assert (unnamed.returncode, "--trust applies to folders on the command line" in unnamed.stderr) == (2, True)
    assert typed.returncode == 0, typed.stderr


RECORDED = {"seeds": (0, 1), "attempts": 2, "options": {"window_seconds": ("50",)}, "budget": Budget(turns=7), "workers": 5}


def resumed(presigned: Task, recorded: dict[str, Any], **typed: Any) -> RunRequest:
    """A recorded run by a model, gone on with these flags."""
    spec = AgentSpec(kind="llm", model="openai/any", interface="tool", max_tokens=9)
    fields = {"agents": (spec,), "key_digest": key_digest(PUBLISHED_KEY), "tasks": task_refs([presigned]), **RECORDED}
    flags = RunFlags(**typed, resume=Path("run"), typed=frozenset(typed))
    request = RunRequest(**{**fields, **recorded})
    return resumed_request(flags, request, [presigned], None, PUBLISHED_KEY, lambda what: False)


@pytest.mark.parametrize(
    ("typed", "fields"),
    [
        ({"options": ["window_seconds=51"]}, "options"),
        ({"options": ["window_seconds=50,51"]}, "options"),
        ({"handles": True}, "options"),
        ({"model": "openai/other"}, "agent"),
        ({"interface": "shell"}, "agent"),
        ({"temperature": 1.0}, "agent"),
        ({"agent": "oracle"}, "agent"),
        ({"seat_model": ["1=openai/b"]}, "agent"),
        ({"api_base": "http://there/v1", "k": 3}, "agent"),
    ],
)
def test_a_flag_that_says_something_else_is_refused(presigned: Task, typed: dict[str, Any], fields: str) -> None:
    """By the name of the field that it would change."""
    with pytest.raises(UsageError) as refused:
        resumed(presigned, {}, **typed)

    assert str(refused.value) == f"run was planned with other {fields}"


def test_flags_that_say_what_the_file_says_are_fine(presigned: Task) -> None:
    """Typed or not, it is one request; where it is played is free."""
    alone = resumed(presigned, {})
    typed = resumed(
        presigned,
        {},
        seeds="0-1",
        k=2,
        turns=7,
        options=["window_seconds=50"],
        model="openai/any",
        interface="tool",
        reply_tokens=9,
    )

    assert alone == typed
    assert (alone.workers, resumed(presigned, {}, workers=1, runtime="docker").workers) == (5, 1)


def test_an_address_may_be_typed_with_its_password_again(presigned: Task) -> None:
    """The file has it without; who goes on types it whole."""
    spec = AgentSpec(kind="llm", model="openai/any", interface="tool", api_base="http://there/v1")
    (agent,) = resumed(presigned, {"agents": (spec,)}, api_base="http://me:pw@there/v1").agents

    assert agent.api_base == "http://me:pw@there/v1"

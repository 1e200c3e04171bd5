"""What a run shows while it happens: a table that fits the terminal, lines elsewhere, and every event for programs."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from harness.agents.llm.meter import Meter
from harness.cli.progress import plainly
from harness.records import Key, Result
from harness.runs.executors.base import Again, Finished
from harness.runs.session import WatchedRun
from parley.reports.stream import BegunLine, EndedLine, FinishedLine, PhaseLine, RunLine, StartedLine
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, ScriptedReply, script

Command = Callable[..., subprocess.CompletedProcess[str]]
LIMIT_S = 60.0
RUN = ("run", "presigned-url-download", "--runtime", "inprocess", "--set", "payload_bytes=16")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
REDRAWN = re.compile(r"(?:\r?\x1b\[(?:1A|2K))+")


def on_terminal(arguments: Sequence[str], columns: int, *, stop_after: str = "", **environ: str) -> tuple[int, str]:
    """Exit code of a command on a terminal of so many columns, and all that was written there; Ctrl-C once a text is seen."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS")}
    command = ["env", "--default-signal=INT", sys.executable, "-m", "harness", *arguments]
    process = subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, start_new_session=True, env={**env, "TERM": "xterm", **environ}
    )
    os.close(child)
    written, until = b"", time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        try:
            news = os.read(parent, 1 << 16)
        except OSError:
            break
        written += news
        if stop_after and stop_after.encode() in written:
            process.send_signal(signal.SIGINT)
            stop_after = ""
    os.close(parent)
    return process.wait(LIMIT_S), written.decode()


@pytest.mark.property
def test_table_fits_and_ctrl_c_leaves_the_terminal_sane(tmp_path: Path) -> None:
    """At 80 columns no line is cut before its seed, nothing is coloured under NO_COLOR, and the cursor is back after Ctrl-C."""
    folder = str(tmp_path / "run")
    silent = script(ScriptedReply(faults=(Fault(kind="stall", stall_s=600),)))
    with OpenAIServer(silent) as server:
        who = ("--model", "openai/any", "--interface", "tool", "--api-base", server.url)
        run = (*RUN, *who, "--seeds", "0-19", "--workers", "2", "--out", folder)
        code, written = on_terminal(run, 80, stop_after="agent, 0:01", NO_COLOR="1", OPENAI_API_KEY="sk-mine")
    frames = [CONTROL.sub("", frame) for frame in REDRAWN.split(written)]
    tables = [frame.splitlines() for frame in frames if "of 20 episodes done" in frame]

    assert code == 130, written
    assert tables
    assert max(len(line) for table in tables for line in table) <= 80
    assert any(re.search(r"presigned-url-download/s\d+-a1 +\w+", line) for table in tables for line in table)
    assert not re.search(r"\x1b\[3\d", written)
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l") >= 0
    assert f"harness run --resume {folder}" in CONTROL.sub("", written).replace("\r\n", "")


@pytest.mark.property
def test_lines_count_on_after_a_resume(harness: Command, tmp_path: Path) -> None:
    """In a pipe there is a line an episode, and a run that is gone on with counts from what is done."""
    run = (*RUN, "--agent", "nop", "--workers", "1", "--out", tmp_path / "run")
    first = harness(*run, "--seeds", "0-1")
    second = harness("run", "--resume", tmp_path / "run", "--seeds", "0-3")

    assert re.findall(r"^\[\d/\d\]", first.stderr, re.MULTILINE) == ["[1/2]", "[2/2]"], first.stderr
    assert re.findall(r"^\[\d/\d\]", second.stderr, re.MULTILINE) == ["[3/4]", "[4/4]"], second.stderr
    assert "\x1b" not in first.stderr


def test_an_episode_that_is_played_again_is_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is lost to what may pass is not done while it waits: the second try has the number of the first."""
    key = Key(family="contract", task_id="a", seed=0, attempt=1)
    lost = Result.model_validate(
        {**key.model_dump(), "run": "run", "agent": "x", "runtime": "inprocess", "status": "ungraded", "cause": "provider",
         "error": "silence", "key_digest": ""}
    )  # fmt: skip
    with plainly(WatchedRun(2, (), Meter(), tmp_path)) as heard:
        for news in (Finished(key, lost), Again((key,), 10.0), Finished(key, lost)):
            heard(news)
    first, waits, second = capsys.readouterr().err.splitlines()

    assert first.startswith("[1/2] contract/a/s0-a1: ungraded, provider: the provider returned an error (silence)")
    assert waits == "1 episode lost to temporary failures, retried in 10 s: contract/a/s0-a1"
    assert second.startswith("[1/2] ")


def test_events_are_lines_of_documented_models(harness: Command, tmp_path: Path) -> None:
    """Stdout holds nothing but events, each of which its model reads, in the order in which an episode goes."""
    done = harness(*RUN, "--agent", "nop", "--workers", "1", "--seeds", "0-1", "--jsonl", "-", "--out", tmp_path / "run")
    events = [TypeAdapter(RunLine).validate_json(line) for line in done.stdout.splitlines()]
    first, last = events[0], events[-1]
    phases = [event.phase for event in events if isinstance(event, PhaseLine) and event.seconds is not None]
    ended = [event.result.trace_hash for event in events if isinstance(event, FinishedLine)]
    stored = [json.loads(path.read_bytes())["trace_hash"] for path in sorted(tmp_path.rglob("result.json"))]

    assert done.returncode == 0, done.stderr
    assert isinstance(first, BegunLine)
    assert first.totals.done == 0
    assert isinstance(last, EndedLine)
    assert (last.why, last.totals.done, last.totals.planned, last.totals.succeeded) == ("complete", 2, 2, 0)
    assert phases == ["open", "agent", "finish", "judge", "close"] * 2
    assert ended == stored
    assert sum(isinstance(event, StartedLine) for event in events) == 2


@pytest.mark.property
def test_events_of_a_resumed_run_follow_in_the_same_file(harness: Command, tmp_path: Path) -> None:
    """A file is added to; stdout cannot serve two programs."""
    events, run = tmp_path / "events.jsonl", (*RUN, "--agent", "nop", "--out", tmp_path / "run")
    harness(*run, "--jsonl", events)
    harness("run", "--resume", tmp_path / "run", "--jsonl", events)
    refused = harness(*RUN, "--agent", "nop", "--json", "--jsonl", "-", "--out", tmp_path / "other")

    told = [json.loads(line)["event"] for line in events.read_text(encoding="utf-8").splitlines()]
    assert [told.count(name) for name in ("begun", "finished", "ended")] == [2, 1, 2]
    assert (refused.returncode, (tmp_path / "other").exists()) == (2, False)
    assert "both write to stdout" in refused.stderr

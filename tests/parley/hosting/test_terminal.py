"""People at a terminal: a pseudo-terminal plays a seat, and a task without seats, to the end; without one nobody can sit."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.agents.llm.interface import Mistake
from harness.paths import ROOT
from harness.records import Result, RunFolder
from parley.hosting.terminal import read_command
from parley.reports.reading import read_episode
from worlds.core.events import Turned, read_log

PATIENT_S = 60.0
Command = Callable[..., subprocess.CompletedProcess[str]]


class Typist:
    """Somebody at a pseudo-terminal of 80 columns, before whom `harness run` runs."""

    def __init__(self, *arguments: str) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        self._read = 0
        environ = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "harness", "run", *arguments], stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs,
            cwd=ROOT, env=environ, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def until(self, words: str) -> str:
        """What was shown since the last time, up to these words."""
        end = time.monotonic() + PATIENT_S
        while words not in self.shown[self._read :]:
            assert time.monotonic() < end, f"never saw {words!r} in {self.shown[self._read :]!r}"
            if select.select([self._ours], [], [], 0.1)[0]:
                self._hear()
        start, self._read = self._read, self.shown.index(words, self._read) + len(words)
        return self.shown[start : self._read]

    def types(self, text: str) -> None:
        """Type, and send it with an empty line."""
        os.write(self._ours, f"{text}\n\n".encode())

    def presses(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._ours, keys)

    def ends(self) -> int:
        """The exit code, once everything was read."""
        end = time.monotonic() + PATIENT_S
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self._ours], [], [], 0.05)[0]:
                self._hear()
        code = self.process.wait(1)
        os.close(self._ours)
        return code

    def _hear(self) -> None:
        try:
            self.shown += os.read(self._ours, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            # the other end hung up: everything was read
            time.sleep(0.05)


@pytest.mark.property
def test_person_plays_a_seat(tmp_path: Path) -> None:
    """A person among policies reads their rules, is told which rule a vote broke, votes again, and is recorded by name."""
    run = tmp_path / "run"
    here = Typist(
        "bakery-switch",
        "--agent",
        "pool",
        "--seat",
        "2=human:Ada",
        "--set",
        "rounds=1",
        "--runtime",
        "inprocess",
        "--out",
        str(run),
    )
    rules = here.until("=== seat 2, Ada: your instruction ===")
    here.until("Vote now, before anybody has spoken.")
    here.types("/rules")
    assert "# What you know" in here.until("# How it goes")
    here.types("the cellar")
    here.until("none of the options")
    here.types("oven")
    here.until("discussion, round 1")
    here.types("I know little.\nSay more.")
    here.until("post vote")
    here.presses(b'{"vote": "oven",\n "rationale": "so"}\n\x04')
    here.until("the game is over")

    assert here.ends() == 0
    assert rules
    assert max(map(len, here.shown.splitlines())) <= 80 + len(str(run)) + 80
    assert "Person 3 (Ada) could have known" in " ".join(here.shown.split())
    result = finished(run)
    turns = seat_of(result, 2)
    assert [turn.reply for turn in turns[:3]] == ["the cellar", "oven", "I know little.\nSay more."]
    assert [(one.kind, one.name) for one in result.seats][2] == ("human", "Ada")
    assert result.status == "graded"
    assert result.metrics["lies"] == 0


@pytest.mark.property
def test_person_who_quits_forfeits(tmp_path: Path) -> None:
    """/quit forfeits the turn and all later ones of the seat; the others play on."""
    run = tmp_path / "run"
    here = Typist(
        "bakery-switch",
        "--agent",
        "pool",
        "--seat",
        "1=human",
        "--set",
        "rounds=1",
        "--runtime",
        "inprocess",
        "--out",
        str(run),
    )
    here.until("Vote now")
    here.types("/help")
    here.until("Unknown command /help")
    here.types("/quit")
    here.until("You left")

    assert here.ends() == 0
    result = finished(run)
    assert {turn.no_reply for turn in seat_of(result, 1)} == {"declined"}
    assert (result.status, result.seats[1].name) == ("graded", "anonymous")


@pytest.mark.property
def test_person_plays_a_contract(tmp_path: Path) -> None:
    """A person sends requests by short commands, is told what is none, and what they did is judged and written down."""
    run = tmp_path / "run"
    here = Typist("api-key-rotation", "--agent", "human", "--runtime", "inprocess", "--out", str(run))
    here.until("give up")
    here.types("hello")
    here.until("is not a command")
    here.types("GET /nowhere")
    here.until("status 404")
    here.types("wait 1")
    here.until("status 200")
    here.types('submit {"key": "none"}')

    assert here.ends() == 0
    result = finished(run)
    assert (result.agent, result.interface, result.status, result.tool_calls) == ("human", "tool", "graded", 3)
    assert not result.success
    assert read_episode(Path(result.path)).result.seats == ()


@pytest.mark.property
def test_interrupt_ends_at_once(tmp_path: Path) -> None:
    """Ctrl-C while a person is asked ends the run as any interrupt does: exit 130, nothing half recorded."""
    run = tmp_path / "run"
    here = Typist("bakery-switch", "--agent", "human", "--runtime", "inprocess", "--out", str(run))
    here.until("Vote now")
    os.killpg(here.process.pid, 2)

    assert here.ends() == 130
    assert "Fatal" not in here.shown
    assert "Traceback" not in here.shown
    assert list(RunFolder(run).path.glob("episodes/*/*/*/result.json")) == []


@pytest.mark.property
@pytest.mark.parametrize("arguments", [("bakery-switch", "--seat", "2=human"), ("api-key-rotation", "--agent", "human")])
def test_nobody_sits_without_a_terminal(arguments: Sequence[str], harness: Command, tmp_path: Path) -> None:
    """Where no person can type, the run is refused before anything starts, and says where people can play."""
    more = () if "--agent" in arguments else ("--agent", "pool")
    done = harness("run", *arguments, *more, "--out", str(tmp_path / "run"))

    assert done.returncode == 2
    assert "a person plays at a terminal" in done.stderr
    assert "harness host TASK" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("typed", "tool", "arguments"),
    [
        ("GET /a b", "http_request", {"method": "GET", "url": "/a b", "headers": [], "body": ""}),
        (
            "post /a\nX-A: 1\nB:  two \n--\n{\n\n}",
            "http_request",
            {"method": "POST", "url": "/a", "headers": [["X-A", "1"], ["B", "two "]], "body": "{\n\n}"},
        ),
        ("wait 2.5", "wait", {"seconds": 2.5}),
        ("submit a b\nc", "submit", {"body": "a b\nc"}),
        ("submit\n{}", "submit", {"body": "{}"}),
    ],
)
def test_commands(typed: str, tool: str, arguments: dict[str, object]) -> None:
    """An entry means one call of the tool interface, its address and body as they were typed."""
    assert read_command(typed) == (tool, arguments)


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("GET", "is not a command"),
        ("wait soon", "wait takes seconds"),
        ("GET /a\n{}", "is not a header"),
        ("/path", "is not a command"),
    ],
)
def test_what_is_no_command(typed: str, rule: str) -> None:
    """What means nothing is not guessed at."""
    with pytest.raises(Mistake, match=re.escape(rule)):
        read_command(typed)


def finished(run: Path) -> Result:
    """The one episode of a run."""
    (path,) = run.glob("episodes/*/*/*/result.json")
    return Result.model_validate_json(path.read_bytes())


def seat_of(result: Result, seat: int) -> list[Turned]:
    """The turns of a seat."""
    events = read_log((Path(result.path) / "events.jsonl").read_bytes())
    return [event for event in events if isinstance(event, Turned) and event.seat == seat]

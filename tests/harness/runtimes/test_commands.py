"""The runner, started as a runtime starts it: exact results within bounded time and memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.paths import ROOT
from harness.pod import OUTPUT_CAP, CommandResult
from harness.runtimes import commands

RUNNER = ROOT / "docker" / "agent" / "parley_run.py"


def run(*command: str, timeout_s: float = 10, stdin: bytes = b"") -> CommandResult:
    """One command through the runner."""
    asked = commands.request(command, timeout_s=timeout_s, stdin=stdin)
    done = subprocess.run([sys.executable, "-I", "-S", RUNNER], input=asked, stdout=subprocess.PIPE, check=True)
    result = commands.result(done.stdout)
    assert result is not None
    return result


def gone(pid: int) -> bool:
    """Whether a process has ended, waiting a moment for it."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_code_and_both_streams_come_back() -> None:
    """Output keeps its order over stdout and stderr."""
    assert run("bash", "-c", "echo out; echo err >&2; exit 3") == CommandResult(3, b"out\nerr\n", 0)


def test_stdin_is_passed_byte_for_byte() -> None:
    """Any bytes, more than a pipe holds, and an end of file after them."""
    data = bytes(range(256)) * 200

    assert run("cat", stdin=data) == CommandResult(0, data, 0)


def test_stdin_that_nobody_reads_is_dropped() -> None:
    """A command that ends without reading leaves no error."""
    assert run("true", stdin=b"x" * 1_000_000) == CommandResult(0, b"", 0)


@pytest.mark.parametrize("size", [0, OUTPUT_CAP - 1, OUTPUT_CAP, OUTPUT_CAP + 1, 3 * OUTPUT_CAP])
def test_what_is_left_out_is_counted_exactly(size: int) -> None:
    """Up to the cap everything comes back; beyond it the first quarter, the last three, and the count between."""
    data = b"".join(b"%09d\n" % number for number in range(size // 10 + 1))[:size]
    head = OUTPUT_CAP // 4
    expected = data if size <= OUTPUT_CAP else data[:head] + data[head - OUTPUT_CAP :]

    assert run("cat", stdin=data) == CommandResult(0, expected, max(0, size - OUTPUT_CAP))


def test_a_hundred_megabytes_cost_no_memory() -> None:
    """The runner lives in less memory than a command prints."""
    asked = commands.request(["head", "-c", "100000000", "/dev/zero"], timeout_s=30)
    bounded = ["bash", "-c", 'ulimit -v 80000; exec "$@"', "bash", sys.executable, "-I", "-S", str(RUNNER)]
    done = subprocess.run(bounded, input=asked, stdout=subprocess.PIPE, check=True)
    result = commands.result(done.stdout)

    assert result is not None
    assert (result.code, result.omitted) == (0, 100_000_000 - OUTPUT_CAP)


@pytest.mark.property
def test_the_whole_group_dies_at_the_limit(tmp_path: Path) -> None:
    """A command that ignores polite signals is killed with its children; what it printed is kept."""
    script = f"trap '' TERM INT HUP; sleep 60 & echo $! > {tmp_path}/pid; echo started; while :; do :; done"
    began = time.monotonic()

    assert run("bash", "-c", script, timeout_s=0.5) == CommandResult(None, b"started\n", 0)
    assert time.monotonic() - began < 20
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_background_child_is_not_waited_for(tmp_path: Path) -> None:
    """The result comes when the command ends, though a child still holds its output."""
    began = time.monotonic()

    result = run("bash", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; echo done")

    assert result == CommandResult(0, b"done\n", 0)
    assert time.monotonic() - began < 20
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_command_killed_by_a_signal_says_which() -> None:
    """As in a shell: 128 and the signal's number."""
    assert run("bash", "-c", "kill -SEGV $$").code == 128 + signal.SIGSEGV


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("/etc/hostname", 126)])
def test_a_command_that_cannot_start_says_why(command: str, code: int) -> None:
    """As in a shell: 127 for what is not there, 126 for what is no program."""
    result = run(command)

    assert result.code == code
    assert result.output.startswith(command.encode() + b": ")


@pytest.mark.parametrize(
    "answer", [b"", b"\n", b"junk", b"[]\n", b'{"code": 0}\n', b'{"code": 0, "omitted": 0, "size": 9}\nshort']
)
def test_a_torn_answer_is_none(answer: bytes) -> None:
    """A runner that was killed or overwritten leaves no result, and never an exception."""
    assert commands.result(answer) is None


def test_the_host_reads_no_more_than_an_answer_takes() -> None:
    """A stream that never ends is cut."""
    assert len(commands.read_answer(lambda: b"x" * 70_000)) == commands.ANSWER_CAP


def test_a_stream_without_a_runner_is_cut_alike() -> None:
    """Head, tail and count are the runner's."""
    chunks = iter([b"a" * 10, b"b" * 10, b"c" * 10, b""])

    assert commands.capped(lambda: next(chunks), cap=12) == (b"aaa" + b"c" * 9, 18)

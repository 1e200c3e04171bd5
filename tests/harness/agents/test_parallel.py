"""Calls side by side: in order, with the first error, and never in the way of an interrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from harness.agents.llm.parallel import side_by_side
from harness.paths import ROOT
from parley.testing.openai_server import OpenAIServer
from parley.testing.scripts import Fault, ScriptedReply, script


def test_results_come_in_the_order_of_the_items() -> None:
    """Who is slow is waited for, and all were asked at the same time."""
    together = threading.Barrier(4, timeout=60)

    def slowly(number: int) -> int:
        together.wait()
        time.sleep((3 - number) / 100)
        return number * number

    assert list(side_by_side(slowly, range(4))) == [0, 1, 4, 9]
    assert list(side_by_side(slowly, [])) == []


def test_no_more_at_once_than_workers() -> None:
    """Two workers hold two calls at a time, and do all of them."""
    running: list[int] = []
    most = 0

    def count(number: int) -> int:
        nonlocal most
        running.append(number)
        most = max(most, len(running))
        time.sleep(0.01)
        running.remove(number)
        return number

    assert list(side_by_side(count, range(7), workers=2)) == list(range(7))
    assert most == 2


def test_first_error_is_raised_after_the_results_before_it() -> None:
    """What was answered before it is not lost; nothing is begun after it, even where an IndexError is the error."""
    begun: list[int] = []
    given: list[int] = []

    def failing(number: int) -> int:
        begun.append(number)
        return [10, 11][number] if number != 3 else time.sleep(60) or 0

    with pytest.raises(IndexError):
        given.extend(side_by_side(failing, [0, 1, 2, 3, 4], workers=1))
    assert (given, begun[:3], 4 in begun) == ([10, 11], [0, 1, 2], False)


@pytest.mark.property
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_a_game_whose_provider_hangs(tmp_path: Path, how: signal.Signals) -> None:
    """Ctrl-C, or a TERM, while every seat waits for its model: exit 130 or 143 within seconds."""
    hangs = script(ScriptedReply(text="never", faults=(Fault(kind="stall", stall_s=120),)))
    with OpenAIServer(hangs) as server:
        command = [sys.executable, "-m", "harness", "run", "evacuation-noon", "--model", "openai/x", "--api-base", server.url]
        command += ["--runtime", "inprocess", "--yes", "--out", str(tmp_path / "run")]
        started = subprocess.Popen(
            ["env", "--default-signal=INT", *command], cwd=ROOT, env={**os.environ, "OPENAI_API_KEY": "k"},
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not server.requests:
            assert started.poll() is None, "the run ended before it could be interrupted"
            time.sleep(0.01)
        started.send_signal(how)
        began = time.monotonic()
        _, said = started.communicate(timeout=60)

    assert started.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[how]
    assert time.monotonic() - began < 30
    assert "Traceback" not in said

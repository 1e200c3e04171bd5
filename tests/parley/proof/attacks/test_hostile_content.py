"""The contents of attack 9 do what they are called: each runs in the reader it is made for, and in none that only prints it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.outcome import Outcome
from harness.records import Result
from parley.proof.attacks.content import READ, RUN, Marker

READERS = {
    "a pickle": [sys.executable, "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)"],
    "a YAML tag": [sys.executable, "-c", "import sys, yaml; yaml.unsafe_load(sys.stdin)"],
    "a Python expression": [sys.executable, "-c", "import sys; eval(sys.stdin.read())"],
    "a command substitution": ["bash", "-c", 'eval "answer=$(cat)"'],
    "an arithmetic index": ["bash", "-c", 'answer=$(cat); [[ 1 -eq "$answer" ]]'],
}
"""Careless readers."""


def _outcome(log: bytes, reward: float | None = 0.0) -> Outcome:
    result = Result.model_construct(reward=reward, error=None, status="graded", cause=None)
    return Outcome(result, {"verifier.log": log})


@pytest.mark.parametrize("name", RUN)
def test_content_runs_in_its_reader(name: str, tmp_path: Path) -> None:
    """The mark is on this host's file, and in what the reader says."""
    marker = Marker()
    content = RUN[name](marker.command(str(tmp_path / "file")))

    done = subprocess.run(READERS[name], input=content, capture_output=True, check=False)

    assert marker.seen(_outcome((tmp_path / "file").read_bytes())) is not None
    assert marker.seen(_outcome(done.stderr)) is not None


@pytest.mark.parametrize("name", RUN)
def test_content_that_is_only_printed_shows_no_mark(name: str) -> None:
    """A verifier may say what it was given."""
    marker = Marker()
    content = RUN[name](marker.command("/nowhere/file"))

    printed = content + repr(content).encode() + shlex.quote(str(content)).encode() + json.dumps(str(content)).encode()

    assert marker.seen(_outcome(printed)) is None
    assert marker.seen(_outcome(printed, 1.0)) is None
    assert marker.seen(_outcome(b"", marker.reward)) is not None


def test_deep_json_is_too_deep_for_python() -> None:
    """A reader that takes it for JSON fails by recursion, not by grammar."""
    with pytest.raises(RecursionError):
        json.loads(READ["deep JSON"])

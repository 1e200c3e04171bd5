"""A real model, small and local, plays each family through the whole model path: all episodes graded, or the cause right.

SmolLM2-135M fails nearly everything by its format, so nothing here depends on what it says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.agents.llm.local import CONTEXT_VARIABLE
from tests.forked import WaitingHarness

pytestmark = pytest.mark.real_model

MOST_CALLS, REPLY_TOKENS = 60, 48
LIMIT_S = 900
"""Seconds of one run at most, on a machine that does other work as well."""

SHARED = ("--runtime", "inprocess", "--workers", "1", "--reply-tokens", str(REPLY_TOKENS), "--json")
CONTRACT = ("presigned-url-download", "--model", "local")
GAME = ("uniform-01", "--agent", "imap", "--seat", "1=local", "--set", "turn_cap=1", "--set", "decision_retries=1")
SMALL = {CONTEXT_VARIABLE: "2048"}

RUNS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "text": ((*CONTRACT, "--turns", "3"), {}),
    "tools": ((*CONTRACT, "--turns", "3", "--protocol", "tools", "--no-probe"), {}),
    "text in 2k": ((*CONTRACT, "--turns", "12", "--no-probe"), SMALL),
    "game": (GAME, {}),
    "game in 2k": ((*GAME, "--no-probe"), SMALL),
    "session": (("bakery-switch", "--agent", "pool", "--seat", "0=local", "--set", "rounds=1"), {}),
}
"""Name of a run -> its words and its environment."""


class Played(NamedTuple):
    """A run that has ended."""

    code: int
    episode: dict[str, Any]
    """Its one result, as --json prints it."""

    calls: int
    folder: Path
    stderr: str


@pytest.fixture(scope="module")
def played(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Played]]:
    """All runs, played once."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    harness = WaitingHarness(root, usual, tmp_path_factory.mktemp("harness"))
    runs = {}
    for name, (words, environment) in RUNS.items():
        folder = tmp_path_factory.mktemp("real") / "run"
        done = harness.run(["run", *words, *SHARED, "--out", str(folder)], {**usual, **environment}, LIMIT_S)
        assert done.stdout, done.stderr
        told = json.loads(done.stdout)
        runs[name] = Played(done.returncode, told["episodes"][0], told["spent"]["calls"], folder, done.stderr)
        print(name, runs[name].calls, runs[name].episode, done.stderr[-900:], flush=True)
    yield runs
    harness.close()


def test_few_calls_are_made(played: Mapping[str, Played]) -> None:
    """The suite makes at most 60 calls, each of which is counted, free of charge and no longer than it may be."""
    assert 0 < sum(run.calls for run in played.values()) <= MOST_CALLS
    for run in played.values():
        tokens = run.episode["tokens"]
        assert tokens["calls"] == run.calls
        assert run.episode["cost_usd"] in {0.0, None}
        assert tokens["completion"] <= REPLY_TOKENS * tokens["calls"]
        assert not tokens["estimated"]

"""A real model, small and local, plays each family through the whole model path: all episodes graded, or the cause right.

SmolLM2-135M fails nearly everything by its format, so nothing here depends on what it says.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.agents.llm.local import CONTEXT_VARIABLE, LOG
from harness.causes import CAUSES
from tests.forked import WaitingHarness

pytestmark = pytest.mark.real_model

MOST_CALLS, REPLY_TOKENS = 60, 48
LIMIT_S = 900
"""Seconds of one run at most, on a machine that does other work as well."""

SHARED = ("--runtime", "inprocess", "--workers", "1", "--reply-tokens", str(REPLY_TOKENS), "--json")
CONTRACT = ("presigned-url-download", "--model", "local")
GAME = ("uniform-01", "--agent", "imap", "--seat", "2=local", "--set", "channels=none", "--set", "decision_retries=1")
SMALL, TINY = {CONTEXT_VARIABLE: "2048"}, {CONTEXT_VARIABLE: "512"}

RUNS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "tools": ((*CONTRACT, "--turns", "3", "--protocol", "tools"), {}),
    "text": ((*CONTRACT, "--turns", "12"), SMALL),
    "game": (GAME, {}),
    "game that does not fit": (GAME, TINY),
    "session": (("bakery-switch", "--agent", "pool", "--seat", "0=local", "--set", "rounds=1"), {}),
}
"""Name of a run -> its words and its environment."""


class Played(NamedTuple):
    """A run that has ended."""

    code: int
    episode: dict[str, Any]
    """Its one result, as --json prints it; empty for a run that ended before it was played."""

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
        told = json.loads(done.stdout) if done.stdout else {"episodes": [{}], "spent": {"calls": 0}}
        runs[name] = Played(done.returncode, told["episodes"][0], told["spent"]["calls"], folder, done.stderr)
    yield runs
    harness.close()


def test_few_calls_are_made_and_all_are_counted(played: Mapping[str, Played]) -> None:
    """At most 60 calls, each counted by the server, free of charge and no longer than it may be."""
    runs = [run for run in played.values() if run.calls]

    assert len(runs) >= 3
    assert sum(run.calls for run in runs) <= MOST_CALLS
    for run in runs:
        tokens = run.episode["tokens"]
        assert (tokens["calls"], tokens["estimated"], run.episode["cost_usd"]) == (run.calls, False, 0.0)
        assert tokens["completion"] <= REPLY_TOKENS * run.calls


def test_every_episode_is_graded_or_was_set_up_wrongly(played: Mapping[str, Played]) -> None:
    """Nothing that this model does is lost, and what is not graded has a cause of the set-up, told on stderr."""
    for name, run in played.items():
        if not run.episode:
            continue
        row = CAUSES[run.episode["ended_by"]] if run.episode["ended_by"] else None
        assert (run.episode["status"] == "graded") is (row is None or row.is_graded), name
        assert row is None or row.responsible in {"agent", "setup"}, name
        assert run.code == (0 if run.episode["status"] == "graded" else 3), run.stderr
        assert row is None or row.message in run.stderr, run.stderr


def test_tools_that_the_template_ignores_are_noticed_before_the_run(played: Mapping[str, Played]) -> None:
    """The first small call shows that the model never sees the tools; nothing is played, and the flag to type is named."""
    run = played["tools"]

    assert (run.code, run.episode) == (3, {})
    assert "--protocol text" in run.stderr


def test_a_full_context_is_what_it_is(played: Mapping[str, Played]) -> None:
    """A conversation that outgrows 2k ends by that, unless each reply was cut off; rules that do not fit are a set-up fault."""
    assert played["text"].episode["stopped_by"] == "context"
    assert played["text"].episode["ended_by"] in {"context", "always_cut_off"}
    assert played["game that does not fit"].episode["ended_by"] == "context_too_small"


def test_each_family_is_played_to_its_end(played: Mapping[str, Played]) -> None:
    """With 8k of context the game and the session end by their own rules, and one seat is the model's."""
    for name in ("game", "session"):
        run = played[name]
        seats = [seat for seat in run.episode["seats"] if seat["model"] == "local"]
        assert (run.episode["status"], run.episode["stopped_by"], len(seats)) == ("graded", None, 1), run.stderr
        assert seats[0]["tokens"]["calls"] == run.calls > 0
        assert {one["seat"] for one in run.episode["forfeits"]} <= {seats[0]["seat"]}


def test_the_log_of_the_server_is_kept_and_the_server_is_gone(played: Mapping[str, Played]) -> None:
    """Each run that asked the model has the server's log, in which its address stands, and nobody listens there any more."""
    for run in played.values():
        if run.calls:
            log = (run.folder / LOG).read_text(encoding="utf-8", errors="replace")
            (port,) = re.findall(r"listening on http://127\.0\.0\.1:(\d+)", log)
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", int(port)), timeout=5)

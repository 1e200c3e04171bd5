"""A generation that ends in the middle: killed, cut short, under another plan, twice at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.agent import Usage
from harness.errors import UsageError
from harness.paths import ROOT
from harness.registry import discover
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.generation import FILE, CandidateRecord, Cost, ledger, made
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.testing.openai_server import OpenAIServer
from tests.parley.families.hidden_profile.scripted_writers import scripts, writer
from worlds.hidden_profile.rules.deck import Deck

pytestmark = pytest.mark.property
PLAN = {"format": "formal", "seed": 0}


def record(number: int, **more: Any) -> CandidateRecord:
    """A candidate that was malformed."""
    return CandidateRecord(
        number=number, stage="malformed", reasons={"malformed": "no"}, cost=Cost(calls=1), reply="no", **more
    )


def numbers(out: Path) -> list[int]:
    """The candidates on record."""
    return [json.loads(line)["number"] for line in (out / FILE).read_text(encoding="utf-8").splitlines()[1:]]


def generating(root: Path, out: Path, server: OpenAIServer) -> list[str]:
    """The command, to run in a process of its own."""
    typed = ["generate", "hidden-profile", "--model", "openai/any", "--api-base", server.url, "--out", str(out)]
    return [sys.executable, "-m", "harness", "--tasks", str(root), *typed, "--candidates", "3", "--sessions", "1", "--yes"]


def test_killed_run_loses_one_candidate_at_most(tmp_path: Path) -> None:
    """Killed while the second candidate is being written and started again, it makes that one anew and no other."""
    root, out = tmp_path / "tasks", tmp_path / "generated" / "hidden-profile"
    write_task(root / "hidden-profile", "one-roll", Deck.model_validate_json(STARTER.read_bytes()), "easy")
    reached, free, asked = threading.Event(), threading.Event(), []
    dress = writer()

    def write(messages: Any) -> str:
        asked.append(messages[0]["content"])
        if len(asked) == 2:
            reached.set()
            free.wait(60)
        return dress(messages)

    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PARLEY_", "OPENAI_"))}
    with OpenAIServer(*scripts(write)) as server:
        how: dict[str, Any] = {"cwd": ROOT, "env": environ, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(generating(root, out, server), **how) as running:
            assert reached.wait(60)
            running.kill()
        free.set()
        before = numbers(out)
        again = subprocess.run(generating(root, out, server), **how, timeout=60, check=False)

    assert (before, numbers(out), again.returncode) == ([1], [1, 2, 3], 0)
    assert len(asked) == 4
    assert asked[1] == asked[2]
    assert [task.task_id[:7] for task in discover(out.parent)] == ["gen-001", "gen-002", "gen-003"]


def test_line_that_was_cut_short_is_dropped(tmp_path: Path) -> None:
    """Half a record at the end of the file was never made; the whole ones before it stay."""
    with ledger(tmp_path, PLAN) as book:
        book.add(record(1))
        book.add(record(2))
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:-20])
    with ledger(tmp_path, PLAN) as book:
        assert sorted(book.records) == [1]
        book.add(record(2))

    assert made(tmp_path) == {1, 2}
    assert (tmp_path / FILE).read_bytes() == whole


def test_plan_that_was_cut_short_begins_anew(tmp_path: Path) -> None:
    """A file killed before its first line was whole is a new file."""
    (tmp_path / FILE).write_bytes(b'{"plan": {"form')
    with ledger(tmp_path, PLAN) as book:
        book.add(record(1))

    assert numbers(tmp_path) == [1]


def test_another_plan_does_not_go_on(tmp_path: Path) -> None:
    """What differs is named, and the file stays as it was."""
    with ledger(tmp_path, PLAN) as book:
        book.add(record(1))
    before = (tmp_path / FILE).read_bytes()

    with (
        pytest.raises(UsageError, match=r"other settings: format formal \(now text\)"),
        ledger(tmp_path, {**PLAN, "format": "text"}),
    ):
        pass
    assert (tmp_path / FILE).read_bytes() == before


def test_two_runs_at_once_do_not_meet(tmp_path: Path) -> None:
    """The second one is told."""
    with ledger(tmp_path, PLAN), pytest.raises(UsageError, match="another run"), ledger(tmp_path, PLAN):
        pass


@pytest.mark.parametrize("content", [b"[]\n", b"plain text\n", b'{"plan": {"format": "formal", "seed": 0}}\n{"number": 1}\n'])
def test_file_that_is_no_ledger_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """Another file of that name is an error, and not overwritten."""
    (tmp_path / FILE).write_bytes(content)

    with pytest.raises(UsageError, match="no ledger"), ledger(tmp_path, PLAN):
        pass
    assert (tmp_path / FILE).read_bytes() == content
    assert made(tmp_path) == frozenset()


def test_cost_without_a_price_is_none() -> None:
    """Dollars add up, and one unpriced call leaves no sum."""
    priced = Usage(calls=1, prompt_tokens=5, completion_tokens=2, cost_usd=0.25)

    assert Cost.of(priced, priced) == Cost(calls=2, prompt_tokens=10, completion_tokens=4, cost_usd=0.5)
    assert Cost.of(priced, Usage(calls=1)).cost_usd is None

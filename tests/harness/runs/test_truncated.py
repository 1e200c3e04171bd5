"""A file of a run that was cut off at any byte is repaired or refused by its name, and never read as something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.agents.llm.meter import Spent
from harness.errors import HarnessError, UsageError
from harness.records import RunFolder
from harness.registry import Task
from harness.runs.ledger import FILE, RunLedger
from harness.runs.plan import Plan
from harness.runs.request import read_record
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime


@pytest.fixture
def plan(presigned: Task) -> Plan:
    """Two episodes of the oracle."""
    return Plan("run", [presigned], [0, 1], 1)


@pytest.fixture
def folder(plan: Plan, tmp_path: Path) -> RunFolder:
    """A run of them that is complete."""
    folder = RunFolder(tmp_path / "run")
    play(plan, folder)
    return folder


def play(plan: Plan, folder: RunFolder) -> list[tuple[str, str | None, float | None]]:
    """What a run that is gone on with is worth."""
    results = run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None)
    return [(result.key.name, result.trace_hash, result.reward) for result in results]


@pytest.mark.property
def test_cut_plan_is_refused(folder: RunFolder) -> None:
    """run.json is refused by its name, wherever it ends."""
    file = folder.path / "run.json"
    whole = file.read_bytes().rstrip()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(UsageError, match=r"run/run\.json is not a valid plan"):
            read_record(folder)
    file.write_bytes(whole)
    assert read_record(folder) is not None


@pytest.mark.property
def test_cut_result_is_no_result(plan: Plan, folder: RunFolder) -> None:
    """An episode whose result.json is cut off is not finished, and a report names the file; played again, it is as before."""
    before, key = play(plan, folder), plan.keys[0]
    file = folder.episode(key) / "result.json"
    whole = file.read_bytes().rstrip()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        damaged: list[HarnessError] = []
        assert folder.finished(key) is None
        assert [result.key for result in folder.results(damaged)] == plan.keys[1:]
        assert [str(file) in str(one) for one in damaged] == [True]

    assert play(plan, folder) == before
    (kept,) = file.parents[1].glob("attempts/*/result.json")
    assert kept.read_bytes() == whole[:-1]


def test_cut_rewards_are_written_again(plan: Plan, folder: RunFolder) -> None:
    """rewards.jsonl is made from the results whenever a run ends, whatever is left of the last one."""
    file = folder.path / "rewards.jsonl"
    whole = file.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 2):
        file.write_bytes(whole[:length])
        play(plan, folder)
        assert file.read_bytes() == whole


def test_cut_line_of_spending_swallows_no_other(tmp_path: Path) -> None:
    """What was spent counts by whole lines, and a call that is written down after a cut one counts too."""
    one, two = Spent(1, 10, 3, 0.5), Spent(2, 7, 1, 0.25)
    ledger = RunLedger(tmp_path)
    ledger.note(one)
    ledger.note(two)
    whole = (tmp_path / FILE).read_bytes()
    lengths = [len(line) for line in whole.splitlines()]
    for length in range(len(whole) + 1):
        (tmp_path / FILE).write_bytes(whole[:length])
        read = Spent() + (one if length >= lengths[0] else Spent()) + (two if length >= len(whole) - 1 else Spent())
        assert RunLedger(tmp_path).read() == read
        RunLedger(tmp_path).note(one)
        assert RunLedger(tmp_path).read() == read + one
    assert json.loads(whole.splitlines()[1])["cost_usd"] == 0.25

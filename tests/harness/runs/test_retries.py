"""A retry plays what failed, tells what it should and nothing else, and leaves a record of both."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent import AgentSpec, SeatSpec
from harness.errors import UsageError
from harness.records import Result, RunFolder
from harness.registry import Task
from harness.runs.plan import Plan
from harness.runs.request import Retry
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from parley.families.contract.coaching import far_label, note
from parley.requests.coaching import first_player, read_retry
from worlds.contract.labels import LABELS, Axis, Label


def played(folder: Path, task: Task, agent: AgentSpec, retry: Retry | None = None) -> list[Result]:
    """Two seeds of one task, run in process."""
    plan = Plan(folder.name, [task], [0, 1], 1, agent, overrides={"window_seconds": "50"}, retry=retry)
    return run_plan(plan, InProcessRuntime(), RunFolder(folder), workers=1, images={}, progress=lambda event: None)


def never(what: str) -> bool:
    """Nobody says yes."""
    return False


@pytest.fixture
def failed(tmp_path: Path, presigned: Task) -> Path:
    """A run in which every link was decoded on the way."""
    played(tmp_path / "first", presigned, AgentSpec(kind="violation", name="decoded_link"))
    return tmp_path / "first"


@pytest.mark.parametrize(("mode", "told"), [("none", ""), ("correct", "MUTATED_TOKEN"), ("wrong", "EXPIRED_BEFORE_USE")])
def test_retry_records_what_it_was_told(failed: Path, presigned: Task, mode: str, told: str) -> None:
    """Each episode says how it was coached, what the first attempt earned, and in which run."""
    again = played(failed.parent / mode, presigned, AgentSpec(), read_retry(failed, mode).retry)
    hints = [result.hint.model_dump() for result in again if result.hint]

    assert hints == 2 * [{"mode": mode, "told": told, "first_label": "MUTATED_TOKEN", "retry_of": "first"}]
    assert [result.success for result in again] == [True, True]


@pytest.mark.property
@pytest.mark.parametrize("mode", ["none", "correct", "wrong"])
def test_note_is_part_of_what_the_agent_reads(failed: Path, presigned: Task, mode: str) -> None:
    """The note follows the instruction, names the label and nothing of the instance; without one nothing is added."""
    again = played(failed.parent / mode, presigned, AgentSpec(), read_retry(failed, mode).retry)
    trajectory = (Path(again[0].path) / "trajectory.json").read_text(encoding="utf-8")
    named = [label for label in LABELS if f"classified as {label}." in trajectory]

    assert named == [label for label in [again[0].hint.told if again[0].hint else ""] if label]


def test_only_failures_are_played_again(failed: Path, presigned: Task) -> None:
    """An episode that succeeded is not part of the retry."""
    result = failed / "episodes/contract/presigned-url-download/s1-a1/result.json"
    text = result.read_text(encoding="utf-8").replace('"success": false', '"success": true')
    result.write_text(text, encoding="utf-8")

    again = played(failed.parent / "again", presigned, AgentSpec(), read_retry(failed, "correct").retry)

    assert [(episode.seed, episode.attempt) for episode in again] == [(0, 1)]


def test_retry_without_failures(tmp_path: Path, presigned: Task) -> None:
    """Where nothing failed there is nothing to retry."""
    played(tmp_path / "first", presigned, AgentSpec())

    with pytest.raises(UsageError, match="no failed episode"):
        read_retry(tmp_path / "first", "correct")


@pytest.mark.parametrize(("folder", "mode", "why"), [("nowhere", "none", "run.json"), ("first", "loud", "hint must be one of")])
def test_retry_of_nothing(failed: Path, folder: str, mode: str, why: str) -> None:
    """A folder that is no run and a mode that does not exist are refused."""
    with pytest.raises(UsageError, match=why):
        read_retry(failed.parent / folder, mode)


@pytest.mark.parametrize(
    "spec",
    [
        AgentSpec(
            kind="llm",
            model="openai/anything",
            interface="tool",
            api_base="http://127.0.0.1:1/v1",
            max_tokens=512,
            protocol="text",
        ),
        AgentSpec(
            kind="llm",
            model="openai/anything",
            interface="tool",
            temperature=None,
            rotate=True,
            seats=(SeatSpec(seat=2, kind="model", name="openai/two"), SeatSpec(seat=10, kind="model", name="openai/ten")),
        ),
    ],
)
def test_model_of_the_first_run_is_kept(failed: Path, presigned: Task, spec: AgentSpec) -> None:
    """A retry without further flags has the same model with the same parameters, seats included, read back from its file."""
    record = Plan("first", [presigned], [0, 1], 1, spec, overrides={"window_seconds": "50"}).record("inprocess", {})
    RunFolder(failed).write_plan(record.model_dump(mode="json"))
    first = read_retry(failed, "none")

    assert first.record.identity.options == {"window_seconds": "50"}
    assert first_player(first, spec.api_base, never) == spec


def test_model_of_an_older_run_must_be_typed(failed: Path, presigned: Task) -> None:
    """A run.json without its request does not say who played."""
    spec = AgentSpec(kind="llm", model="openai/anything", interface="tool")
    record = Plan("first", [presigned], [0, 1], 1, spec).record("inprocess", {}).model_dump(mode="json")
    del record["request"]
    RunFolder(failed).write_plan(record)

    with pytest.raises(UsageError, match=r"first/run\.json was written by an older version"):
        first_player(read_retry(failed, "none"), None, never)


def test_every_failure_label_has_a_far_one() -> None:
    """The wrong label is of the other axis, the nearest in severity, the first by name."""
    failures = [label for label in Label if label is not Label.SUCCESS]

    assert {LABELS[label].axis for label in failures if LABELS[far_label(label)].axis is LABELS[label].axis} == set()
    assert far_label("RATE_LIMITED") == Label.BACKOFF_VIOLATION
    assert far_label("WRONG_VALUE") == Label.VERSION_CONFLICT
    assert LABELS[far_label("OTHER")].axis is Axis.INTEGRITY


def test_note_says_label_description_and_deficit() -> None:
    """A note has all three, in sentences."""
    info = LABELS[Label.MUTATED_TOKEN]

    assert "MUTATED_TOKEN" in note("MUTATED_TOKEN")
    assert info.coaching in note("MUTATED_TOKEN")
    assert info.deficit in note("MUTATED_TOKEN")


def test_retry_of_another_edition(failed: Path) -> None:
    """Another key makes other instances, so a retry of this run would not be one."""
    with pytest.raises(UsageError, match="another edition"):
        read_retry(failed, "correct", "another key")


def test_retry_of_a_task_that_changed(failed: Path, presigned: Task, tmp_path: Path) -> None:
    """A task whose folder is not what it was is refused."""
    folder = tmp_path / "changed" / presigned.task_id
    shutil.copytree(presigned.path, folder)
    (folder / "instruction.md").write_text("changed", encoding="utf-8")
    changed = replace(presigned, path=folder)

    with pytest.raises(UsageError, match="has changed since first"):
        read_retry(failed, "correct").tasks([changed])

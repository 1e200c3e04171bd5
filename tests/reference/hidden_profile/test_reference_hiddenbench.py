"""The published sample: it imports, every label finds its way back, and no rationale reaches anything that is handed out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from harness.registry import Task, read_task
from harness.trust import admitted
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.hiddenbench import HiddenBenchTask, read_tasks, seal
from tests.parley.families.hidden_profile.delivered import delivered
from worlds.hidden_profile.rules.ballot import read_ballot

pytestmark = pytest.mark.reference

SHINGLE = 8
"""Words in a row that a rationale may share with nothing but the task's own fields."""


@pytest.fixture(scope="module")
def sample() -> Path:
    """The file."""
    folder = os.environ.get("PARLEY_REFERENCE")
    assert folder, "set PARLEY_REFERENCE to the folder of reference cases"
    return Path(folder) / "hiddenbench" / "sample.json"


@pytest.fixture(scope="module")
def entries(sample: Path) -> list[dict[str, Any]]:
    """Its entries as they stand."""
    found: list[dict[str, Any]] = json.loads(sample.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def imported(sample: Path) -> list[HiddenBenchTask]:
    """Its entries as tasks."""
    return read_tasks(sample)


@pytest.fixture(scope="module")
def folders(imported: list[HiddenBenchTask], tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Their folders."""
    root = tmp_path_factory.mktemp("imported") / "hidden-profile"
    tasks = [admitted(read_task(write_task(root, one.name, one.scenario, "medium"))) for one in imported]
    assert seal(root, imported) is not None
    return tasks


def test_sample_is_kept_word_for_word(imported: list[HiddenBenchTask], entries: list[dict[str, Any]]) -> None:
    """Order, texts, options and answers are those of the file."""
    for task, entry in zip(imported, entries, strict=True):
        scenario = task.scenario

        assert (task.published_id, scenario.brief, scenario.label(scenario.key)) == (
            entry["id"], entry["description"], entry["correct_answer"],
        )  # fmt: skip
        assert [option.label for option in scenario.options] == entry["possible_answers"]
        assert [scenario.by_id[one].text for one in scenario.of_scope("shared")] == entry["shared_information"]
        assert [scenario.by_id[one].text for one in scenario.of_scope("private")] == entry["hidden_information"]
        assert task.rationale == entry.get("rationale", "")


def test_every_published_label_round_trips(imported: list[HiddenBenchTask]) -> None:
    """A vote by label, alone or in JSON, with straight or curly quotes, in any case, is a vote for that option."""
    for task in imported:
        for option in task.scenario.options:
            plain = option.label.replace("\u2019", "'")
            for said in (option.label, plain, plain.lower(), f"[{option.id}] {option.label}", option.id):
                assert read_ballot(task.scenario, said).option == option.id
                assert read_ballot(task.scenario, json.dumps({"vote": said, "rationale": "r"})).option == option.id


def test_no_published_rationale_is_delivered(folders: list[Task], imported: list[HiddenBenchTask]) -> None:
    """No run of words of a rationale that the task itself does not have stands in rules, turns, logs or task folders."""
    for task, one in zip(folders, imported, strict=True):
        own = " ".join([one.scenario.brief, *(fact.text for fact in one.scenario.facts)])
        words = one.rationale.split()
        runs = {" ".join(words[place : place + SHINGLE]) for place in range(len(words) - SHINGLE + 1)}
        sealed = {run for run in runs if run not in own}
        texts = delivered(task, {"condition": "full", "rounds": 1, "remind_pre_vote": True})
        texts += [path.read_text(encoding="utf-8") for path in task.path.rglob("*") if path.is_file()]

        assert bool(sealed) == bool(one.rationale)
        assert [run for run in sealed if any(run in text for text in texts)] == []


def test_guessers_are_told_for_each(imported: list[HiddenBenchTask]) -> None:
    """Every text-only guesser has a share for every task, and none is beyond 0 and 1."""
    found = [one.guesses for one in imported]

    assert {frozenset(row) for row in found} == {
        frozenset({"always-last", "most-mentioned", "fewest-negative", "longest", "longest-texts"})
    }
    assert all(0 <= share <= 1 for row in found for share in row.values())

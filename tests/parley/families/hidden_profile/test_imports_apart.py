"""What comes from elsewhere stays apart: its rows, its word in every list, what verify asks of it, and who will not play it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.agent import AgentSpec
from harness.agents.seats.agent import SeatAgent
from harness.agents.solutions import players
from harness.errors import UsageError
from harness.paths import ROOT
from harness.records import Result, RunFolder
from harness.registry import Task, discover, read_task, select
from harness.runs.plan import Plan
from harness.runs.run import run_plan
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from oracles.hidden_profile.certificate import certify
from parley.families.hidden_profile.authoring.claims import claims
from parley.families.hidden_profile.authoring.folders import UNCERTIFIED, write_task
from parley.families.hidden_profile.authoring.hiddenbench import read_tasks
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.families.hidden_profile.fact_matrix import matrix
from parley.families.hidden_profile.report import TABLES, report
from parley.families.hidden_profile.seats import PLAYERS
from parley.proof.proof import verify
from parley.reports.evidence import Evidence, gather, read_runs
from parley.reports.reading import read_episode
from tests.conftest import Command
from tests.parley.families.hidden_profile.tabled import of, rows, seen, session, table
from tests.parley.families.hidden_profile.test_hiddenbench_import import entry, written
from tests.worlds.hidden_profile.film import SCENARIO
from worlds.hidden_profile.rules.deck import Deck

NAME = "hb-04-who-took-the-zither"
WORD = "imported, uncertified"


@pytest.fixture(scope="module")
def zither(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """One imported task."""
    root = tmp_path_factory.mktemp("imported")
    (task,) = read_tasks(written(root, entry()))
    return admitted(read_task(write_task(root / "in" / "hidden-profile", task.name, task.scenario, "medium")))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, zither: Task) -> tuple[list[Result], Evidence]:
    """The oracle on a deck of the suite and on the import, one run each, two rounds."""
    (deck,) = select(discover(ROOT / "tasks"), ["ferry-street-plate"])
    root, results = tmp_path_factory.mktemp("runs"), []
    for task in (deck, zither):
        folder = RunFolder(root / task.task_id)
        plan = Plan(task.task_id, [task], [0], 1, overrides={"rounds": "2"})
        results += run_plan(plan, InProcessRuntime(), folder, workers=1, images={}, progress=lambda event: None)
    return results, gather(read_runs([root]), "hidden-profile", [deck, zither])


def made_up(task: str, whose: str | None, certified: bool | None) -> Result:
    """A session on a task of some standing, as verdicts tell it."""
    said: dict[str, Any] = {"whose": whose, "certified": certified}
    return session(task, "000", "110", **{name: value for name, value in said.items() if value is not None})


def test_standings_share_no_row() -> None:
    """One player on five kinds of tasks has five rows, only those of the suite go unnamed, and a note says what it means."""
    group = of(
        made_up("own", "own", True), made_up("hb", "imported", False), made_up("gen", "generated", True),
        made_up("prose", "generated", False), made_up("old", None, False),
    )  # fmt: skip
    made = table(seen(group), "accuracy")

    assert [(row["setup"], row["tasks"], row["hidden"]) for row in rows(made, rule="average")] == [
        (None, 1, 1), (WORD, 1, 1), ("generated", 1, 1), ("generated, uncertified", 1, 1), ("uncertified", 1, 1),
    ]  # fmt: skip
    assert any(note.startswith("uncertified: it is not proved") for note in made.notes)


def test_the_suite_alone_needs_no_note() -> None:
    """Where all is certified and ours, or does not say, nothing is added to a set-up or under a table."""
    made = table(seen(of(made_up("own", "own", True), made_up("older", None, None))), "accuracy")

    assert [(row["setup"], row["tasks"]) for row in rows(made, rule="average")] == [(None, 2)]
    assert not any("uncertified" in note for note in made.notes)


def test_an_episode_that_was_never_judged_stands_with_its_task() -> None:
    """What another episode says of the task holds for it."""
    group = of(made_up("own", "own", True), made_up("hb", "imported", False))
    lost = group.graded[1].model_copy(update={"status": "ungraded", "metrics": {}, "seed": 7})
    group.ungraded.append(lost)
    made = table(seen(group), "accuracy")

    assert [(row["setup"], row["ungraded"]) for row in rows(made, rule="average")] == [(None, None), (WORD, 1)]


@pytest.mark.property
def test_real_runs_stand_apart_in_every_table(played: tuple[list[Result], Evidence]) -> None:
    """No row of any table is of the import without the word, and guessers are counted over it alone."""
    results, evidence = played
    assert [(result.success, result.metrics["whose"], result.metrics["certified"]) for result in results] == [
        (True, "own", True), (True, "imported", False),
    ]  # fmt: skip
    for name in sorted({*TABLES, "guessers"} - {"variants"}):
        for made in report(evidence, [name], published=False):
            told = json.dumps([row for row in made.rows if row.get("task", NAME) == NAME])
            assert ("uncertified" in told) == (name != "guessers" or "one hand" not in told), name
    by_words = table(evidence, "guessers", place=1)

    assert {row["kind"] for row in by_words.rows} == {f"text only, {WORD}", "player"}
    assert [row["player"] for row in rows(by_words, kind="player")] == [f"oracle ({WORD}, rounds=2)"]
    assert {row["tasks"] for row in table(evidence, "accuracy").rows} == {1}


def test_the_word_is_in_task_toml_list_and_show(zither: Task, harness: Command) -> None:
    """And in no task of the suite."""
    root = zither.path.parents[1]
    listed, shown, ours = (
        harness("--tasks", root, "list"), harness("--tasks", root, "show", NAME), harness("list", "ferry-street-plate"),
    )  # fmt: skip

    assert UNCERTIFIED in (zither.path / "task.toml").read_text(encoding="utf-8")
    assert [line.split() for line in listed.stdout.splitlines()] == [
        ["hidden-profile:", "1", "task", "difficulty", "certificate"], [NAME, "medium", "uncertified"],
    ]  # fmt: skip
    assert "\nuncertified: nothing is proved about this task" in shown.stdout
    assert ours.stdout.splitlines()[0].split() == ["hidden-profile:", "1", "task", "difficulty"]
    assert [path for path in (ROOT / "tasks").rglob("task.toml") if "uncertified" in path.read_text(encoding="utf-8")] == []


@pytest.mark.property
def test_verify_proves_what_can_be_proved(zither: Task) -> None:
    """The oracle by key, nop, wrong clients and protocol hold, and one line says what cannot, and why."""
    proof = verify([zither], [0], workers=1)
    (task,) = proof.tasks
    names = {check.name for check in task.checks}

    assert [check for check in task.checks if not check.ok] == []
    assert (task.verdict, proof.ok) == ("uncertified", True)
    assert str(task.missing).startswith("prose without rules cannot prove that the right option follows (C1)")
    assert {"oracle", "nop", "violation:silent", "violation:undecided", "ballots", "determinism", "drift"} <= names
    assert not any(name.startswith(("C0", "C1", "C2", "C3", "mutant")) for name in names)


def test_wrong_clients_earn_what_can_be_told(zither: Task) -> None:
    """Nobody can say who could have known; a vote for nothing is one anywhere."""
    assert {name: label for name, (label, _) in players(zither).items()} == {
        "solve": "SUCCESS", "silent": "OTHER", "deaf": "OTHER", "undecided": "INVALID_VOTE",
    }  # fmt: skip


def said(folder: Path, old: str, new: str) -> Sequence[tuple[str, bool, str]]:
    """The claims about a task whose task.toml was changed."""
    path = folder / "task.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return [(check.name, check.ok, check.detail) for check in claims(read_task(folder))]


def test_prose_must_say_so_and_what_is_proved_must_not(zither: Task, tmp_path: Path) -> None:
    """An import without the word is one failure, and so is the word in a certified task, at its line."""
    (task,) = read_tasks(written(tmp_path, entry()))
    bare = write_task(tmp_path, task.name, task.scenario, "medium")
    ((name, ok, detail),) = said(bare, UNCERTIFIED, "")
    certified = write_task(tmp_path, "one-roll", Deck.model_validate_json(STARTER.read_bytes()), "easy")
    told = said(certified, "difficulty =", f"{UNCERTIFIED}difficulty =")

    assert (name, ok) == ("uncertified", False)
    assert detail.endswith('task.toml must say certificate = "uncertified"')
    assert [(name, ok) for name, ok, _ in told] == [("ballots", True), ("uncertified", False)]
    assert told[1][2] == 'every check holds, so task.toml must not say certificate = "uncertified"'
    assert [(check.name, check.ok) for check in claims(zither)] == [("ballots", True), ("uncertified", True)]


def test_a_deck_that_fails_checks_may_say_so(tmp_path: Path) -> None:
    """Its line names them then, and none is a failure; without the word each is one."""
    deaf = STARTER.read_text(encoding="utf-8").replace("telephone|phone|baker", "nowhere")
    folder = write_task(tmp_path, "one-roll", Deck.model_validate_json(deaf), "easy")
    silent = said(folder, "", "")
    told = said(folder, "difficulty =", f"{UNCERTIFIED}difficulty =")

    assert ("C6", False) in [(name, ok) for name, ok, _ in silent]
    assert [(name, ok) for name, ok, _ in told] == [("ballots", True), ("uncertified", True)]
    assert "C6" in told[1][2]


def test_rules_with_one_deal_prove_nothing(tmp_path: Path) -> None:
    """A scenario that names its key is written as uncertified, and one line says which checks cannot hold; else it fails."""
    folder = write_task(tmp_path, "one-roll", SCENARIO, "easy")
    told = said(folder, "", "")
    silent = said(folder, UNCERTIFIED, "")

    assert [(name, ok) for name, ok, _ in told] == [("ballots", True), ("uncertified", True)]
    assert "names the right option" in told[1][2]
    assert [(name, ok) for name, ok, _ in silent] == [("uncertified", False)]


@pytest.mark.parametrize("name", PLAYERS)
def test_scripted_groups_refuse(zither: Task, name: str) -> None:
    """Before anything starts, with what is missing and who can play it."""
    with pytest.raises(UsageError, match=f"{NAME} is uncertified: its prose has no rules and no weights") as refused:
        SeatAgent(AgentSpec(kind="seats", name=name)).needs_main(zither, "inprocess")

    assert refused.value.hint == f"harness run {NAME} --model MODEL, or --agent oracle"


def test_no_decoy_is_made_up(zither: Task, tmp_path: Path) -> None:
    """Neither in the scenario nor in its certificate, which has no vacuous checks; the matrix shows none."""
    (task,) = read_tasks(written(tmp_path, entry()))
    certificate = certify(task.scenario).document()
    (shown,) = matrix(zither)

    assert (task.scenario.decoy, "decoy" in json.dumps(task.scenario.origin)) == (None, False)
    assert sorted(certificate) == ["certified", "guessers", "hands", "scenario"]
    assert certificate["certified"] is False
    assert not any("decoy" in column.title for column in shown.columns)


@pytest.mark.property
def test_a_transcript_names_the_key_alone(played: tuple[list[Result], Evidence]) -> None:
    """Who votes for what is told, and nobody says which option the shared facts speak for."""
    (_, imported), _ = played
    last = next(section for section in read_episode(Path(imported.path)).sections if section.title == "Last votes")

    assert last.notes[0] == "The right option is [o2] Mr. X\u2019s son."

"""The importer: what a published entry becomes, what each kind of broken entry is told, and where the answer never goes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.errors import UsageError
from harness.paths import ROOT
from harness.registry import Task, discover
from harness.trust import admitted
from parley.commands.kinds import import_command
from parley.families.hidden_profile.authoring.hiddenbench import PRESETS, SEALED, folder_name, read_tasks
from parley.proof.sync import checked_name, drift, vouched
from tests.parley.families.hidden_profile.delivered import delivered
from worlds.core.manifest import OptionValue
from worlds.hidden_profile.rules.ballot import find_option

SECRET = "It is the son, see the zither."


def entry(**changes: Any) -> dict[str, Any]:
    """A small entry, with what makes real ones hard: a prefix pair, a curly apostrophe, brackets, a bundle of lines."""
    return {
        "id": 4,
        "name": "Who took the Zither?",
        "description": "One of four took it.\n- Choose one.",
        "shared_information": ["Mr. X was seen.", "Mrs. Y was seen twice."],
        "hidden_information": ["X has an alibi.", "The son has “none”.\n- He plays.", "Y cannot play."],
        "possible_answers": ["Mr. X", "Mr. X\u2019s son", "Mrs. Y: a [player]", "Nobody"],
        "correct_answer": "Mr. X\u2019s son",
        "rationale": SECRET,
        **changes,
    }


def written(tmp_path: Path, *entries: Any) -> Path:
    """A file of entries."""
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(list(entries), ensure_ascii=False), encoding="utf-8")
    return path


def run(*typed: str | Path) -> tuple[str, BaseException | None]:
    """Run the command as typed: its standard output, and what it raised."""
    ran = CliRunner().invoke(import_command, ["hiddenbench", *map(str, typed)])
    return ran.stdout, ran.exception


@pytest.fixture
def tasks(tmp_path: Path) -> Sequence[Task]:
    """Two imported tasks."""
    file = written(tmp_path, entry(), entry(id=1, name="other", rationale="", correct_answer="Nobody"))
    assert run(file, "--out", tmp_path / "in" / "hidden-profile")[1] is None
    return [admitted(task) for task in discover(tmp_path / "in")]


def test_entry_becomes_a_scenario(tmp_path: Path) -> None:
    """One private fact a seat, options by number, the brief as it stands, and nothing that claims to be proved."""
    (task,) = read_tasks(written(tmp_path, entry()))
    scenario = task.scenario

    assert (task.name, scenario.title, scenario.agents) == ("hb-04-who-took-the-zither", "Who took the Zither?", 3)
    assert (scenario.option_ids, scenario.key, scenario.brief) == (("o1", "o2", "o3", "o4"), "o2", entry()["description"])
    assert [(one.id, one.scope, one.holders) for one in scenario.facts] == [
        ("s1", "shared", ()), ("s2", "shared", ()), ("u1", "private", (1,)), ("u2", "private", (2,)), ("u3", "private", (3,)),
    ]  # fmt: skip
    assert (scenario.atoms, scenario.rules) == ({}, ())
    assert {name: scenario.origin[name] for name in ("source", "task_id", "name", "place", "certified")} == {
        "source": "hiddenbench", "task_id": 4, "name": "Who took the Zither?", "place": 1, "certified": False,
    }  # fmt: skip


def test_content_hash_is_of_all_but_the_rationale(tmp_path: Path) -> None:
    """Another rationale is the same task, another word elsewhere is another."""
    one, same, other = (
        read_tasks(written(tmp_path, entry(**change)))[0].scenario.origin["sha256"]
        for change in ({}, {"rationale": "none"}, {"shared_information": ["Mr. X was seen.", "Mrs. Y was seen thrice."]})
    )

    assert one == same != other


def test_order_of_the_file_is_kept(tmp_path: Path) -> None:
    """Tasks come in the file's order, which their origin has, whatever their ids."""
    tasks = read_tasks(written(tmp_path, *(entry(id=number) for number in (9, 2, 5))))

    assert [(task.published_id, task.scenario.origin["place"]) for task in tasks] == [(9, 1), (2, 2), (5, 3)]


def test_every_label_is_read_as_its_own_option(tmp_path: Path) -> None:
    """As it stands, by id, both as shown, in capitals, with straight quotes, with a full stop: always this option."""
    (task,) = read_tasks(written(tmp_path, entry()))
    for option in task.scenario.options:
        shown = f"[{option.id}] {option.label}"
        plain = option.label.replace("\u2019", "'")
        for said in (option.id, option.label, shown, option.label.upper(), plain, f" {plain}. "):
            assert find_option(task.scenario, said) == option.id


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda e: e.update(correct_answer="mr. x\u2019s son"), "entry 1: .*is not one of possible_answers"),
        (lambda e: e.update(correct_answer="Mr. X's son"), "is not one of possible_answers"),
        (lambda e: e.update(id="4"), "id: Input should be a valid integer"),
        (lambda e: e.update(id=0), "id: "),
        (lambda e: e.update(hidden_information="X has an alibi."), "hidden_information: "),
        (lambda e: e.update(hidden_information=["one", "two"]), "hidden_information: "),
        (lambda e: e.update(shared_information=[]), "shared_information: "),
        (lambda e: e.update(possible_answers=["Mr. X\u2019s son", "Nobody"]), "possible_answers: "),
        (lambda e: e["possible_answers"].append("mr. X's son"), "would be read as one for o2"),
        (lambda e: e["possible_answers"].append("O2"), "would be read as one for o2"),
        (lambda e: e.update(rationale=None), "rationale: "),
        (lambda e: e.pop("description"), "description: Field required"),
        (lambda e: e.update(name=" "), "name: "),
    ],
)
def test_broken_entry_is_told(tmp_path: Path, spoil: Callable[[dict[str, Any]], Any], why: str) -> None:
    """File, entry and field are named, and nothing is written."""
    broken = entry()
    spoil(broken)
    _, error = run(written(tmp_path, broken), "--out", tmp_path / "out")

    assert isinstance(error, UsageError)
    with pytest.raises(UsageError, match=why):
        raise error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", "[1]", '{"id": 1}', "[" * 100_000])
def test_file_that_holds_no_tasks_is_told(tmp_path: Path, text: str) -> None:
    """Anything but an array of objects is refused by the file's name."""
    path = tmp_path / "tasks.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=r"tasks\.json"):
        read_tasks(path)


def test_ids_are_unique(tmp_path: Path) -> None:
    """Two entries of one id are refused."""
    with pytest.raises(UsageError, match="entry 2: id 4 is also the id of entry 1"):
        read_tasks(written(tmp_path, entry(), entry()))


@pytest.mark.parametrize("name", ["evacuation_west_city", "Safe Lab Choice After Earthquake", "É!?", "x" * 90, "a__b  c"])
def test_folder_names_can_be_carried(name: str) -> None:
    """Whatever a task is called, its folder has a name that Harbor takes, the id first."""
    assert checked_name(folder_name(7, name)).startswith("hb-07")


def test_folders_are_whole(tasks: Sequence[Task]) -> None:
    """Every file that sync would write is there, and the pattern claims no grade."""
    assert [task.task_id for task in tasks] == ["hb-01-other", "hb-04-who-took-the-zither"]
    assert [drift(task.path, vouched) for task in tasks] == [[], []]
    assert [task.parley.pattern for task in tasks if task.parley] == ["imported", "imported"]


def test_rationale_is_sealed_beside_the_folders(tmp_path: Path, tasks: Sequence[Task]) -> None:
    """It stands in one file that its owner alone can read, in no task folder, and tasks without any are not in it."""
    sealed = tmp_path / "in" / "hidden-profile" / SEALED
    inside = [path for task in tasks for path in task.path.rglob("*") if path.is_file() and b"zither." in path.read_bytes()]

    assert inside == []
    assert {name: one["rationale"] for name, one in json.loads(sealed.read_text(encoding="utf-8")).items()} == {
        "hb-04-who-took-the-zither": SECRET
    }
    assert sealed.stat().st_mode & 0o777 == 0o600


@pytest.mark.property
@pytest.mark.parametrize("condition", ["hidden", "full", "shared_only"])
@pytest.mark.parametrize("kept", [{}, {"first_vote": "kept", "remind_pre_vote": True, "vote_view": "last_round"}])
def test_rationale_is_in_nothing_delivered(tasks: Sequence[Task], condition: str, kept: dict[str, OptionValue]) -> None:
    """Rules, turns and logs of whole sessions hold the task's texts, and never the rationale."""
    for task in tasks:
        texts = delivered(task, {**kept, "condition": condition, "rounds": 2})

        assert any("One of four took it." in text for text in texts)
        assert [text for text in texts if "zither." in text or "rationale is" in text] == []


def test_import_tells_guessers_and_presets(tmp_path: Path) -> None:
    """Beside each task stands what the text alone is worth; how to hold the sessions is told by presets that there are."""
    told, error = run(written(tmp_path, entry()), "--out", tmp_path / "out", "--json")
    document = json.loads(told)

    assert error is None
    assert document["presets"] == PRESETS
    assert all((ROOT / "harness" / "presets" / f"{preset}.toml").is_file() for preset in PRESETS.values())
    assert document["tasks"][0] | {"path": ""} == {
        "task_id": "hb-04-who-took-the-zither", "published_id": 4, "options": 4, "certified": False, "path": "",
        "always-last": 0.0, "longest": 0.0, **read_tasks(written(tmp_path, entry()))[0].guesses,
    }  # fmt: skip


def test_some_of_the_tasks(tmp_path: Path) -> None:
    """A published id or name chooses; another import beside it keeps what is sealed, and unknown names are told."""
    file, out = written(tmp_path, entry(), entry(id=5, name="five")), tmp_path / "out"

    assert run(file, "--out", out, "--id", "five")[1] is None
    assert run(file, "--out", out, "--id", "4")[1] is None
    assert sorted(json.loads((out / SEALED).read_text(encoding="utf-8"))) == ["hb-04-who-took-the-zither", "hb-05-five"]
    assert "none of the 2 tasks" in str(run(file, "--out", out, "--id", "6")[1])

"""Task folders of the family: metadata as the design has it, and what is written over what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.registry import read_task
from parley.families.hidden_profile.authoring.folders import pattern, task_toml, write_task
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.proof.sync import drift, vouched
from tests.worlds.hidden_profile.film import ATTIC, DOCUMENT, SCENARIO
from worlds.core.testing import world_in_process
from worlds.hidden_profile.options import OPTIONS, VARIANTS
from worlds.hidden_profile.rules.deck import Deck
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import Settings


def changed(**changes: Any) -> Scenario:
    """The scenario with other fields."""
    return Scenario.model_validate(DOCUMENT | changes)


def test_folder_is_whole_and_says_what_it_is(tmp_path: Path) -> None:
    """What sync would write is there, and the metadata are those of the family."""
    task = read_task(write_task(tmp_path, "one-roll", SCENARIO, "hard"))
    parley = task.parley

    assert drift(task.path, vouched) == []
    assert parley is not None
    assert (parley.family, parley.category, parley.pattern, parley.difficulty) == (
        "hidden-profile", "none", "photography", "hard",
    )  # fmt: skip
    assert (parley.seats, parley.seeds, parley.interfaces) == (3, "0-9", ("seats",))
    assert parley.costs == {"request": 1, "turn": 10, "vote": 10}


def test_control_characters_of_a_title_are_written_as_toml_has_them(tmp_path: Path) -> None:
    """A title may hold what TOML forbids in the raw, and comes back whole."""
    scenario = Scenario.model_validate(DOCUMENT | {"title": "A roll\x7f and a\ttab"})

    described = read_task(write_task(tmp_path, "one-roll", scenario, "easy")).file.task

    assert described is not None
    assert described.description.startswith("A roll\x7f and a\ttab: ")


def test_options_are_those_of_the_world(tmp_path: Path) -> None:
    """Every setting of a session is an option, with the default that the world has, and every variant can be chosen."""
    folder = write_task(tmp_path, "one-roll", SCENARIO, "easy") / "environment" / "api"
    defaults = {name: spec.default for name, spec in OPTIONS.items()}

    assert Settings.from_options(defaults) == Settings()
    for variant in VARIANTS:
        session = world_in_process(folder, overrides={"variant": variant, "rounds": 0, "condition": "shared_only"})
        assert session.world.options["variant"] == variant


def test_pattern_is_the_mechanism_of_what_is_certified() -> None:
    """A deck that fails a check goes by its domain, as anything with one deal does."""
    deck = Deck.model_validate_json(STARTER.read_bytes())

    assert pattern(deck) == "match"
    assert pattern(deck.model_copy(update={"rules": deck.rules[:1]})) == "photography"
    assert pattern(SCENARIO) == "photography"


def test_same_scenario_may_be_written_again(tmp_path: Path) -> None:
    """An unchanged scenario is written over, half a folder is finished, and another edition needs to be told so."""
    folder = write_task(tmp_path, "one-roll", SCENARIO, "easy")
    (folder / "instruction.md").unlink()
    write_task(tmp_path, "one-roll", SCENARIO, "easy")
    edited = changed(title="Another title")

    assert drift(folder, vouched) == []
    with pytest.raises(UsageError, match="earlier edition"):
        write_task(tmp_path, "one-roll", edited, "easy")
    assert "Another title" in (write_task(tmp_path, "one-roll", edited, "easy", replace=True) / "task.toml").read_text()


def test_another_scenario_is_never_written_over(tmp_path: Path) -> None:
    """Not even with replace; nor is a folder that holds something else."""
    write_task(tmp_path, "one-roll", SCENARIO, "easy")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary", encoding="utf-8")

    with pytest.raises(UsageError, match="another scenario, one_roll_of_film"):
        write_task(tmp_path, "one-roll", changed(id="other"), "easy", replace=True)
    with pytest.raises(UsageError, match="no scenario that can be read"):
        write_task(tmp_path, "mine", SCENARIO, "easy", replace=True)


def test_metadata_give_nothing_away() -> None:
    """The key is not in task.toml, and quotation marks in titles do no harm."""
    text = task_toml("one-roll", changed(title='The "one" roll \\'), "easy")

    assert ATTIC not in text
    assert 'description = "The \\"one\\" roll \\\\: 3 people choose one of 3 options"' in text

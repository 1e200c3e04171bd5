"""What verify asks of a hidden profile besides its episodes: the proof check by check, mutants by name, both witnesses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.registry import read_task
from oracles.hidden_profile.deck_mutants import make_deck_mutants
from oracles.hidden_profile.decks import CHECKS
from parley.families.hidden_profile.authoring.claims import claims
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.authoring.skeleton import STARTER
from parley.proof.findings import ProofCheck
from worlds.hidden_profile.rules.deck import Deck

DOCUMENT: dict[str, Any] = json.loads(STARTER.read_text(encoding="utf-8"))


def changed(identity: str, **changes: Any) -> Deck:
    """The starter with one card's texts changed."""
    cards = [
        card | ({"texts": [words | changes for words in card["texts"]]} if card["id"] == identity else {})
        for card in DOCUMENT["cards"]
    ]
    return Deck.model_validate(DOCUMENT | {"cards": cards})


def claimed(folder: Path, deck: Deck) -> dict[str, ProofCheck]:
    """The checks of a deck's task, by name."""
    return {check.name: check for check in claims(read_task(write_task(folder, "one-roll", deck, "easy")))}


@pytest.mark.property
def test_every_check_mutant_and_witness_is_named(tmp_path: Path) -> None:
    """A certified deck has a check for each part of its proof and each of its eleven mutants, and all hold."""
    deck = Deck.model_validate(DOCUMENT)
    found = claimed(tmp_path, deck)

    assert list(found) == [
        *(name for name, _, _ in CHECKS), *(f"mutant:{mutant.name}" for mutant in make_deck_mutants(deck)), "witnesses",
    ]  # fmt: skip
    assert [check.name for check in found.values() if not check.ok] == []
    for mutant in make_deck_mutants(deck):
        assert mutant.check in found[f"mutant:{mutant.name}"].detail


def test_failed_check_is_found_by_name_and_place(tmp_path: Path) -> None:
    """A deck with a card that says nothing fails the checks that say so, at its file, and is not asked about mutants."""
    found = claimed(tmp_path, changed("u4", asserts=[]))

    assert not found["C1"].ok
    assert "scenario.json:1: [C1]" in str(found["C1"].findings[0])
    assert not any(name.startswith("mutant") for name in found)


def test_cue_of_the_brief_is_found(tmp_path: Path) -> None:
    """A card that whoever repeats the brief would seem to tell is a finding, and the only one."""
    found = claimed(tmp_path, changed("n1", cues=[["toffee"], ["roll", "developer"]]))

    assert [name for name, check in found.items() if not check.ok] == ["C6"]
    assert "n1_t0 fires on the brief" in found["C6"].detail


def test_broken_file_is_one_finding(tmp_path: Path) -> None:
    """A deck that cannot be read is said once, with what is wrong."""
    task = read_task(write_task(tmp_path, "one-roll", Deck.model_validate(DOCUMENT), "easy"))
    (task.world_folder / "scenario.json").write_text("{}", encoding="utf-8")

    (only,) = claims(task)
    assert (only.name, only.ok) == ("scenario", False)

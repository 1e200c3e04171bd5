"""Starting point of a new hidden-profile task: a small certified deck for three people, to be edited."""

from __future__ import annotations

import json
from pathlib import Path

from parley.families.hidden_profile.authoring.folders import task_toml
from parley.proof.templates import Files
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES, Deck

STARTER = Path(__file__).with_name("starter.json")
"""Deck with three options, each decided by a match of two cards on different hands; its deals are made by `generate deals`."""


def skeleton(name: str) -> Files:
    """Return the author's files of a new task; its id is the name."""
    document = json.loads(STARTER.read_text(encoding="utf-8")) | {"id": name.replace("-", "_")}
    deck = Deck.model_validate(document)
    toml = task_toml(name, deck, "easy")
    files = {SCENARIO: deck.to_json(), CUES: deck.cues_json()}
    return {"task.toml": toml.encode()} | {f"environment/api/{file}": text.encode() for file, text in files.items()}

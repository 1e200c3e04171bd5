"""Writer of hidden-profile task folders: task.toml and the scenario here, everything else by `sync`.

A folder with another scenario is not changed, which is an error; with `replace` a scenario of the same id is overwritten.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import UsageError
from harness.taskfile import Difficulty
from oracles.hidden_profile.decks import prove_deck
from parley.proof.sync import TASK, checked_name, write_folder
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import CUES, Deck, read_task
from worlds.hidden_profile.rules.scenario import Scenario

UNCERTIFIED = 'certificate = "uncertified" # nothing proves that the key follows, or that no hand gives it away\n'
"""Line of task.toml for a scenario with one deal; a deck that fails its checks must be corrected instead."""


def write_task(root: Path, name: str, scenario: Scenario | Deck, difficulty: Difficulty, *, replace: bool = False) -> Path:
    """Write and sync the folder `root`/`name`. Raises UsageError for a bad or taken name, or a full disk."""
    folder = root / checked_name(name)
    if taken := _taken(folder, scenario, replace=replace):
        raise UsageError(f"{folder} {taken}", hint="the same command with another --out, or with --replace")
    stated = {f"environment/api/{SCENARIO}": scenario.to_json(), "task.toml": task_toml(name, scenario, difficulty)}
    if isinstance(scenario, Deck):
        stated[f"environment/api/{CUES}"] = scenario.cues_json()
    return write_folder(folder, stated, hint="the same command with another --out")


def task_toml(name: str, scenario: Scenario | Deck, difficulty: Difficulty) -> str:
    """Return the text of task.toml."""
    options, people = len(scenario.options), scenario.agents
    what = f"{scenario.title}: {people} people choose one of {options} options"
    return TASK.format(
        name=name, family="hidden-profile", description=_text(what), pattern=_text(pattern(scenario)), difficulty=difficulty,
        keywords='"hidden-profile", "multi-agent", "group-decision"', seats=people, options="",
        seeds='"0-9" # a seed deals the hands, and the orders in which points and options are shown',
        certificate="" if isinstance(scenario, Deck) else UNCERTIFIED,
    )  # fmt: skip


def pattern(read: Scenario | Deck) -> str:
    """Return a certified deck's mechanism, or the domain of anything else."""
    return read.mechanism if isinstance(read, Deck) and prove_deck(read).is_certified else read.domain


def _text(words: str) -> str:
    """Return a TOML string: JSON's syntax, except for one control character that JSON allows."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _taken(folder: Path, scenario: Scenario | Deck, *, replace: bool) -> str:
    """Return why a folder cannot be written, or ""."""
    if not any(path.is_file() for path in folder.rglob("*")):
        return ""
    try:
        there = read_task(folder / "environment" / "api" / SCENARIO)
    except (OSError, ValueError):
        return "exists already and holds no scenario that can be read"
    if there == scenario or (replace and there.id == scenario.id):
        return ""
    return "holds an earlier edition of this scenario" if there.id == scenario.id else f"holds another scenario, {there.id}"

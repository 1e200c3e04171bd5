"""Writes calendar task folders: task.toml and the scenario here, everything else by `sync`.

A folder that holds another scenario is left alone, which is an error; with `replace` one of the same suite is written anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.authoring.new import checked_name
from harness.authoring.scenario_folders import RUNNING, Options, options_toml, write_folder
from harness.errors import UsageError
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.loading import SCENARIO

CHANNELS = ("dm", "participants", "all", "dm+participants", "dm+all", "participants+all", "dm+participants+all")


OPTIONS: Options = {
    "profile": {"default": "text", "values": ("text", "paper"), "doc": "rules of the paper's text, or of its released code"},
    "channels": {"default": "dm", "values": CHANNELS, "doc": "ways to talk: direct messages, the meeting's group, all agents"},
    "turn_cap": {
        "type": "int", "default": 0, "min": 0, "max": 100, "doc": "sweeps of talk in a round; 0: the profile's, 15 or 4",
    },
    "message_cap": {
        "type": "int", "default": 0, "min": 0, "doc": "messages that a seat may send in the whole game; 0: any number",
    },
    "decision_retries": {
        "type": "int", "default": 3, "min": 0, "max": 20, "doc": "how often a refused decision may be sent again",
    },
    "failed_rounds": {"default": "profile", "values": ("profile", "undo", "keep"), "doc": "what failed rounds leave behind"},
    "outsiders": {
        "default": "profile", "values": ("profile", "on_mail", "stay"), "doc": "when an agent outside the meeting speaks",
    },
    "blocked_attempts": {
        "default": "profile", "values": ("profile", "retry", "doom"), "doc": "whether touching a blocked item fails the round",
    },
    "exhausted": {
        "default": "profile", "values": ("profile", "others_commit", "rollback"), "doc": "what a seat without a decision stops",
    },
    "voluntary": {"default": "profile", "values": ("profile", "staged", "immediate"), "doc": "when voluntary moves take hold"},
    "justification": {"default": "profile", "values": ("profile", "required", "free"), "doc": "whether moves must say why"},
    "strict_replies": {"type": "bool", "default": False, "doc": "whether broken JSON is no reply, not mended"},
    "sd_model": {"default": "", "doc": "SD-MAP's weight of each seat, joined by colons, e.g. 1:1:2:1:1; empty: 1 each"},
}  # fmt: skip
"""The options of every calendar task (rulings, row X1)."""

TEMPLATE = """\
schema_version = "1.4"
artifacts = [{{ source = "/state/events.jsonl", service = "api" }}]

[task]
name = "parley/{name}"
version = "1.0.0"
description = {description}
keywords = ["calendar", "multi-agent", "scheduling", "{costs}-costs"]

[metadata.parley]
family = "calendar"
category = "none"
pattern = "{pattern}"
difficulty = "{difficulty}"
seats = {seats}
seeds = "0" # the folder fixes the game; a seed changes the virtual date and no more
interfaces = ["seats"]

[metadata.parley.budgets]
steps = 200
virtual_seconds = 1000000

[metadata.parley.costs]
request = 1
sweep = 60
decision = 60

[metadata.parley.options]
{options}
"""


def write_task(root: Path, name: str, scenario: Scenario, difficulty: str, *, replace: bool = False) -> Path:
    """Write the folder `root`/`name`, synced; raises UsageError for a bad or taken name, or a full disk."""
    folder = root / checked_name(name)
    if taken := _taken(folder, scenario, replace=replace):
        raise UsageError(f"{folder} {taken}", hint="the same command with another --name or --out, or with --replace")
    stated = {"task.toml": task_toml(name, scenario, difficulty), f"environment/api/{SCENARIO}": scenario.to_json()}
    return write_folder(folder, stated, hint="the same command with another --out")


def task_toml(name: str, scenario: Scenario, difficulty: str) -> str:
    """The text of task.toml."""
    costs = "varied" if len({errand.cost for mine in scenario.errands for errand in mine}) > 1 else "uniform"
    seats, count = len(scenario.errands), len(scenario.meetings)
    what = f"Schedule {count} meetings among {seats} private calendars of {scenario.slots} slots, {costs} costs"
    return TEMPLATE.format(
        name=name, description=json.dumps(what), costs=costs, pattern=f"{costs.capitalize()} costs", difficulty=difficulty,
        seats=seats, options=options_toml(OPTIONS),
    ) + RUNNING  # fmt: skip


def _taken(folder: Path, scenario: Scenario, *, replace: bool) -> str:
    """What stands in the way of writing a folder, if anything."""
    if not folder.exists():
        return ""
    try:
        origin = read_scenario(folder / "environment" / "api" / SCENARIO).origin
    except (OSError, ValueError):
        return "exists already and holds no generated task"
    if origin == scenario.origin:
        return ""
    mine = ("suite", "key", "source", "task_id")
    same = {key: origin.get(key) for key in mine} == {key: scenario.origin.get(key) for key in mine}
    return (
        "" if same and replace else f"holds another task of {origin.get('suite') or origin.get('source') or 'unknown origin'}"
    )

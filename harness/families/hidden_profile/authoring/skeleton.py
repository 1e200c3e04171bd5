"""What a new hidden-profile task starts from: a small certified scenario of three people, to be changed by hand."""

from __future__ import annotations

import json
from pathlib import Path

from harness.authoring.templates import Files
from harness.families.hidden_profile.authoring.folders import task_toml
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.scenario import Scenario

STARTER = Path(__file__).with_name("starter.json")
"""Ten facts, five atoms, three rules: what every scenario has, a negated literal, and a fact that two people hold."""


def skeleton(name: str) -> Files:
    """The author's files of a new task; its id is the name."""
    document = json.loads(STARTER.read_text(encoding="utf-8")) | {"id": name.replace("-", "_")}
    scenario = Scenario.model_validate(document)
    toml = task_toml(name, scenario, "easy")
    return {"task.toml": toml.encode(), f"environment/api/{SCENARIO}": scenario.to_json().encode()}

"""Starting point of a new calendar task: a small scenario drawn for its name, to be edited."""

from __future__ import annotations

from parley.families.calendar.authoring.folders import task_toml
from parley.families.calendar.authoring.generator import Edition, Parameters, generate
from parley.proof.templates import Files
from worlds.core.loading import SCENARIO

SHAPE = Parameters(num_agents=3, num_slots=8, num_meetings=3, participants=2, density=0.5, blocked=2, pref_level=3)
"""Small enough to be read completely: three calendars of eight slots, three meetings of two."""


def skeleton(name: str) -> Files:
    """Return the author's files of a new task."""
    scenario = generate(SHAPE, Edition(name))
    toml = task_toml(name, scenario, "easy")
    return {"task.toml": toml.encode(), f"environment/api/{SCENARIO}": scenario.to_json().encode()}

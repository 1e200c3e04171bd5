"""Writer of calendar task folders: task.toml and the scenario here, everything else by `sync`.

A folder with another scenario is not changed, which is an error; with `replace` a task of the same suite is overwritten.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.errors import UsageError
from parley.proof.sync import TASK, checked_name, write_folder
from worlds.calendar.options import OPTIONS
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.loading import SCENARIO

WITH_PRIOR = """
[metadata.parley.options.channels]
default = "{default}"
values = {values}
floor = {floor}
doc = "ways to talk; the plan moves prior meetings, and asks outsiders by direct messages to move them too"
"""
"""The plan sends direct messages to outsiders, so `verify` does not require it to succeed on channels without these; games may
still be played on them."""


UNCERTIFIED = 'certificate = "uncertified" # there is no schedule of all meetings, so nothing can be optimal\n'
"""Line of task.toml for a scenario without a solution."""


def write_task(
    root: Path, name: str, scenario: Scenario, difficulty: str, *, feasible: bool = True, replace: bool = False
) -> Path:
    """Write and sync the folder `root`/`name`. Raises UsageError for a bad or taken name, or a full disk.

    `feasible` is True if there is a schedule of all meetings; a task without one is marked.
    """
    folder = root / checked_name(name)
    if taken := _taken(folder, scenario, replace=replace):
        raise UsageError(f"{folder} {taken}", hint="the same command with another --name or --out, or with --replace")
    described = task_toml(name, scenario, difficulty, feasible=feasible)
    stated = {"task.toml": described, f"environment/api/{SCENARIO}": scenario.to_json()}
    return write_folder(folder, stated, hint="the same command with another --out")


def task_toml(name: str, scenario: Scenario, difficulty: str, *, feasible: bool = True) -> str:
    """Return the text of task.toml."""
    setting, comma, shape = scenario.setting.partition(",")
    pattern = f"{setting.capitalize()} costs{comma}{shape}" + ("" if feasible else ", infeasible")
    costs = setting.partition("-")[0]
    seats, count = len(scenario.errands), len(scenario.meetings)
    what = f"Schedule {count} meetings among {seats} private calendars of {scenario.slots} slots, {costs} costs"
    keywords, options = ["calendar", "multi-agent", "scheduling", f"{costs}-costs"], ""
    if scenario.prior:
        what += f", {len(scenario.prior)} prior meetings"
        keywords, options = [*keywords, "prior-meetings"], _channels()
    return TASK.format(
        name=name, family="calendar", description=json.dumps(what), keywords=", ".join(f'"{word}"' for word in keywords),
        pattern=json.dumps(pattern), difficulty=difficulty, seats=seats, certificate="" if feasible else UNCERTIFIED,
        seeds='"0" # the folder fixes the game; a seed changes the virtual date and no more', options=options,
    )  # fmt: skip


def _channels() -> str:
    """Return the option `channels`, which marks values that the plan of a task with prior meetings does not support."""
    option = OPTIONS["channels"]
    values = [str(value) for value in option.values]
    floor = [value for value in values if "dm" not in value.split("+")]
    return WITH_PRIOR.format(default=option.default, values=json.dumps(values), floor=json.dumps(floor))


def _taken(folder: Path, scenario: Scenario, *, replace: bool) -> str:
    """Return why a folder cannot be written, or ""."""
    if not folder.exists():
        return ""
    try:
        origin = read_scenario(folder / "environment" / "api" / SCENARIO).origin
    except (OSError, ValueError):
        return "exists already and holds no generated task"
    if origin == scenario.origin:
        return ""
    mine = ("suite", "key", "source", "task_id")
    if replace and all(origin.get(key) == scenario.origin.get(key) for key in mine):
        return ""
    return f"holds another task of {origin.get('suite') or origin.get('source') or 'unknown origin'}"

"""`harness show TASK --matrix`: who holds which fact, and what each does to which option (paper, Table 1).

A weight is an impression, `*` says that a fact has a part in excluding the option; then come the options that are out, and what
the ideal listener believes of the key, once this fact and all above it are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.errors import UsageError
from harness.registry import Task
from harness.report.table import Column, Row, Table
from worlds.hidden_profile.rules.scenario import Fact, Scenario, read_scenario


def matrix(task: Task) -> list[Table]:
    """The table of a task; raises UsageError where it has no scenario or no certificate."""
    try:
        scenario = read_scenario(task.world_folder / "scenario.json")
        certificate = json.loads((task.path / "tests" / "oracle.json").read_text(encoding="utf-8"))
        proved = {row["fact"]: row for row in certificate["table"]}
        grade, certified = certificate["grade"], certificate["certified"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        # a certificate is written by `harness sync`, and by anybody else
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{task.task_id} has no matrix: {why}", hint=f"harness sync {task.task_id}") from None
    columns = (
        Column("fact", "Fact"),
        *(Column(f"seat{seat}", str(seat)) for seat in scenario.seats),
        *(Column(choice.id, f"{choice.label}{_role(scenario, choice.id)}") for choice in scenario.options),
        Column("out", "Out by now"),
        Column("belief", "Key", "rate"),
        Column("text", "Text"),
    )
    rows = tuple(_row(scenario, fact, proved.get(fact.id, {})) for fact in scenario.facts)
    notes = (f"grade {grade}, certified: {certified}; columns 1 to {scenario.agents} are seats",)
    return [Table("matrix", f"{scenario.title} ({scenario.domain})", columns, rows, notes)]


def _role(scenario: Scenario, option: str) -> str:
    return {scenario.key: " (key)", scenario.decoy: " (decoy)"}.get(option, "")


def _row(scenario: Scenario, fact: Fact, proved: Mapping[str, Any]) -> Row:
    holders = scenario.seats if fact.scope == "shared" else fact.holders
    belief = proved.get("belief") or {}
    helps = proved.get("helps_exclude") or ()
    marks = {option: f"{fact.weights.get(option, 0):+d}" if option in fact.weights else "" for option in scenario.option_ids}
    return {
        "fact": fact.id,
        **{f"seat{seat}": "x" for seat in holders},
        **{option: (mark + ("*" if option in helps else "")) or None for option, mark in marks.items()},
        "out": ", ".join(proved.get("excluded") or ()) or None,
        "belief": belief.get(scenario.key),
        "text": fact.text,
    }

"""What follows from a scenario alone: the certificate that verdicts read, and the plan that the oracle plays.

tests/oracle.json    the certificate, one line a key, and in `by_subset` one line a subset of the meetings
solution/plan.json   {"rounds": [{"decision": {seat: actions}, "voluntary": {seat: actions}}, ...]}, one line a seat
`harness sync` writes both, and `drift` compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles.calendar.certificate import certify
from oracles.calendar.plan import plan
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.loading import SCENARIO

CERTIFICATE, PLAN = "tests/oracle.json", "solution/plan.json"
_OPENED = {"by_subset", "rounds", "decision", "voluntary"}
"""Keys whose entries stand on lines of their own."""


def derived(folder: Path) -> Mapping[str, bytes]:
    """The derived files of a task folder by relative path; raises ValueError for a broken scenario, OSError for none."""
    return files(read_scenario(folder / "environment" / "api" / SCENARIO))


def files(scenario: Scenario, certificate: dict[str, Any] | None = None) -> Mapping[str, bytes]:
    """The same for a scenario; a certificate that is known is not made again."""
    known = certificate or certify(scenario)
    return {CERTIFICATE: _text(known), PLAN: _text({"rounds": rounds(scenario, known)})}


def rounds(scenario: Scenario, certificate: dict[str, Any]) -> list[Any]:
    """The certificate's best schedule as actions, round by round; none where there is no schedule."""
    if certificate["optimum"] is None:
        return []
    slots = {**certificate["assignment"], **certificate["prior_moves"]}
    return list(plan(scenario, {int(number): slot for number, slot in slots.items()}))


def _text(document: Mapping[str, Any]) -> bytes:
    return (_lines(document, 0) + "\n").encode()


def _lines(value: Any, depth: int) -> str:
    """JSON with a line for each entry of the outermost object and of those in `_OPENED`, whatever is in it."""
    if not value:
        return json.dumps(value)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(inner + _lines(one, depth + 1) for one in value) + outer + "]"
    entries = (
        f"{json.dumps(str(key))}: {_lines(one, depth + 1) if key in _OPENED else json.dumps(one, ensure_ascii=False)}"
        for key, one in value.items()
    )
    return "{" + ",".join(inner + entry for entry in entries) + outer + "}"

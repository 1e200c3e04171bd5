"""Files derived from a scenario: the certificate that verdicts read, and the plan that the oracle plays.

tests/oracle.json    the certificate, one line per key, and in `by_subset` one line per subset of the meetings
solution/plan.json   {"rounds": [...]}, one line per round: the slot of its meeting, the seats that schedule it there, and the
                     moves of each seat, as [item, from, to, why]; seats outside the meeting move before it, the others with it

`harness sync` writes both, and `drift` compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles.calendar.certificate import Round, certify, plan
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.loading import SCENARIO

CERTIFICATE, PLAN = "tests/oracle.json", "solution/plan.json"
_OPENED = {"by_subset", "rounds"}
"""Keys whose entries are on separate lines."""


def derived(folder: Path) -> Mapping[str, bytes]:
    """Return the derived files of a task folder by relative path. Raises ValueError for a broken scenario, OSError for none."""
    return files(read_scenario(folder / "environment" / "api" / SCENARIO))


def files(scenario: Scenario, certificate: Certificate | None = None) -> Mapping[str, bytes]:
    """Return the derived files of a scenario; a given certificate is not recomputed."""
    known = certificate or certify(scenario)
    return {CERTIFICATE: _text(known.document()), PLAN: _text({"rounds": rounds(scenario, known)})}


def rounds(scenario: Scenario, certificate: Certificate) -> list[Any]:
    """Return the certificate's best schedule, round by round; empty if there is no schedule."""
    if certificate.assignment is None:
        return []
    placed = certificate.assignment | (certificate.prior_moves or {})
    slots = {int(number): slot for number, slot in placed.items()}
    batches = plan(scenario, slots)
    return [
        {"meeting": meeting.id, "slot": slots[meeting.id], "seats": sorted(batch["decision"]), "moves": _moves(batch)}
        for meeting, batch in zip(scenario.meetings, batches, strict=True)
    ]


def _moves(batch: Round) -> dict[str, list[list[Any]]]:
    """Return the moves of each seat: its reschedules as [item, from, to, why]."""
    acts = {
        seat: [one for one in actions if one["type"] == "reschedule"]
        for phase in batch.values()
        for seat, actions in phase.items()
    }
    keys = ("item_id", "from_slot", "to_slot", "justification")
    return {str(seat): [[one[key] for key in keys] for one in moves] for seat, moves in sorted(acts.items()) if moves}


def _text(document: Mapping[str, Any]) -> bytes:
    return (_lines(document, 0) + "\n").encode()


def _lines(value: Any, depth: int) -> str:
    """Return JSON with a line for each entry of the outermost object and of those in `_OPENED`."""
    if not value:
        return json.dumps(value)
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(inner + json.dumps(one, ensure_ascii=False) for one in value) + outer + "]"
    entries = (
        f"{json.dumps(str(key))}: {_lines(one, depth + 1) if key in _OPENED else json.dumps(one, ensure_ascii=False)}"
        for key, one in value.items()
    )
    return "{" + ",".join(inner + entry for entry in entries) + outer + "}"

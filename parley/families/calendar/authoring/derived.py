"""Files derived from a scenario: the certificate that verdicts read, and the plan that the oracle plays.

tests/oracle.json    the certificate, one line per key, and in `by_subset` one line per subset of the meetings
solution/plan.json   {"rounds": [...]}, one line per round: the slot of its meeting, the seats that schedule it there, and the
                     moves of each seat, as [item, from, to, why]; seats outside the meeting move before it, the others with it
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oracles.calendar.certificate import Round, certify, plan_batches
from parley.proof.sync import spread_json
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
    return {
        CERTIFICATE: spread_json(known.document(), _OPENED),
        PLAN: spread_json({"rounds": rounds(scenario, known)}, _OPENED),
    }


def rounds(scenario: Scenario, certificate: Certificate) -> list[Any]:
    """Return the certificate's best schedule, round by round; empty if there is no schedule."""
    if certificate.assignment is None:
        return []
    placed = certificate.assignment | (certificate.prior_moves or {})
    slots = {int(number): slot for number, slot in placed.items()}
    batches = plan_batches(scenario, slots)
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

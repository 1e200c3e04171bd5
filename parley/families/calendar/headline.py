"""The figure that calendars are ranked by: coordination, the share of meetings scheduled (paper, Tables 1 and 2)."""

from __future__ import annotations

from harness.headline import Headline
from harness.records import Result


def coordination(result: Result) -> float:
    """Return the share of a seat's meetings that were scheduled, as a mean over seats; 0 for a game that broke off."""
    return float((result.metrics.get("means") or {}).get("coordination") or 0.0)


MEANING = (
    "Coord. %: the share of its meetings that a seat gets scheduled, as a mean over seats, games and tasks. Success: a game in "
    "which all meetings were scheduled. Mean reward: the share of meetings scheduled, less what they cost above the optimum"
)
HEADLINE = Headline(
    "coordination", "Coord. %", coordination, published="parley.families.calendar.seat_rows:published_headline",
    meaning=MEANING,
)  # fmt: skip

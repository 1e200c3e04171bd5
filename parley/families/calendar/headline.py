"""The figure that calendars are ranked by: coordination, the share of meetings scheduled (paper, Tables 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from harness.headline import Headline, PublishedFigure
from harness.records import Result
from parley.families.calendar.seat_rows import numbers, source


def coordination(result: Result) -> float:
    """Return the share of a seat's meetings that were scheduled, as a mean over seats; 0 for a game that broke off."""
    return float((result.metrics.get("means") or {}).get("coordination") or 0.0)


def _published() -> Iterator[PublishedFigure]:
    """Yield Table 1: the mean over the two cost settings, of seats in mixed teams."""
    for model in dict.fromkeys(row["model"] for row in numbers()["models"]):
        rows = [row["coordination"] / 100 for row in numbers()["models"] if row["model"] == model]
        yield PublishedFigure(model, fmean(rows))


MEANING = (
    "Coord. %: the share of its meetings that a seat gets scheduled, as a mean over seats, games and tasks. Success: a game in "
    "which all meetings were scheduled. Mean reward: the share of meetings scheduled, less what they cost above the optimum"
)
HEADLINE = Headline(
    "coordination", "Coord. %", coordination, published=_published, source=source("Table 1 (seats in mixed teams)"),
    meaning=MEANING,
)  # fmt: skip

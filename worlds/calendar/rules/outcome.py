"""What a participant is told of a round that is over, where outcomes are told: one plain line.

It says whether the meeting was scheduled, and where: what all its participants may know. Why it was not would tell of other
calendars.
"""

from __future__ import annotations

import re

from worlds.calendar.rules.resolution import Resolution, common_slot
from worlds.calendar.rules.scenario import Meeting

_OUTCOME = re.compile(r"^Round \d+, meeting M\d+: ", re.MULTILINE)
"""Where such a line begins."""


def outcome_line(number: int, meeting: Meeting, resolution: Resolution, *, success: bool) -> str:
    """The line on one round; `success` is whether its meeting counts as scheduled."""
    told = f"scheduled at slot {common_slot(resolution.slots)}" if success else "not scheduled"
    return f"Round {number}, meeting M{meeting.id}: {told}."


def outcomes_in(text: str) -> int:
    """How many such lines a text holds; nearly all hold none, which is found out without the pattern."""
    return len(_OUTCOME.findall(text)) if ", meeting M" in text else 0

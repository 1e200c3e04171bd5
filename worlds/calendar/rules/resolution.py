"""Outcome of a round: the slots of its meeting, and which earlier meetings are still scheduled.

A round succeeds if all participants have its meeting in one slot, and every earlier meeting is in one slot on all its
calendars, which may be a new one.

If outcomes are told, a participant receives one line on a finished round: whether the meeting was scheduled, and where, which
all its participants may know. The reason of a failure would reveal other calendars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from worlds.calendar.rules.items import Cells, slot_of
from worlds.calendar.rules.scenario import Meeting

Slots = dict[int, int | None]
"""Agent -> the slot where a meeting begins on its calendar; None if it is not there."""


class Resolution(NamedTuple):
    """State of the calendars after a round."""

    slots: Slots
    """Slots of the round's own meeting."""

    standing: dict[int, int]
    """Every scheduled meeting, with its slot."""

    broken: tuple[int, ...]
    """Earlier meetings that are no longer scheduled."""

    @property
    def is_agreed(self) -> bool:
        """True if the round's meeting is in one slot on all its calendars."""
        return None not in self.slots.values() and len(set(self.slots.values())) == 1

    @property
    def is_coordinated(self) -> bool:
        """True if the round succeeded."""
        return self.is_agreed and not self.broken


def resolve(calendars: Sequence[Cells], meeting: Meeting, earlier: Sequence[Meeting]) -> Resolution:
    """Compare the calendars after a round; `earlier` are the meetings that were scheduled before it."""
    slots = slots_of(calendars, meeting)
    standing: dict[int, int] = {}
    broken: list[int] = []
    for other in earlier:
        slot = common_slot(slots_of(calendars, other))
        if slot is None:
            broken.append(other.id)
        else:
            standing[other.id] = slot
    if (slot := common_slot(slots)) is not None:
        standing[meeting.id] = slot
    return Resolution(slots, standing, tuple(broken))


def slots_of(calendars: Sequence[Cells], meeting: Meeting) -> Slots:
    """Return the slot of a meeting on the calendar of each participant."""
    return {agent: slot_of(calendars[agent], meeting.id) for agent in meeting.participants}


def common_slot(slots: Mapping[int, int | None]) -> int | None:
    """Return the slot that all have, or None."""
    distinct = set(slots.values())
    return distinct.pop() if len(distinct) == 1 else None


_OUTCOME = re.compile(r"^Round \d+, meeting M\d+: ", re.MULTILINE)
"""Beginning of such a line."""


def outcome_line(number: int, meeting: Meeting, resolution: Resolution, *, success: bool) -> str:
    """Return the line on one round; `success` is True if its meeting counts as scheduled."""
    told = f"scheduled at slot {common_slot(resolution.slots)}" if success else "not scheduled"
    return f"Round {number}, meeting M{meeting.id}: {told}."


def count_outcomes(text: str) -> int:
    """Count such lines in a text; a substring test skips the pattern for most texts."""
    return len(_OUTCOME.findall(text)) if ", meeting M" in text else 0

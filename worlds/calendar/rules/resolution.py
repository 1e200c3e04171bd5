"""What a round came to: where each participant has the meeting, and which earlier meetings still stand.

A round succeeds when all participants have its meeting in one slot and every earlier meeting that stood is in one slot on all
its calendars, wherever that is by now.

What a participant is told of a round that is over, where outcomes are told: one plain line. It says whether the meeting was
scheduled, and where: what all its participants may know. Why it was not would tell of other calendars.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from worlds.calendar.rules.items import Cells, slot_of
from worlds.calendar.rules.scenario import Meeting

Slots = dict[int, int | None]
"""Agent -> the slot where a meeting begins on its calendar; None where it is not there."""


class Resolution(NamedTuple):
    """The state of the calendars after a round."""

    slots: Slots
    """The round's own meeting."""

    standing: dict[int, int]
    """Every meeting that stands, with its slot."""

    broken: tuple[int, ...]
    """Earlier meetings that do not stand any more."""

    @property
    def agreed(self) -> bool:
        """Whether the round's meeting is in one slot on all its calendars."""
        return None not in self.slots.values() and len(set(self.slots.values())) == 1

    @property
    def coordinated(self) -> bool:
        """Whether the round succeeded."""
        return self.agreed and not self.broken


def resolve(calendars: Sequence[Cells], meeting: Meeting, earlier: Sequence[Meeting]) -> Resolution:
    """Look at the calendars after a round; `earlier` are the meetings that stood before it."""
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
    """Return where each participant has a meeting."""
    return {agent: slot_of(calendars[agent], meeting.id) for agent in meeting.participants}


def common_slot(slots: Mapping[int, int | None]) -> int | None:
    """The slot that all have, or None."""
    distinct = set(slots.values())
    return distinct.pop() if len(distinct) == 1 else None


_OUTCOME = re.compile(r"^Round \d+, meeting M\d+: ", re.MULTILINE)
"""Where such a line begins."""


def outcome_line(number: int, meeting: Meeting, resolution: Resolution, *, success: bool) -> str:
    """The line on one round; `success` is whether its meeting counts as scheduled."""
    told = f"scheduled at slot {common_slot(resolution.slots)}" if success else "not scheduled"
    return f"Round {number}, meeting M{meeting.id}: {told}."


def outcomes_in(text: str) -> int:
    """Return how many such lines a text holds; nearly all hold none, which is found out without the pattern."""
    return len(_OUTCOME.findall(text)) if ", meeting M" in text else 0

"""Calendars and tasks drawn as text, one word a slot: `.` free, `7` an errand that costs 7, `B` a blocked one."""

from __future__ import annotations

from collections.abc import Sequence

from worlds.calendar.rules.items import Cells
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario


def task(rows: Sequence[str], meetings: Sequence[Meeting], prior: Sequence[PriorMeeting] = ()) -> Scenario:
    """A scenario; a prior meeting's slots are drawn as free."""
    drawn = [
        tuple(
            Errand(slot=slot, id=100 * agent + slot + 1, cost=1 if word == "B" else int(word), blocked=word == "B")
            for slot, word in enumerate(row.split())
            if word != "."
        )
        for agent, row in enumerate(rows)
    ]
    return Scenario(slots=len(rows[0].split()), errands=tuple(drawn), meetings=tuple(meetings), prior=tuple(prior))


def cells(row: str, *prior: PriorMeeting) -> Cells:
    """Seat 0's calendar; of the prior meetings' other participants nothing is known."""
    everybody = max((seat for meeting in prior for seat in meeting.participants), default=0)
    free = " ".join("." for _ in row.split())
    return task([row, *[free] * everybody], [Meeting(id=99, participants=(0,))], prior).calendars[0]


def standing(number: int, slot: int, *participants: int, duration: int = 1, cost: int = 1) -> PriorMeeting:
    """A meeting that stands before the first round."""
    return PriorMeeting(id=number, slot=slot, participants=participants, duration=duration, cost=cost)

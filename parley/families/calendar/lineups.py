"""Properties of calendar seats for balanced line-ups: the speaking order, and the fill of the calendar.

The number of errands represents the density level: 9, 12 and 13 of 16 slots in the suite. Meetings scheduled before the first
round fill a calendar too. Reports have a row per cost setting, so all properties, including the seat number, are balanced
within each setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from harness.errors import UsageError
from harness.registry import Task
from worlds.calendar.rules.scenario import Scenario, read_scenario
from worlds.core.loading import SCENARIO

RANKS = ("first", "second", "third")


def facts(task: Task, options: Mapping[str, str]) -> Sequence[Mapping[str, int]]:  # noqa: ARG001 - no option changes them
    """Return for each seat how often it speaks first, second, and so on, and the fill level of its calendar.

    Raises UsageError for a task whose scenario cannot be read.
    """
    try:
        scenario = read_scenario(task.world_folder / SCENARIO)
    except (OSError, ValueError) as error:
        raise UsageError(f"{task.task_id} has no line-up: {error}") from None
    costs = (task.parley.pattern if task.parley else None) or "Any costs"
    return [{f"{costs}, {fact}": times for fact, times in _of_seat(scenario, seat)} for seat in scenario.agents]


def _of_seat(scenario: Scenario, seat: int) -> Iterator[tuple[str, int]]:
    places = Counter(meeting.order.index(seat) for meeting in scenario.meetings if seat in meeting.participants)
    filled = sum(cell is not None for cell in scenario.calendars[seat])
    yield from ((f"speaks {RANKS[place] if place < len(RANKS) else place + 1}", times) for place, times in places.items())
    yield f"{filled} of {scenario.slots} slots full", 1
    yield f"seat {seat}", 1

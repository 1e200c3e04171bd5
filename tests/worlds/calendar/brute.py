"""The third witness: every schedule there is, tried out on the calendars with sets; for small cases only.

Written against the specification and the calendars themselves, not against the tables of `problem`, so that one mistake is not
made twice: cells are taken by spans, an agent pays for what it must move out of the way, and what it moves must find room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from worlds.calendar.rules.items import Item
from worlds.calendar.rules.scenario import Meeting, PriorMeeting, Scenario

Places = list[tuple[Meeting, int]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """One complete schedule and what each agent pays for it."""

    slots: tuple[int, ...]
    """Of the meetings in order, then of the prior ones."""

    per_agent: tuple[int, ...]

    @property
    def cost(self) -> int:
        """What all pay together."""
        return sum(self.per_agent)


def schedules(scenario: Scenario, *, shown: bool = False) -> Iterator[Schedule]:
    """Every schedule that can be realised, in the lexicographic order of its slots; costs as scored, or as `shown`."""
    items: tuple[Meeting, ...] = (*scenario.meetings, *scenario.prior)
    for slots in _placings(scenario, items, ()):
        places = list(zip(items, slots, strict=True))
        if all(_room(scenario, agent, places) for agent in scenario.agents):
            yield Schedule(slots, tuple(_paid(scenario, agent, places, shown) for agent in scenario.agents))


def injective(scenario: Scenario) -> int:
    """F: how many vectors of meeting slots with disjoint spans leave a way to place the prior meetings."""
    vectors: set[tuple[int, ...]] = set()
    for schedule in schedules(scenario):
        cells = [
            cell for meeting, slot in zip(scenario.meetings, schedule.slots, strict=False) for cell in _span(meeting, slot)
        ]
        if len(set(cells)) == len(cells):
            vectors.add(schedule.slots[: len(scenario.meetings)])
    return len(vectors)


def _span(item: Meeting, slot: int) -> range:
    return range(slot, slot + item.duration)


def _under(scenario: Scenario, agent: int, item: Meeting, slot: int) -> list[Item]:
    """The errands of an agent in the cells that an item would take."""
    cells = (scenario.calendars[agent][cell] for cell in _span(item, slot))
    return [cell for cell in cells if cell is not None and cell.kind == "errand"]


def _placings(scenario: Scenario, items: tuple[Meeting, ...], placed: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All ways to go on from these slots in which nothing is double booked and nothing blocked is covered."""
    if len(placed) == len(items):
        yield placed
        return
    item = items[len(placed)]
    for slot in range(scenario.slots - item.duration + 1):
        clash = any(
            set(_span(item, slot)) & set(_span(other, at)) and set(item.participants) & set(other.participants)
            for other, at in zip(items, placed, strict=False)
        )
        if not clash and not any(
            errand.blocked for agent in item.participants for errand in _under(scenario, agent, item, slot)
        ):
            yield from _placings(scenario, items, (*placed, slot))


def _room(scenario: Scenario, agent: int, places: Places) -> bool:
    """Whether the errands that an agent must move find cells that are free in the end."""
    taken = {cell for item, slot in places if agent in item.participants for cell in _span(item, slot)}
    errands = {errand.slot for errand in scenario.errands[agent]}
    return scenario.slots - len(taken | errands) >= len(taken & errands)


def _paid(scenario: Scenario, agent: int, places: Places, shown: bool) -> int:
    moved: list[Item] = []
    for item, slot in places:
        if agent in item.participants:
            moved += _under(scenario, agent, item, slot)
            if isinstance(item, PriorMeeting) and item.slot != slot:
                moved.append(item.item())
    return sum(item.cost if shown else scenario.scored_cost(item.cost) for item in moved)

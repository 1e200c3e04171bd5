"""Small calendar tasks of every kind, by number: prior meetings, long meetings, blocked cells, disjoint groups, no way out."""

from __future__ import annotations

import random

from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

SCALE = {1: 1, 10: 2, 100: 3}
AGAINST = {1: 3, 10: 2, 100: 1}


def small(seed: int, most: int = 4) -> Scenario:
    """A task with two to four agents and at most `most` meetings, prior ones included; three in four leave agents room."""
    draw = random.Random(seed)
    agents, slots = draw.randint(2, 4), draw.randint(3, 6)
    longest, prices = draw.choice([1, 1, 1, 2, 3]), draw.choice([[1], [1, 10], list(SCALE)])
    ids = draw.sample(range(1, 9), draw.randint(1, min(3, most)))
    meetings = tuple(
        Meeting(id=number, participants=_who(draw, agents), duration=draw.randint(1, min(longest, slots))) for number in ids
    )
    prior, taken = _prior(draw, agents, slots, draw.randint(0, min(2, most - len(ids))), longest)
    density, blocked, roomy = draw.choice([0.4, 0.6, 0.9]), draw.choice([0, 0.3, 0.6]), draw.random() < 0.75
    errands, number = [], 0
    for agent in range(agents):
        cells = sorted(set(range(slots)) - taken[agent])
        need = sum(meeting.duration for meeting in meetings if agent in meeting.participants)
        mine = []
        for slot in sorted(draw.sample(cells, max(0, min(len(cells) - need * roomy, round(density * slots), len(cells))))):
            number += 1
            mine.append(Errand(slot=slot, id=number, cost=draw.choice(prices), blocked=draw.random() < blocked))
        errands.append(tuple(mine))
    scale = draw.choice([{}, SCALE, AGAINST])
    return Scenario(slots=slots, errands=tuple(errands), meetings=meetings, prior=prior, scale=scale)


def canonical(seed: int, agents: int = 5, slots: int = 16, meetings: int = 5, density: float = 0.6) -> Scenario:
    """A task of the published shape: meetings of three, a fifth of the errands blocked, a witness that nothing blocks."""
    draw = random.Random(seed)
    new = tuple(Meeting(id=number + 1, participants=tuple(sorted(draw.sample(range(agents), 3)))) for number in range(meetings))
    witness = dict(zip(range(1, meetings + 1), draw.sample(range(slots), meetings), strict=True))
    errands, number = [], 0
    for agent in range(agents):
        due = {witness[meeting.id] for meeting in new if agent in meeting.participants}
        mine = []
        for slot in sorted(draw.sample(range(slots), int(density * slots))):
            number += 1
            blocked = slot not in due and draw.random() < 0.2
            mine.append(Errand(slot=slot, id=number, cost=draw.choice(list(SCALE)), blocked=blocked))
        errands.append(tuple(mine))
    return Scenario(slots=slots, errands=tuple(errands), meetings=new, scale=SCALE, witness=witness)


def _who(draw: random.Random, agents: int) -> tuple[int, ...]:
    return tuple(sorted(draw.sample(range(agents), draw.choice([1, 2, 2, agents]))))


def _prior(
    draw: random.Random, agents: int, slots: int, count: int, longest: int
) -> tuple[tuple[PriorMeeting, ...], list[set[int]]]:
    """Prior meetings where there is room for them, and the cells that they take from each agent."""
    taken: list[set[int]] = [set() for _ in range(agents)]
    found = []
    for number in range(count):
        who, duration = _who(draw, agents), draw.randint(1, min(longest, slots))
        slot = draw.randint(0, slots - duration)
        span = set(range(slot, slot + duration))
        if not any(taken[agent] & span for agent in who):
            for agent in who:
                taken[agent] |= span
            found.append(
                PriorMeeting(id=10 + number, participants=who, duration=duration, slot=slot, cost=draw.choice([1, 1, 10]))
            )
    return tuple(found), taken

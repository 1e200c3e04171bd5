"""What can be done without outsiders: by hand, against plain enumeration, and against every game there is on tiny boards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations, product

import pytest

from oracles.calendar.certificate import best_without_outsiders, certify, outsider_saving
from tests.worlds.calendar import brute
from tests.worlds.calendar.random_tasks import SCALE, canonical, small
from worlds.calendar.rules.items import Item
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

Placement = tuple[tuple[Item, int], ...]
"""Where one agent's movable items are."""


def by_enumeration(scenario: Scenario, *, shown: bool = False) -> int | None:
    """The least cost of a schedule that keeps the two rules, each looked up in the scenario's own sets."""
    items = (*scenario.meetings, *scenario.prior)
    costs = [one.cost for one in brute.schedules(scenario, shown=shown) if within_reach(scenario, items, one.slots)]
    return min(costs, default=None)


def within_reach(scenario: Scenario, items: tuple[Meeting, ...], slots: tuple[int, ...]) -> bool:
    """Whether every item can get to its slot while no outsider moves anything."""
    for prior, ends in zip(scenario.prior, slots[len(scenario.meetings) :], strict=True):
        leaves = rounds_of(scenario, prior)
        if ends != prior.slot and not leaves:
            return False
        stood = set(range(prior.slot, prior.slot + prior.duration))
        for item, slot in zip(items, slots, strict=True):
            over = stood & set(range(slot, slot + item.duration)) and set(item.participants) & set(prior.participants)
            if over and item != prior and (not leaves or max(rounds_of(scenario, item), default=-1) < leaves[0]):
                return False
    return True


def rounds_of(scenario: Scenario, item: Meeting) -> list[int]:
    """The rounds whose meeting everybody of an item takes part in."""
    return [number for number, one in enumerate(scenario.meetings) if set(item.participants) <= set(one.participants)]


def test_a_prior_meeting_of_outsiders_stays() -> None:
    """M9 of agents 0 and 1 stands in slot 0; M1 of 0 and 2 pays 3 for slot 1, where 2 would be left without agent 1's move.

    With agent 1 moving too, M9 goes to the free slot 2 for 1 + 1, and M1 takes slot 0: 2, one less than 3.
    """
    scenario = Scenario(
        slots=3,
        errands=(
            (Errand(slot=1, id=1, cost=3),),
            (),
            (Errand(slot=2, id=2, cost=1, blocked=True),),
        ),
        meetings=(Meeting(id=1, participants=(0, 2)),),
        prior=(PriorMeeting(id=9, participants=(0, 1), slot=0),),
    )

    assert certify(scenario).optimum == 2
    assert best_without_outsiders(scenario) == 3
    assert outsider_saving(scenario) == 1


@pytest.mark.parametrize(("order", "least"), [((1, 2), None), ((2, 1), 2)])
def test_a_prior_meeting_must_leave_before_its_slot_is_taken(order: tuple[int, int], least: int | None) -> None:
    """M1 can be in slot 0 alone, where M9 stands; only the round of M2 holds M9, so that round has to come first.

    Then both of M9 pay 1 for moving it to a free slot, 2 in all. In the other order agent 1 has to help as an outsider.
    """
    closed = tuple(Errand(slot=slot, id=slot, cost=1, blocked=True) for slot in (1, 2, 3))
    meetings = {1: Meeting(id=1, participants=(0, 2)), 2: Meeting(id=2, participants=(0, 1))}
    scenario = Scenario(
        slots=4,
        errands=((), (), closed),
        meetings=tuple(meetings[number] for number in order),
        prior=(PriorMeeting(id=9, participants=(0, 1), slot=0),),
    )

    assert certify(scenario).optimum == 2
    assert best_without_outsiders(scenario) == by_enumeration(scenario) == least
    assert outsider_saving(scenario) == (None if least is None else 0)


def crowded(seed: int) -> Scenario:
    """Three agents and five slots, almost all with costly errands or blocked ones; one prior meeting or two are among them."""
    draw = random.Random(seed)
    pairs = [(0, 1), (0, 2), (1, 2)]
    meetings = tuple(Meeting(id=n, participants=draw.choice([*pairs, (0, 1, 2)])) for n in range(1, draw.choice([3, 4])))
    slots = draw.sample(range(5), 2)
    prior = tuple(PriorMeeting(id=8 + n, participants=draw.choice(pairs), slot=slots[n]) for n in range(draw.randint(1, 2)))
    errands = []
    for agent in range(3):
        mine = sum(agent in one.participants for one in meetings)
        cells = sorted(set(range(5)) - {one.slot for one in prior if agent in one.participants})
        filled = sorted(draw.sample(cells, max(0, len(cells) - mine)))
        errands.append(
            tuple(
                Errand(slot=slot, id=5 * agent + slot + 1, cost=draw.choice([10, 100]), blocked=draw.random() < 0.4)
                for slot in filled
            )
        )
    return Scenario(slots=5, errands=tuple(errands), meetings=meetings, prior=prior, scale=draw.choice([{}, SCALE]))


def compared(scenarios: list[Scenario]) -> list[tuple[int | None, int | None]]:
    """The optimum of each task and the best of it without outsiders, which enumeration must find too, on both scales."""
    for scenario in scenarios:
        assert best_without_outsiders(scenario) == by_enumeration(scenario)
        assert best_without_outsiders(scenario, "shown") == by_enumeration(scenario, shown=True)
    return [(certify(scenario).optimum, best_without_outsiders(scenario)) for scenario in scenarios]


def test_enumeration_says_the_same() -> None:
    """The programme finds what trying everything finds, where outsiders save something, everything and nothing."""
    assert compared([crowded(seed) for seed in (2, 7, 12, 17)]) == [(12, 100), (4, 4), (12, None), (102, 200)]


@pytest.mark.property
def test_enumeration_says_the_same_of_many() -> None:
    """On crowded boards, and on small ones of every kind: with long meetings, and with agents without room."""
    costs = compared([crowded(seed) for seed in range(100)])
    saved = [alone - best for best, alone in costs if best is not None and alone is not None]
    others = compared([scenario for scenario in map(small, range(150)) if scenario.prior])

    assert min(saved) == 0
    assert sum(one > 0 for one in saved) >= 3
    assert sum(alone is None for _, alone in others) > sum(best is None for best, _ in others) > 0


@pytest.mark.property
def test_the_solver_says_the_same() -> None:
    """Where the programme has too many states the solver takes over, with the same answer."""
    for scenario in [scenario for scenario in map(small, range(60)) if scenario.prior]:
        assert best_without_outsiders(scenario, limit=0) == best_without_outsiders(scenario)


def test_certificates_tell_it_where_there_are_prior_meetings() -> None:
    """Both costs stand in the file of a task with prior meetings, and neither does in that of another."""
    keys = {"without_outsiders", "shown_without_outsiders"}
    with_prior = next(scenario for scenario in map(small, range(100)) if scenario.prior)

    assert keys <= set(certify(with_prior).document())
    assert certify(with_prior).document()["without_outsiders"] == best_without_outsiders(with_prior)
    assert keys.isdisjoint(certify(canonical(0)).document())


def tiny(count: int) -> Iterator[Scenario]:
    """Tasks small enough to search every game: at most three agents and four slots, meetings of one slot, one prior or two."""
    for seed in range(20_000):
        scenario = small(seed, most=3)
        items = (*scenario.meetings, *scenario.prior)
        loose = sum(not errand.blocked for mine in scenario.errands for errand in mine)
        fits = scenario.slots <= 4 and len(scenario.agents) <= 3 and loose <= 4
        if fits and scenario.prior and len(scenario.meetings) <= 2 and all(item.duration == 1 for item in items):
            yield scenario
            count -= 1
            if not count:
                return


def cheapest_game(scenario: Scenario) -> int | None:
    """The least that all pay in any game in which every round succeeds and only its participants move anything."""
    items = [[item for item in cells if item and not item.blocked] for cells in scenario.calendars]
    start = tuple(
        tuple((item, cells.index(item)) for item in mine) for mine, cells in zip(items, scenario.calendars, strict=True)
    )
    states = {start: 0}
    for meeting in scenario.meetings:
        for agent in meeting.participants:
            items[agent] = [*items[agent], meeting.item()]
        after: dict[tuple[Placement, ...], int] = {}
        for before, cost in states.items():
            ends = [
                placements(scenario, agent, items[agent]) if agent in meeting.participants else [before[agent]]
                for agent in scenario.agents
            ]
            for end in filter(joint, product(*ends)):
                total = cost + sum(moved(scenario, old, new) for old, new in zip(before, end, strict=True))
                after[end] = min(total, after.get(end, total))
        states = after
    return min(states.values(), default=None)


def placements(scenario: Scenario, agent: int, items: list[Item]) -> list[Placement]:
    """Every way in which an agent's calendar can hold these items and its blocked errands."""
    blocked = {errand.slot for errand in scenario.errands[agent] if errand.blocked}
    cells = [slot for slot in range(scenario.slots) if slot not in blocked]
    return [tuple(zip(items, chosen, strict=True)) for chosen in permutations(cells, len(items))]


def joint(calendars: tuple[Placement, ...]) -> bool:
    """Whether each meeting is in one slot on all its calendars."""
    places = {(item.id, slot) for placement in calendars for item, slot in placement if item.kind == "meeting"}
    return len({number for number, _ in places}) == len(places)


def moved(scenario: Scenario, before: Placement, after: Placement) -> int:
    """What one agent pays for a batch from one calendar to another."""
    return sum(scenario.scored_cost(old[0].cost) for old, new in zip(before, after, strict=False) if old != new)


def is_held(scenario: Scenario) -> bool:
    """Whether some round holds some prior meeting."""
    return any(rounds_of(scenario, prior) for prior in scenario.prior)


@pytest.mark.property
def test_no_game_without_outsiders_is_cheaper() -> None:
    """On tiny boards no game beats the bound, and where no round holds a prior meeting the cheapest game meets it."""
    boards = [scenario for scenario in tiny(160) if not is_held(scenario) or len(scenario.agents) == 2]
    games = [(cheapest_game(scenario), best_without_outsiders(scenario)) for scenario in boards]
    unheld = [pair for pair, scenario in zip(games, boards, strict=True) if not is_held(scenario)]
    optima = [certify(scenario).optimum for scenario in boards]

    assert all(game is None or (bound is not None and bound <= game) for game, bound in games)
    assert [game for game, _ in unheld] == [bound for _, bound in unheld]
    assert len(unheld) > 15
    assert len(games) > 2 * len(unheld)
    assert any(game is None and best is not None for (game, _), best in zip(games, optima, strict=True))

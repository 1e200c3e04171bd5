"""What the tables say of a scenario: allowed slots, prices on both scales, capacity, and what simple planners do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from oracles.calendar import certificate
from oracles.calendar.problem import Problem, build_problem
from oracles.calendar.programme import build_graph
from tests.worlds.calendar.random_tasks import SCALE, canonical
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

Planner = Callable[[Problem], tuple[int, ...] | None]


def one_agent(*errands: tuple[int, int, bool], slots: int = 5, **more: object) -> Scenario:
    """A task of one agent with errands of (slot, cost, blocked) and one meeting."""
    mine = tuple(Errand(slot=slot, id=slot + 1, cost=cost, blocked=blocked) for slot, cost, blocked in errands)
    return Scenario.model_validate(
        {"schema": "calendar/1", "slots": slots, "errands": (mine,), "meetings": (Meeting(id=1, participants=(0,)),), **more}
    )


def open_slots(problem: Problem, item: int) -> dict[int, int]:
    """The slots where an item may start, with what that costs all."""
    return {slot: int(problem.prices[item, slot]) for slot in np.flatnonzero(problem.allowed[item]).tolist()}


def test_prices_of_both_scales() -> None:
    """Free is free, an errand costs its price on the scale asked for, a blocked one closes the slot."""
    scenario = one_agent((0, 100, False), (1, 10, True), (2, 1, False), scale=SCALE)

    assert open_slots(build_problem(scenario), 0) == {0: 3, 2: 1, 3: 0, 4: 0}
    assert open_slots(build_problem(scenario, "shown"), 0) == {0: 100, 2: 1, 3: 0, 4: 0}


def test_errands_without_a_free_cell_stay() -> None:
    """An agent without a free cell cannot move an errand away, so none of its slots is open and nothing holds."""
    full = build_problem(one_agent(*((slot, 1, False) for slot in range(5))))

    assert open_slots(full, 0) == {}
    assert not full.has_room_for([0])


def test_capacity_counts_cells() -> None:
    """Meetings hold as long as the cells that they take are no more than an agent's free ones, whatever slots are open."""
    meetings = (Meeting(id=1, participants=(0,)), Meeting(id=2, participants=(0,), duration=2))
    problem = build_problem(one_agent((0, 1, False), (1, 1, False), (2, 1, False), meetings=meetings))

    assert problem.free == (2,)
    assert problem.allowed[0].all()
    assert [problem.has_room_for(chosen) for chosen in ([], [0], [1], [0, 1])] == [True, True, True, False]


def test_long_meetings_pay_for_every_errand_under_them() -> None:
    """A span costs the sum of its errands, closes over a blocked one, and must end inside."""
    meetings = (Meeting(id=1, participants=(0,), duration=2),)
    problem = build_problem(one_agent((0, 10, False), (1, 1, False), (4, 1, True), slots=7, meetings=meetings))

    assert open_slots(problem, 0) == {0: 11, 1: 1, 2: 0, 5: 0}


def test_prior_meetings_stay_for_nothing_and_move_for_each_participant() -> None:
    """Elsewhere a prior meeting costs its price for each participant, and what lies there."""
    prior = (PriorMeeting(id=9, participants=(0, 1), slot=1, cost=10),)
    errands = ((Errand(slot=0, id=1, cost=1),), (Errand(slot=2, id=2, cost=1, blocked=True),))
    problem = build_problem(one_agent(errands=errands, slots=4, prior=prior, scale=SCALE))

    assert open_slots(problem, 1) == {0: 5, 1: 0, 3: 4}
    assert problem.costs[1, :, 0].tolist() == [3, 2]
    assert (problem.free, problem.stays) == ((2, 2), (1,))
    assert open_slots(problem, 0) == {0: 1, 1: 0, 2: 0, 3: 0}


def test_conflicts_are_shared_agents() -> None:
    """Two items are in conflict when somebody takes part in both; the graph lets only others start together."""
    meetings = tuple(Meeting(id=n, participants=who) for n, who in enumerate([(0, 1), (2,), (1, 2)], start=1))
    problem = build_problem(Scenario(slots=3, errands=((), (), ()), meetings=meetings))
    graph = build_graph(problem.conflicts, problem.durations, problem.meetings, 1000)
    assert graph is not None

    assert problem.conflicts == (0b100, 0b100, 0b011)
    assert graph.groups == (0b000, 0b001, 0b010, 0b011, 0b100)


def test_graph_knows_what_still_runs() -> None:
    """While a meeting of three slots runs, one that shares an agent cannot start; the end is nothing left and nothing on."""
    graph = build_graph((0b10, 0b01), (3, 1), 2, 1000)
    assert graph is not None
    empty, long, short = (graph.groups.index(group) for group in (0b00, 0b01, 0b10))
    begun = int(graph.successors[long, graph.starts[-1]])
    later = int(graph.successors[empty, begun])

    assert graph.successors[short, begun] == graph.successors[short, later] == graph.states
    over = int(graph.successors[empty, later])
    assert graph.successors[short, over] == graph.done


@pytest.mark.parametrize(
    ("planner", "slots", "cost"), [(certificate.schedule_greedily, (0, 1), 110), (certificate.schedule_myopically, (2, 3), 2)]
)
def test_simple_planners(planner: Planner, slots: tuple[int, ...], cost: int) -> None:
    """The greedy one takes the lowest open slots, the myopic one the cheapest of the moment, the lowest of equal ones."""
    blocked = [Errand(slot=slot, id=slot + 1, cost=1, blocked=True) for slot in (4, 5)]
    mine = [Errand(slot=slot, id=slot + 1, cost=cost) for slot, cost in enumerate((100, 10, 1, 1))]
    others = [Errand(slot=slot, id=slot + 1, cost=50) for slot in (6, 7)]
    meetings = tuple(Meeting(id=number, participants=(0, 1)) for number in (1, 2))
    problem = build_problem(Scenario(slots=8, errands=((*mine, *blocked), tuple(others)), meetings=meetings))

    assert planner(problem) == slots
    assert certificate.price_schedule(problem, slots) == cost


def test_simple_planners_leave_prior_meetings_alone() -> None:
    """They plan around a prior meeting, and are stuck where only its move would help."""
    prior = (PriorMeeting(id=9, participants=(0,), slot=0),)
    around = build_problem(one_agent((1, 1, True), slots=3, prior=prior))
    stuck = build_problem(
        one_agent(
            errands=((), tuple(Errand(slot=slot, id=slot, cost=1, blocked=True) for slot in (1, 2))),
            slots=3,
            prior=prior,
            meetings=(Meeting(id=1, participants=(0, 1)),),
        )
    )

    assert certificate.schedule_greedily(around) == certificate.schedule_myopically(around) == (2,)
    assert certificate.schedule_greedily(stuck) is certificate.schedule_myopically(stuck) is None
    assert certificate.price_schedule(stuck, [0]) is None


def test_simple_planners_never_beat_the_optimum_and_never_collide() -> None:
    """On tasks of the published shape both plans are schedules, and the myopic one is not always optimal."""
    for seed in range(30):
        problem = build_problem(canonical(seed, density=0.8))
        for planner in (certificate.schedule_greedily, certificate.schedule_myopically):
            slots = planner(problem)
            assert slots is None or len(set(slots)) == len(slots)
            assert slots is None or certificate.price_schedule(problem, slots) is not None


def test_simple_planners_keep_long_meetings_apart() -> None:
    """The second of two long meetings begins where the first one ends, and the third where that does."""
    meetings = tuple(Meeting(id=number, participants=(0,), duration=2) for number in (1, 2, 3))
    problem = build_problem(one_agent(slots=7, meetings=meetings))

    assert certificate.schedule_greedily(problem) == certificate.schedule_myopically(problem) == (0, 2, 4)
    assert certificate.price_schedule(problem, (0, 3, 5)) == 0
    assert certificate.price_schedule(problem, (0, 2, 3)) is certificate.price_schedule(problem, (1, 0, 4)) is None

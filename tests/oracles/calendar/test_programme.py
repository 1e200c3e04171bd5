"""Three witnesses: the dynamic programme, the solver and plain enumeration say the same about every small task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import perm
from typing import Any

import numpy as np
import pytest

from oracles.calendar import counting, cpsat
from oracles.calendar.certificate import certify, find_fairest_schedule
from oracles.calendar.problem import build_problem
from oracles.calendar.programme import BEST, WORST, Packing, build_graph, solve
from tests.worlds.calendar import brute
from tests.worlds.calendar.random_tasks import SCALE, canonical, small
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario

pytestmark = pytest.mark.property

SMALL = 500


def best_and_worst(scenario: Scenario) -> list[brute.Schedule]:
    """The best and the worst schedule by enumeration, ties to the smallest slots; empty for none."""
    found = list(brute.schedules(scenario))
    return (
        [min(found, key=lambda one: (one.cost, one.slots)), min(found, key=lambda one: (-one.cost, one.slots))] if found else []
    )


def subset_of(scenario: Scenario, ids: Sequence[int]) -> dict[str, Any]:
    """An entry of `by_subset` by enumeration."""
    found = best_and_worst(scenario.subset(ids)) if ids else best_and_worst(without_meetings(scenario))
    if not found:
        return dict.fromkeys(("optimum", "per_agent", "worst", "worst_per_agent"))
    best, worst = found
    return {
        "optimum": best.cost,
        "per_agent": list(best.per_agent),
        "worst": worst.cost,
        "worst_per_agent": list(worst.per_agent),
    }


def without_meetings(scenario: Scenario) -> Scenario:
    """The scenario with nothing to schedule, which no file may say."""
    return scenario.model_copy(update={"meetings": ()})


def by_hand(scenario: Scenario) -> dict[str, Any]:
    """What a certificate should say, from the list of all schedules."""
    found = list(brute.schedules(scenario))
    shown = list(brute.schedules(scenario, shown=True))
    ids = [meeting.id for meeting in scenario.meetings]
    subsets = [sorted(chosen) for size in range(len(ids) + 1) for chosen in combinations(ids, size)]
    expected: dict[str, Any] = {
        "by_subset": {",".join(map(str, chosen)): subset_of(scenario, chosen) for chosen in subsets},
        "feasible": brute.injective(scenario),
        "optima": 0,
    }
    if not found:
        return {**expected, "optimum": None, "assignment": None, "fairest": None, "worst": None, "shown_agrees": None}
    best, worst = best_and_worst(scenario)
    optima = [one for one in found if one.cost == best.cost]
    shown_least = min(one.cost for one in shown)
    fair = min(optima, key=lambda one: (sorted(one.per_agent, reverse=True), one.slots))
    return {
        **expected,
        "optimum": best.cost,
        "assignment": dict(zip(map(str, ids), best.slots, strict=False)),
        "prior_moves": moved(scenario, best.slots),
        "per_agent": list(best.per_agent),
        "optima": len(optima),
        "ranges": [[min(costs), max(costs)] for costs in zip(*(one.per_agent for one in optima), strict=True)],
        "fairest": {
            "slots": dict(zip(map(str, ids), fair.slots, strict=False)),
            **({"prior_moves": gone} if (gone := moved(scenario, fair.slots)) else {}),
            "per_agent": list(fair.per_agent),
        },
        "worst": worst.cost,
        "worst_per_agent": list(worst.per_agent),
        "shown_optimum": shown_least,
        "shown_agrees": any(a.cost == best.cost and b.cost == shown_least for a, b in zip(found, shown, strict=True)),
    }


def moved(scenario: Scenario, slots: Sequence[int]) -> dict[str, int]:
    """The prior meetings that a schedule moves."""
    places = zip(scenario.prior, slots[len(scenario.meetings) :], strict=True)
    return {str(prior.id): slot for prior, slot in places if prior.slot != slot}


def of_keys(certificate: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The part of a certificate that is compared."""
    return {key: certificate[key] for key in keys}


def test_the_programme_says_what_enumeration_says() -> None:
    """Everything a certificate says about 500 small tasks follows from the list of all their schedules."""
    wrong = []
    for seed in range(SMALL):
        scenario = small(seed)
        expected = by_hand(scenario)
        if of_keys(certify(scenario).document(), expected) != expected:
            wrong.append(seed)

    assert wrong == []


def test_small_tasks_are_of_every_kind() -> None:
    """The tasks compared have what could go wrong: no way out, forced moves of prior meetings, ties, disjoint groups."""
    found = [(scenario, certify(scenario).document()) for scenario in map(small, range(SMALL))]
    kinds = {
        "infeasible": [c for _, c in found if c["optimum"] is None],
        "prior": [c for s, c in found if s.prior],
        "prior moved": [c for _, c in found if c["prior_moves"]],
        "long": [c for s, c in found if c["optima"] and max(m.duration for m in s.meetings) > 1],
        "ties": [c for _, c in found if c["optima"] > 1],
        "shared slot": [c for _, c in found if c["optima"] and not c["feasible"]],
        "scales disagree": [c for _, c in found if c["shown_agrees"] is False],
        "some subsets only": [c for _, c in found if c["optimum"] is None and len(c["by_subset"]) > 2],
    }

    assert {kind: len(cases) for kind, cases in kinds.items() if len(cases) < 4} == {}


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, SMALL), marks=pytest.mark.proof)], ids=["some", "the others"]
)
def test_the_solver_says_the_same(seeds: range) -> None:
    """CP-SAT, in the place of the programme, gives the same certificates and the same counts by enumeration."""
    wrong = []
    for seed in seeds:
        scenario, problem = small(seed), build_problem(small(seed))
        mine, theirs = certify(scenario).document(), certify(scenario, limit=0).document()
        optima = sum(1 for _ in cpsat.enumerate_schedules(problem, cost=mine["optimum"])) if mine["optimum"] is not None else 0
        maps = {slots[: problem.meetings] for slots in cpsat.enumerate_schedules(problem, apart=True)}
        same = {**mine, "optima": theirs["optima"], "by_subset": None} == theirs
        if not (same and (optima, len(maps)) == (mine["optima"], mine["feasible"])):
            wrong.append(seed)

    assert wrong == []


def test_the_fairest_optimum_is_the_leximin_one() -> None:
    """Where optima share their cost differently, programme and solver choose as sorting all of them does."""
    differ = 0
    for seed in range(24):
        scenario = canonical(seed, agents=5, slots=6, meetings=3)
        problem, expected = build_problem(scenario), by_hand(scenario)
        assert of_keys(certify(scenario).document(), expected) == expected
        if expected["optima"] and expected["fairest"]["per_agent"] != expected["per_agent"]:
            differ += 1
            solution = solve(problem)
            assert solution is not None
            assert find_fairest_schedule(solution, limit=0) is None
            slots, costs = cpsat.find_fairest_schedule(problem) or ((), ())
            assert list(slots) == list(expected["fairest"]["slots"].values())
            assert list(costs) == expected["fairest"]["per_agent"]

    assert differ >= 2


@pytest.mark.parametrize("seed", range(3))
def test_subsets_are_tasks_of_their_own(seed: int) -> None:
    """What is said of a subset is what the certificate of the task with only these meetings says."""
    scenario = canonical(seed)
    subsets = certify(scenario).document()["by_subset"]
    keys = ("optimum", "per_agent", "worst", "worst_per_agent")
    alone = {name: of_keys(certify(scenario.subset(map(int, name.split(",")))).document(), keys) for name in subsets if name}

    assert subsets == {"": {"optimum": 0, "per_agent": [0] * 5, "worst": 0, "worst_per_agent": [0] * 5}, **alone}


def test_costs_beyond_64_bits() -> None:
    """Prices that no machine word holds are added exactly, and change nothing else."""
    scenario, factor = canonical(4), 10**30
    scale = {cost: scored * factor for cost, scored in SCALE.items()}
    plain, huge = certify(scenario).document(), certify(scenario.model_copy(update={"scale": scale})).document()

    assert huge["optimum"] == plain["optimum"] * factor
    assert huge["ranges"] == [[low * factor, high * factor] for low, high in plain["ranges"]]
    same = ("assignment", "optima", "shown_optimum", "shown_agrees", "feasible")
    assert of_keys(huge, same) == of_keys(plain, same)
    assert huge["fairest"]["slots"] == plain["fairest"]["slots"]


def test_vectors_of_many_slots_are_still_the_smallest() -> None:
    """Ten meetings in 520 slots beside a dear errand need more digits than two numbers hold; free cells still fill in order."""
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in range(1, 11))
    scenario = Scenario(slots=520, errands=((Errand(slot=519, id=1, cost=1 << 25),),), meetings=meetings)
    solution = solve(build_problem(scenario))
    assert solution is not None

    assert len(Packing(build_problem(scenario), None).levels) == 3
    assert solution.vectors[BEST, -1].tolist() == list(range(10))
    assert solution.vectors[WORST, -1].tolist() == [*range(9), 519]


def test_counts_beyond_floating_point_are_exact() -> None:
    """On free calendars every map is optimal: T! / (T - M)! of them, all digits right."""
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in range(1, 12))
    certificate = certify(Scenario(slots=67, errands=((),), meetings=meetings)).document()
    maps = perm(67, 11)

    assert certificate["optima"] == certificate["feasible"] == certificate["total"] == maps != int(float(maps))
    assert certificate["difficulty"] == 1.0


def test_solver_takes_over_where_states_are_too_many() -> None:
    """Beyond the limit what the programme alone can say is left out, and the rest is the same."""
    scenario = canonical(1, agents=8, slots=18, meetings=6)
    problem = build_problem(scenario)
    solution = solve(problem)
    assert solution is not None
    size = solution.graph.successors.size

    assert build_graph(problem.conflicts, problem.durations, problem.meetings, size - 1) is None
    assert solve(problem, limit=18 * size) is not None
    assert solve(problem, limit=18 * size - 1) is None
    left_out = certify(scenario, limit=18 * size - 1).document()
    assert left_out == {**certify(scenario).document(), "optima": None, "by_subset": None}


def test_total_of_long_meetings_is_counted() -> None:
    """On empty calendars every vector of disjoint spans counts, so F is the total."""
    meetings = tuple(Meeting(id=number, participants=(0,), duration=number) for number in (1, 2, 3))
    problem = build_problem(Scenario(slots=8, errands=((),), meetings=meetings))

    assert counting.count_feasible(problem) == counting.count_total(problem) == 60
    assert counting.count_total(build_problem(Scenario(slots=5, errands=((),), meetings=meetings))) == 0


def test_maps_are_counted_once_however_prior_meetings_go() -> None:
    """A prior meeting that can stand in many places beside a map does not make many maps of it."""
    prior = (PriorMeeting(id=9, participants=(0,), slot=0),)
    scenario = Scenario(slots=5, errands=((),), meetings=(Meeting(id=1, participants=(0,)),), prior=prior)

    assert counting.count_feasible(build_problem(scenario)) == 5


@pytest.mark.parametrize(("price", "slots", "moves", "costs"), [(1, 0, {"9": 2}, [1, 0, 1]), (100, 1, {}, [100, 0, 0])])
def test_a_prior_meeting_moves_when_that_is_cheaper(price: int, slots: int, moves: dict[str, int], costs: list[int]) -> None:
    """Moving it costs each participant its price once; an errand at 100 is dearer than twice 1 and cheaper than twice 100."""
    blocked = tuple(Errand(slot=slot, id=slot, cost=1, blocked=True) for slot in (2, 3))
    scenario = Scenario(
        slots=4,
        errands=((Errand(slot=1, id=1, cost=100),), blocked, ()),
        meetings=(Meeting(id=1, participants=(0, 1)),),
        prior=(PriorMeeting(id=9, participants=(0, 2), slot=0, cost=price),),
    )
    found = certify(scenario).document()

    assert (found["assignment"], found["prior_moves"], found["per_agent"]) == ({"1": slots}, moves, costs)


def test_senses_are_the_first_two_columns() -> None:
    """A worst schedule costs at least what a best one does, in every subset."""
    solution = solve(build_problem(canonical(2)))
    assert solution is not None

    assert all(low <= high for low, high in zip(solution.totals[BEST], solution.totals[WORST], strict=True))
    assert any(low < high for low, high in zip(solution.totals[BEST], solution.totals[WORST], strict=True))


def test_the_example_of_packing_is_true() -> None:
    """What the module says of its numbers is what they are."""
    errands = (Errand(slot=1, id=1, cost=3), Errand(slot=3, id=2, cost=2))
    meetings = tuple(Meeting(id=number, participants=(0,)) for number in (1, 2))
    packing = Packing(build_problem(Scenario(slots=4, errands=(errands,), meetings=meetings)), None)
    numbers = [2 << 56 | 0b0011, 3 << 56 | 0b0110, 2 << 56 | 0b1011]

    assert (packing.digit_bits, packing.shift_bits) == (2, 56)
    assert packing.unpack_slots([np.array(numbers)]).tolist() == [[0, 3], [1, 2], [2, 3]]
    assert [number >> packing.shift_bits for number in numbers] == [2, 3, 2]
    assert min(numbers) == numbers[0]

"""The certificate of a task: the best that can be done, the worst, who pays, how many ways there are, what simple plans cost.

`certify` asks the dynamic programme, and the solver where that has too many states; what only the programme can say is then
None: `by_subset`, `optima`, and `feasible` with `difficulty` where counting is too much as well. Where no schedule exists,
everything that describes one is None, and `optima` and `feasible` are 0. Costs are on the scored scale but for `shown_optimum`.

The fairest of the optimal schedules: the least largest cost of an agent, then the least next largest, and so on (leximin).

Costs of agents do not add up to fairness, so the optimal schedules are followed forwards along the moves that keep to the
optimum (`Solution.tight`), and each state holds the different costs by agent that lead to it, with the lexicographically
smallest slots of each. Costs in which one agent pays more than the most loaded one of a known optimum need no following.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from oracles.calendar import bounds, counting, cpsat
from oracles.calendar.outsiders import best_without_outsiders
from oracles.calendar.problem import Problem, tables
from oracles.calendar.programme import BEST, LIMIT, WORST, Solution, solve
from worlds.calendar.rules.certificate import Certificate, Extremes, Fairest, Schedule, SimplePlan, Witness
from worlds.calendar.rules.scenario import Scenario

MOST_COSTS = 200_000
"""Different costs by agent, over all states of a slot, beyond which this is left to the solver."""

Costs = tuple[int, ...]
Slots = tuple[int, ...]


def fairest(solution: Solution, limit: int = MOST_COSTS) -> tuple[Slots, Costs] | None:
    """Slots and costs by agent, ties to the smallest slots; None when there are too many costs to track, or no schedule."""
    if not solution.possible[-1]:
        return None
    known = tuple(solution.per_agent[BEST][-1])
    if all(low == high for low, high in solution.ranges):
        return tuple(solution.vectors[BEST, -1].tolist()), known
    slots_by_costs = _follow(solution, max(known), limit)
    if slots_by_costs is None:
        return None
    costs, slots = min(slots_by_costs.items(), key=lambda one: (sorted(one[0], reverse=True), one[1]))
    return slots, costs


def _follow(solution: Solution, most: int, limit: int) -> dict[Costs, Slots] | None:
    """The costs by agent of all optimal schedules in which nobody pays more than `most`, each with its smallest slots."""
    graph, problem = solution.graph, solution.problem
    states: dict[int, dict[Costs, Slots]] = {int(graph.starts[-1]): {(0,) * problem.agents: (0,) * problem.count}}
    successors = graph.successors.tolist()
    members = [np.flatnonzero(row).tolist() for row in graph.members]
    costs = problem.costs.transpose(2, 0, 1).tolist()
    for slot, tight in enumerate(solution.tight):
        after: dict[int, dict[Costs, Slots]] = {}
        for state, ways in states.items():
            for group in tight[:, state].nonzero()[0].tolist():
                reached = after.setdefault(successors[group][state], {})
                for paid, slots in ways.items():
                    _start(reached, paid, slots, members[group], costs[slot], slot, most)
        states = after
        if sum(map(len, states.values())) > limit:
            return None
    return states[graph.done]


def _start(
    reached: dict[Costs, Slots], paid: Costs, slots: Slots, group: list[int], costs: list[list[int]], slot: int, most: int
) -> None:
    """One way goes on with a group that starts in a slot, unless somebody pays too much."""
    for item in group:
        paid = tuple(map(add, paid, costs[item]))
        slots = (*slots[:item], slot, *slots[item + 1 :])
    if max(paid) <= most and (paid not in reached or slots < reached[paid]):
        reached[paid] = slots


@dataclass(frozen=True)
class _Known:
    """What either solver says about schedules of all meetings."""

    slots: tuple[Sequence[int], Sequence[int]]
    """Of the best and of the worst."""

    per_agent: tuple[Sequence[int], Sequence[int]]
    optima: int | None
    ranges: list[list[int]]
    fairest: tuple[Sequence[int], Sequence[int]]
    shown_optimum: int
    shown_least: int
    """The least shown cost of a schedule that is optimal on the scored scale."""


def certify(scenario: Scenario, *, limit: int = LIMIT) -> Certificate:
    """The certificate of a task.

    Args:
        scenario: the task.
        limit: the size (`programme.LIMIT`) beyond which the solver takes over.
    """
    problem = tables(scenario)
    shown = tables(scenario, "shown") if any(scored != cost for cost, scored in scenario.scale.items()) else None
    solution = solve(problem, shown, limit)
    known = _by_solver(problem, shown) if solution is None else _by_programme(problem, solution)
    count, total = counting.feasible(problem), counting.total(problem)
    return Certificate(
        **_schedules(problem, known),
        feasible=count,
        total=total,
        difficulty=None if count is None else count / total if total else 0.0,
        greedy=_bound(problem, bounds.greedy(problem)),
        myopic=_bound(problem, bounds.myopic(problem)),
        witness=_witness(scenario, problem),
        shown_optimum=known.shown_optimum if known else None,
        shown_agrees=known.shown_least == known.shown_optimum if known else None,
        **_without_outsiders(scenario, limit),
        by_subset=None if solution is None else by_subset(solution),
    )


def _without_outsiders(scenario: Scenario, limit: int) -> dict[str, Any]:
    """What is said only of tasks with prior meetings: where there are none, the optimum needs no outsider."""
    if not scenario.prior:
        return {}
    return {
        "without_outsiders": best_without_outsiders(scenario, limit=limit),
        "shown_without_outsiders": best_without_outsiders(scenario, "shown", limit=limit),
    }


def by_subset(solution: Solution) -> dict[str, Extremes]:
    """For each subset of the meetings, named by its ids in ascending order, the best and the worst schedule of it alone."""
    best, worst = solution.per_agent
    names = _names(solution.problem.ids[: solution.problem.meetings])
    return {
        name: Extremes(
            optimum=solution.totals[BEST][subset] if possible else None,
            per_agent=tuple(best[subset]) if possible else None,
            worst=solution.totals[WORST][subset] if possible else None,
            worst_per_agent=tuple(worst[subset]) if possible else None,
        )
        for subset, (name, possible) in enumerate(zip(names, solution.possible, strict=True))
    }


def _names(ids: Sequence[int]) -> list[str]:
    """The name of each subset of meetings."""
    sets: list[list[int]] = [[]]
    for number in ids:
        sets += [[*chosen, number] for chosen in sets]
    return [",".join(map(str, sorted(chosen))) for chosen in sets]


def _by_programme(problem: Problem, solution: Solution) -> _Known | None:
    if not solution.possible[-1]:
        return None
    best, worst = (tuple(solution.vectors[sense, -1].tolist()) for sense in (BEST, WORST))
    fair = fairest(solution) or cpsat.fairest(problem)
    assert fair is not None
    per_agent = solution.per_agent[BEST][-1], solution.per_agent[WORST][-1]
    return _Known((best, worst), per_agent, solution.optima, solution.ranges, fair, *solution.shown)


def _by_solver(problem: Problem, shown: Problem | None) -> _Known | None:
    best, worst = cpsat.optimum(problem), cpsat.optimum(problem, worst=True)
    ranges, fair = cpsat.ranges(problem), cpsat.fairest(problem)
    if best is None or worst is None or ranges is None or fair is None:
        return None
    shown_best, least = best.cost, best.cost
    if shown is not None:
        shown_optimum = cpsat.optimum(shown)
        assert shown_optimum is not None
        shown_best, least = shown_optimum.cost, cpsat.least_shown(problem, shown)
    return _Known((best.slots, worst.slots), (best.per_agent, worst.per_agent), None, ranges, fair, shown_best, least)


def _schedules(problem: Problem, known: _Known | None) -> dict[str, Any]:
    if known is None:
        nothing = (
            "optimum",
            "assignment",
            "prior_moves",
            "per_agent",
            "optima",
            "ranges",
            "fairest",
            "worst",
            "worst_per_agent",
        )
        return {**dict.fromkeys(nothing), "optima": 0}
    slots, (best, worst) = known.slots[0], known.per_agent
    fair, fair_costs = known.fairest
    moved = _moved(problem, fair)
    return {
        "optimum": sum(best),
        "assignment": _meetings(problem, slots),
        "prior_moves": _moved(problem, slots),
        "per_agent": tuple(best),
        "optima": known.optima,
        "ranges": known.ranges,
        "fairest": Fairest(
            slots=_meetings(problem, fair), per_agent=tuple(fair_costs), **({"prior_moves": moved} if moved else {})
        ),
        "worst": sum(worst),
        "worst_per_agent": tuple(worst),
    }


def _meetings(problem: Problem, slots: Sequence[int]) -> Schedule:
    return {str(number): slot for number, slot in zip(problem.ids, slots[: problem.meetings], strict=False)}


def _moved(problem: Problem, slots: Sequence[int]) -> Schedule:
    """Where prior meetings go, of those that do not stay."""
    places = zip(problem.ids[problem.meetings :], slots[problem.meetings :], problem.stays, strict=True)
    return {str(number): slot for number, slot, stays in places if slot != stays}


def _bound(problem: Problem, slots: Sequence[int] | None) -> SimplePlan | None:
    return None if slots is None else SimplePlan(cost=bounds.price(problem, slots), slots=_meetings(problem, slots))


def _witness(scenario: Scenario, problem: Problem) -> Witness | None:
    """The generator's schedule, if the scenario says it, with what it costs while prior meetings stay."""
    slots = [scenario.witness[number] for number in problem.ids[: problem.meetings] if number in scenario.witness]
    if len(slots) < problem.meetings:
        return None
    return Witness(slots=_meetings(problem, slots), cost=bounds.price(problem, slots))

"""Certificate of a calendar task: best and worst schedules, their costs by seat and their number, and simple plans.

`certify` uses the dynamic programme, or the solver if there are too many states. Results that only the programme can give are
then None: `by_subset`, `optima`, and `feasible` with `difficulty` if counting is too expensive as well. If no schedule exists,
everything that describes one is None, and `optima` and `feasible` are 0. Costs are on the scored scale except `shown_optimum`.

docs/calendar.md defines each key and says why the bound on games without outsiders holds ("Prior meetings"). It is exact if no
round holds a prior meeting: these are then effectively blocked, and any schedule around them can be played (`problem`, rule 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.calendar import counting, cpsat
from oracles.calendar.problem import Problem, Scale, build_problem
from oracles.calendar.programme import BEST, LIMIT, WORST, Solution, solve
from worlds.calendar.rules.certificate import Certificate, Extremes, Fairest, Schedule, SimplePlan, Witness
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario


def best_without_outsiders(scenario: Scenario, scale: Scale = "scored", *, limit: int = LIMIT) -> int | None:
    """Return the least total cost of any game in which outsiders move nothing; None if no such game succeeds.

    Args:
        scenario: the task.
        scale: which costs count.
        limit: the size (`programme.LIMIT`) beyond which the solver takes over.
    """
    return _least(_confined(build_problem(scenario, scale)), limit)


def outsider_saving(scenario: Scenario, scale: Scale = "scored") -> int | None:
    """Return the difference between the optimum and the best game without outsiders; None if no such game succeeds."""
    alone, together = best_without_outsiders(scenario, scale), _least(build_problem(scenario, scale), LIMIT)
    return None if alone is None or together is None else alone - together


def _least(problem: Problem, limit: int) -> int | None:
    """Return the cost of the cheapest schedule; None if there is none."""
    solution = solve(problem, limit=limit)
    if solution is None:
        best = cpsat.find_optimum(problem)
        return None if best is None else best.cost
    return solution.totals[BEST][-1] if solution.possible[-1] else None


def rounds_with_participants(problem: Problem, item: int) -> list[int]:
    """Return the rounds, from 0, whose meeting includes all participants of an item."""
    return [number for number, who in enumerate(problem.masks[: problem.meetings]) if problem.masks[item] & ~who == 0]


def _confined(problem: Problem) -> Problem:
    """Return the problem with only the items and slots that are possible without outsiders; other items close their cells."""
    rounds = [rounds_with_participants(problem, item) for item in range(problem.count)]
    movable = [item for item in range(problem.count) if rounds[item]]
    return replace(
        problem,
        ids=tuple(problem.ids[item] for item in movable),
        durations=tuple(problem.durations[item] for item in movable),
        masks=tuple(problem.masks[item] for item in movable),
        stays=tuple(problem.stays[item - problem.meetings] for item in movable if item >= problem.meetings),
        costs=problem.costs[movable],
        allowed=(problem.allowed & _reached(problem, rounds))[movable],
    )


def _reached(problem: Problem, rounds: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return an array (n, slots): True if the item can start there without outsiders; `rounds` are those that hold it.

    An item ends where a prior meeting was only if the last round that holds it is not before the first that holds the other.
    """
    reached = np.ones(problem.allowed.shape, bool)
    for prior, stays in enumerate(problem.stays, start=problem.meetings):
        leaves = min(rounds[prior], default=problem.meetings)
        for item in range(problem.count):
            if problem.conflicts[prior] >> item & 1 and max(rounds[item], default=-1) < leaves:
                earliest = max(0, stays - problem.durations[item] + 1)
                reached[item, earliest : stays + problem.durations[prior]] = False
    return reached


def schedule_greedily(problem: Problem) -> tuple[int, ...] | None:
    """Return the lowest allowed slot of each meeting in order; None if stuck."""
    return _in_order(problem, [range(problem.slots)] * problem.meetings)


def schedule_myopically(problem: Problem) -> tuple[int, ...] | None:
    """Return the cheapest allowed slot of each meeting in order, the lowest of a tie; None if stuck."""
    return _in_order(problem, np.argsort(problem.prices[: problem.meetings], axis=1, kind="stable").tolist())


def price_schedule(problem: Problem, slots: Sequence[int]) -> int | None:
    """Return the total cost of these slots of the meetings while prior meetings stay; None if that is no schedule."""
    if not problem.has_room_for(range(problem.meetings)):
        return None
    placed = _standing(problem)
    for item, slot in enumerate(slots):
        if not 0 <= slot < problem.slots or not _open(problem, placed, item, slot):
            return None
        placed[item] = slot
    return sum(int(problem.prices[item, slot]) for item, slot in enumerate(slots))


def _standing(problem: Problem) -> dict[int, int]:
    return dict(enumerate(problem.stays, start=problem.meetings))


def _open(problem: Problem, placed: dict[int, int], item: int, slot: int) -> bool:
    """Return True if an item may start in a slot beside the placed items."""
    return bool(problem.allowed[item, slot]) and not any(
        slot < at + problem.durations[other] and at < slot + problem.durations[item]
        for other, at in placed.items()
        if problem.masks[other] & problem.masks[item]
    )


def _in_order(problem: Problem, wishes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Place each meeting in the first open slot of its list of preferences, in order; None if stuck."""
    if not problem.has_room_for(range(problem.meetings)):
        return None
    placed = _standing(problem)
    for item, wished in enumerate(wishes):
        slot = next((slot for slot in wished if _open(problem, placed, item, slot)), None)
        if slot is None:
            return None
        placed[item] = slot
    return tuple(placed[item] for item in range(problem.meetings))


MAX_COSTS = 200_000
"""Maximum number of distinct costs by agent, over all states of a slot; beyond it, the solver takes over."""

Costs = tuple[int, ...]
Slots = tuple[int, ...]


def find_fairest_schedule(solution: Solution, limit: int = MAX_COSTS) -> tuple[Slots, Costs] | None:
    """Return slots and costs by agent, the smallest slots of a tie; None if there are too many costs, or no schedule."""
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
    """Return the costs by agent of all optimal schedules in which no agent pays more than `most`, with their smallest slots.

    Fairness (leximin: the largest cost of an agent, then the next) does not add up, so all optimal schedules are followed.
    """
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
    """Extend one branch by a group that starts in a slot, unless an agent pays too much."""
    for item in group:
        paid = tuple(map(add, paid, costs[item]))
        slots = (*slots[:item], slot, *slots[item + 1 :])
    if max(paid) <= most and (paid not in reached or slots < reached[paid]):
        reached[paid] = slots


@dataclass(frozen=True)
class _Known:
    """Results of either solver about schedules of all meetings."""

    slots: tuple[Sequence[int], Sequence[int]]
    """Slots of the best and of the worst schedule."""

    per_agent: tuple[Sequence[int], Sequence[int]]
    optima: int | None
    ranges: list[list[int]]
    fairest: tuple[Sequence[int], Sequence[int]]
    shown_optimum: int
    shown_least: int
    """The least shown cost of a schedule that is optimal on the scored scale."""


def certify(scenario: Scenario, *, limit: int = LIMIT) -> Certificate:
    """Return the certificate of a task.

    Args:
        scenario: the task.
        limit: the size (`programme.LIMIT`) beyond which the solver takes over.
    """
    problem = build_problem(scenario)
    shown = build_problem(scenario, "shown") if any(scored != cost for cost, scored in scenario.scale.items()) else None
    solution = solve(problem, shown, limit)
    known = _by_solver(problem, shown) if solution is None else _by_programme(problem, solution)
    count, total = counting.count_feasible(problem), counting.count_total(problem)
    return Certificate(
        **_schedules(problem, known),
        feasible=count,
        total=total,
        difficulty=None if count is None else count / total if total else 0.0,
        greedy=_bound(problem, schedule_greedily(problem)),
        myopic=_bound(problem, schedule_myopically(problem)),
        witness=_witness(scenario, problem),
        shown_optimum=known.shown_optimum if known else None,
        shown_agrees=known.shown_least == known.shown_optimum if known else None,
        **_without_outsiders(scenario, limit),
        by_subset=None if solution is None else extremes_by_subset(solution),
    )


def _without_outsiders(scenario: Scenario, limit: int) -> dict[str, Any]:
    """Return the fields for tasks with prior meetings; without any, the optimum needs no outsider."""
    if not scenario.prior:
        return {}
    return {
        "without_outsiders": best_without_outsiders(scenario, limit=limit),
        "shown_without_outsiders": best_without_outsiders(scenario, "shown", limit=limit),
    }


def extremes_by_subset(solution: Solution) -> dict[str, Extremes]:
    """Return the best and the worst schedule of each subset of the meetings, named by its ids in ascending order."""
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
    sets: list[list[int]] = [[]]
    for number in ids:
        sets += [[*chosen, number] for chosen in sets]
    return [",".join(map(str, sorted(chosen))) for chosen in sets]


def _by_programme(problem: Problem, solution: Solution) -> _Known | None:
    if not solution.possible[-1]:
        return None
    best, worst = (tuple(solution.vectors[sense, -1].tolist()) for sense in (BEST, WORST))
    fair = find_fairest_schedule(solution) or cpsat.find_fairest_schedule(problem)
    assert fair is not None
    per_agent = solution.per_agent[BEST][-1], solution.per_agent[WORST][-1]
    return _Known((best, worst), per_agent, solution.optima, solution.ranges, fair, *solution.shown)


def _by_solver(problem: Problem, shown: Problem | None) -> _Known | None:
    best, worst = cpsat.find_optimum(problem), cpsat.find_optimum(problem, worst=True)
    ranges, fair = cpsat.find_cost_ranges(problem), cpsat.find_fairest_schedule(problem)
    if best is None or worst is None or ranges is None or fair is None:
        return None
    shown_best, least = best.cost, best.cost
    if shown is not None:
        shown_optimum = cpsat.find_optimum(shown)
        assert shown_optimum is not None
        shown_best, least = shown_optimum.cost, cpsat.find_least_shown_cost(problem, shown)
    return _Known((best.slots, worst.slots), (best.per_agent, worst.per_agent), None, ranges, fair, shown_best, least)


def _schedules(problem: Problem, known: _Known | None) -> dict[str, Any]:
    if known is None:
        nothing = ("optimum", "assignment", "prior_moves", "per_agent", "ranges", "fairest", "worst", "worst_per_agent")
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
    """Return the new slots of the prior meetings that move."""
    places = zip(problem.ids[problem.meetings :], slots[problem.meetings :], problem.stays, strict=True)
    return {str(number): slot for number, slot, stays in places if slot != stays}


def _bound(problem: Problem, slots: Sequence[int] | None) -> SimplePlan | None:
    return None if slots is None else SimplePlan(cost=price_schedule(problem, slots), slots=_meetings(problem, slots))


def _witness(scenario: Scenario, problem: Problem) -> Witness | None:
    """Return the generator's schedule with its cost while prior meetings stay; None if the scenario has none."""
    slots = [scenario.witness[number] for number in problem.ids[: problem.meetings] if number in scenario.witness]
    if len(slots) < problem.meetings:
        return None
    return Witness(slots=_meetings(problem, slots), cost=price_schedule(problem, slots))


Action = dict[str, Any]
Round = dict[str, dict[int, list[Action]]]
"""`decision` and `voluntary`: agent -> its actions. Agents without actions are omitted."""


def plan_batches(scenario: Scenario, assignment: Mapping[int, int]) -> list[Round]:
    """Return the batches of every round that carry out a schedule; every displaced item moves exactly once.

    Prior meetings move in the first round with a decision, in the voluntary phase where their participants are not asked to
    decide, so they are in one slot when the round is resolved. An agent's errands take, in ascending order, the cells in which
    nothing ends; there are enough of these (`problem`, rule 3), and they are free from the first round on.

    Args:
        scenario: the task.
        assignment: meeting -> slot; a prior meeting that is not named stays, and the round of a meeting that is not named has
            no decision.

    Raises:
        ValueError: the assignment is no schedule: it puts an item outside, over a blocked errand or over another item, or
            leaves no cell for what it displaces.
    """
    items = [item for item in (*scenario.meetings, *scenario.prior) if item.id in assignment or isinstance(item, PriorMeeting)]
    places = [(item, _place(item, assignment)) for item in items]
    order = {meeting.id: number for number, meeting in enumerate(scenario.meetings) if meeting.id in assignment}
    order |= {prior.id: min(order.values(), default=0) for prior in scenario.prior}
    rounds: list[Round] = [{"decision": {}, "voluntary": {}} for _ in scenario.meetings]
    for agent in scenario.agents:
        mine = [(item, slot) for item, slot in places if agent in item.participants]
        moves = _by_round(scenario, agent, mine, order)
        for number, meeting in enumerate(scenario.meetings):
            actions = moves.get(number, [])
            if agent in meeting.participants and meeting.id in assignment:
                here = {"type": "schedule", "meeting_id": meeting.id, "slot": assignment[meeting.id]}
                rounds[number]["decision"][agent] = [here, *actions]
            elif actions:
                phase = "decision" if agent in meeting.participants else "voluntary"
                rounds[number][phase][agent] = actions
    return rounds


def _place(item: Meeting, assignment: Mapping[int, int]) -> int:
    return assignment.get(item.id, item.slot) if isinstance(item, PriorMeeting) else assignment[item.id]


def _by_round(
    scenario: Scenario, agent: int, mine: list[tuple[Meeting, int]], order: Mapping[int, int]
) -> dict[int, list[Action]]:
    """Return an agent's reschedules by round, given the final places of its items; `order` is the round of each item."""
    ends: dict[int, Meeting] = {}
    for item, slot in mine:
        for cell in range(slot, slot + item.duration):
            if cell in ends or not 0 <= cell < scenario.slots:
                raise ValueError(f"{item.item().name} cannot be at slot {slot} of agent {agent}")
            ends[cell] = item
    errands = {errand.slot: errand for errand in scenario.errands[agent]}
    spare = iter(sorted(set(range(scenario.slots)) - ends.keys() - errands.keys()))
    moves: dict[int, list[Action]] = {}
    for item, slot in mine:
        if isinstance(item, PriorMeeting) and item.slot != slot:
            moves.setdefault(order[item.id], []).append(_move(item.item().name, item.slot, slot, _reason(item, ends)))
    for item, slot in sorted(mine, key=lambda one: order[one[0].id]):
        under = [errands[cell] for cell in range(slot, slot + item.duration) if cell in errands]
        moves.setdefault(order[item.id], []).extend(_out_of_the_way(under, spare, item, agent))
    return moves


def _out_of_the_way(under: list[Errand], spare: Iterator[int], item: Meeting, agent: int) -> Iterator[Action]:
    for errand in under:
        target = next(spare, None)
        if errand.blocked or target is None:
            raise ValueError(f"#{errand.id} of agent {agent} cannot make room for {item.item().name}")
        yield _move(f"#{errand.id}", errand.slot, target, f"room for {item.item().name}")


def _reason(prior: PriorMeeting, ends: Mapping[int, Meeting]) -> str:
    """Return the justification for moving a prior meeting: the item that ends in its place on this calendar, if any."""
    over = [ends[cell] for cell in range(prior.slot, prior.slot + prior.duration) if cell in ends and ends[cell] != prior]
    return f"room for {over[0].item().name}" if over else "it moves on all its calendars"


def _move(name: str, source: int, target: int, reason: str) -> Action:
    return {"type": "reschedule", "item_id": name, "from_slot": source, "to_slot": target, "justification": reason}

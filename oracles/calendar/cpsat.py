"""Second solver (OR-Tools CP-SAT), also used if the dynamic programme has too many states.

One Boolean per item and allowed start slot; each item starts once; each cell of each agent is taken at most once. With one
worker and a fixed seed, the same model gives the same answer. Ties go to the lexicographically smallest slots by minimising
one item's slot after the other. Leximin minimises the sum of the k largest costs of agents for each k in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from oracles.calendar.problem import Problem

Slots = tuple[int, ...]
Costs = tuple[int, ...]


@dataclass(frozen=True)
class Optima:
    """Results of the solver about the optimal, or the worst, schedules of all meetings."""

    cost: int
    slots: Slots
    per_agent: Costs


def find_optimum(problem: Problem, *, worst: bool = False) -> Optima | None:
    """Return the cheapest (or `worst`) schedule, the smallest slots of a tie; None if there is none."""
    model = _Model(problem)
    cost = model.least(-model.cost if worst else model.cost)
    if cost is None:
        return None
    slots = model.smallest()
    return Optima(abs(cost), slots, costs_by_agent(problem, slots))


def find_cost_ranges(problem: Problem) -> list[list[int]] | None:
    """Return each agent's least and greatest cost over the optimal schedules; None if there is none."""
    model = _Model(problem)
    if model.least(model.cost) is None:
        return None
    bounds = []
    for agent in model.agents:
        low, high = (_Model.least(model, sense * agent, keep=False) for sense in (1, -1))
        assert low is not None
        assert high is not None
        bounds.append([low, -high])
    return bounds


def find_fairest_schedule(problem: Problem) -> tuple[Slots, Costs] | None:
    """Return the optimal schedule that is best for the agent with the highest cost, then the next; None if there is none."""
    model = _Model(problem)
    if model.least(model.cost) is None:
        return None
    for largest in range(1, problem.agents + 1):
        model.least(model.sum_of_largest(largest))
    slots = model.smallest()
    return slots, costs_by_agent(problem, slots)


def find_least_shown_cost(problem: Problem, shown: Problem) -> int:
    """Return the least shown cost of an optimal schedule, which must exist."""
    model = _Model(problem)
    model.least(model.cost)
    least = model.least(model.price(shown))
    assert least is not None
    return least


def enumerate_schedules(problem: Problem, *, cost: int | None = None, apart: bool = False) -> Iterator[Slots]:
    """Enumerate all schedules.

    Args:
        problem: the items.
        cost: only schedules that cost this much.
        apart: only schedules in which no two meetings overlap, even without common participants.
    """
    schedules: list[Slots] = []
    model = _Model(problem, apart=apart)
    if cost is not None:
        model.model.add(model.cost == cost)
    model.enumerate(lambda solver: schedules.append(model.slots(solver)))
    return iter(schedules)


def count_schedules(problem: Problem, *, apart: bool = False) -> int:
    """Count the schedules of `enumerate_schedules`, without storing them."""
    total = 0

    def one_more(_: Any) -> None:
        nonlocal total
        total += 1

    _Model(problem, apart=apart).enumerate(one_more)
    return total


def costs_by_agent(problem: Problem, slots: Slots) -> Costs:
    """Return the cost of a schedule for each agent."""
    return tuple(
        sum(int(problem.costs[item, agent, slot]) for item, slot in enumerate(slots)) for agent in range(problem.agents)
    )


class _Model:
    """The Booleans of a problem, the common constraints, and the objectives."""

    def __init__(self, problem: Problem, *, apart: bool = False) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy

        self.library: Any = cp_model
        self.problem = problem
        self.model = cp_model.CpModel()
        self.starts = [
            {slot: self.model.new_bool_var(f"x{item}_{slot}") for slot in range(problem.slots) if problem.allowed[item, slot]}
            for item in range(problem.count)
        ]
        for row in self.starts:
            self.model.add_exactly_one(row.values())
        for agent in range(problem.agents):
            mine = [item for item in range(problem.count) if problem.masks[item] >> agent & 1]
            for cell in range(problem.slots):
                self.model.add_at_most_one(self.over(cell, mine))
        for cell in range(problem.slots if apart else 0):
            self.model.add_at_most_one(self.over(cell, range(problem.meetings)))
        if not problem.has_room_for(range(problem.meetings)):
            self.model.add_bool_or([])
        self.cost = self.price(problem)
        self.agents = [self._total(problem.costs[:, agent].tolist()) for agent in range(problem.agents)]
        self.best: Slots = ()

    def over(self, cell: int, items: Any) -> list[Any]:
        """Return the Booleans that put one of these items over a cell."""
        return [
            variable
            for item in items
            for slot, variable in self.starts[item].items()
            if slot <= cell < slot + self.problem.durations[item]
        ]

    def price(self, problem: Problem) -> Any:
        """Return the total cost, at a problem's prices."""
        return self._total(problem.prices.tolist())

    def _total(self, table: list[list[int]]) -> Any:
        return sum((table[item][slot] * x for item, row in enumerate(self.starts) for slot, x in row.items()), start=0)

    def least(self, objective: Any, *, keep: bool = True) -> int | None:
        """Return the least value of an objective, and constrain the model to it if `keep`; None if the model is infeasible."""
        self.model.minimize(objective)
        solver = self._solver()
        status = solver.solve(self.model)
        if status == self.library.INFEASIBLE:
            return None
        assert status == self.library.OPTIMAL, solver.status_name(status)
        value = int(solver.value(objective))
        self.best = self.slots(solver)
        if keep:
            self.model.add(objective == value)
            self._hint()
        return value

    def smallest(self) -> Slots:
        """Return the lexicographically smallest slots of all schedules that satisfy the constraints so far."""
        for row in self.starts:
            self.least(sum(slot * x for slot, x in row.items()))
        return self.best

    def sum_of_largest(self, count: int) -> Any:
        """Return an upper bound, tight when minimised, on the sum of the largest `count` costs of agents."""
        bound = self.problem.max_cost
        level = self.model.new_int_var(0, bound, f"level{count}")
        over = [self.model.new_int_var(0, bound, f"over{count}_{agent}") for agent in range(self.problem.agents)]
        for mine, excess in zip(self.agents, over, strict=True):
            self.model.add(excess >= mine - level)
        return count * level + sum(over)

    def enumerate(self, each: Callable[[Any], None]) -> None:
        """Call `each` for every schedule that satisfies the model, with a solver that holds it."""

        class Show(self.library.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
            def on_solution_callback(self) -> None:
                each(self)

        solver = self._solver()
        solver.parameters.enumerate_all_solutions = True
        solver.solve(self.model, Show())

    def _solver(self) -> Any:
        solver = self.library.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        return solver

    def slots(self, solver: Any) -> Slots:
        """Return the schedule that a solver holds."""
        return tuple(next(slot for slot, x in row.items() if solver.value(x)) for row in self.starts)

    def _hint(self) -> None:
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for row, chosen in zip(self.starts, self.best, strict=True):
            for slot, variable in row.items():
                self.model.add_hint(variable, slot == chosen)

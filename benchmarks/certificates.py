"""Benchmark of certificates against a solver: F against enumeration, the optimum against CP-SAT, and milliseconds.

Contenders alternate on the same tasks within one run, because timings on a shared machine are meaningful only as ratios. Tasks
have the published shape (5 agents, 16 slots, 5 meetings of 3, a fifth of the errands blocked). Timing starts from a problem's
tables, and for whole certificates from a scenario. Building the solver's models is included in its time.

    python benchmarks/certificates.py [--tasks 20] [--enumerated 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from oracles.calendar import counting, cpsat
from oracles.calendar.certificate import certify
from oracles.calendar.problem import Problem, build_problem
from oracles.calendar.programme import solve
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario

AGENTS, SLOTS, MEETINGS = 5, 16, 5
SCALE = {1: 1, 10: 2, 100: 3}
LARGE = (10, 48, 12)


def scenario(seed: int, agents: int = AGENTS, slots: int = SLOTS, meetings: int = MEETINGS, density: float = 0.6) -> Scenario:
    """Return a task that has a schedule without conflicts."""
    draw = random.Random(seed)
    new = tuple(Meeting(id=number + 1, participants=tuple(sorted(draw.sample(range(agents), 3)))) for number in range(meetings))
    witness = draw.sample(range(slots), meetings)
    errands: list[tuple[Errand, ...]] = []
    for agent in range(agents):
        due = {slot for slot, meeting in zip(witness, new, strict=True) if agent in meeting.participants}
        room = min(int(density * slots), slots - len(due))
        errands.append(
            tuple(
                Errand(
                    slot=slot,
                    id=agent * slots + slot + 1,
                    cost=draw.choice(list(SCALE)),
                    blocked=slot not in due and draw.random() < 0.2,
                )
                for slot in sorted(draw.sample(range(slots), room))
            )
        )
    return Scenario(slots=slots, errands=tuple(errands), meetings=new, scale=SCALE)


def timed(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the seconds of the fastest of `repeat` calls, and the last return value."""
    times = []
    found = None
    for _ in range(repeat):
        started = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - started)
    return min(times), found


def same(what: str, ours: object, theirs: object) -> None:
    """Raise RuntimeError if two contenders disagree, since a fast wrong answer is no result."""
    if ours != theirs:
        raise RuntimeError(f"{what}: {ours} here, {theirs} from the solver")


def counts(problem: Problem) -> float:
    """Return how many times faster F is counted than enumerated."""
    mine, ours = timed(lambda: counting.count_feasible(problem), 5)
    solver, theirs = timed(lambda: cpsat.count_schedules(problem, apart=True))
    same("F", ours, theirs)
    return solver / mine


def optima(problem: Problem) -> float:
    """Return how many times faster all optima of all subsets are computed than the solver's one, with the same tie-breaking."""
    mine, ours = timed(lambda: solve(problem), 5)
    solver, theirs = timed(lambda: cpsat.find_optimum(problem))
    same("optimum", ours.totals[0][-1] if ours.possible[-1] else None, theirs and theirs.cost)
    return solver / mine


def measure(tasks: int, enumerated: int) -> dict[str, list[float]]:
    """Return each ratio for every task, and milliseconds of certificates."""
    scenarios = [scenario(seed) for seed in range(tasks)]
    problems = [build_problem(one) for one in scenarios]
    certify(scenarios[0], limit=0).document()
    found: dict[str, list[float]] = {"F": [], "optimum": [], "certificate": [], "large": []}
    for number, (one, problem) in enumerate(zip(scenarios, problems, strict=True)):
        if number < enumerated:
            found["F"].append(counts(problem))
            print(f"task {number}: F {found['F'][-1]:.0f} times as fast as enumeration", file=sys.stderr)
        found["optimum"].append(optima(problem))
        found["certificate"].append(1000 * timed(lambda one=one: certify(one).document(), 5)[0])  # type: ignore[misc]
    found["large"] = [1000 * timed(lambda seed=seed: certify(scenario(seed, *LARGE)).document())[0] for seed in range(3)]  # type: ignore[misc]
    return found


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--enumerated", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.tasks, given.enumerated)
    medians = {name: statistics.median(values) for name, values in found.items() if values}
    if given.json:
        print(json.dumps({"medians": medians, "figures": found}, indent=2))
        return
    print(f"F / enumeration by CP-SAT      {medians['F']:8.0f} times as fast (median of {len(found['F'])})")
    print(f"all optima / one by CP-SAT     {medians['optimum']:8.0f} times as fast (median of {len(found['optimum'])})")
    print(f"certificate                    {medians['certificate']:8.2f} ms (median of {len(found['certificate'])})")
    print(f"certificate, 10 x 48 x 12      {medians['large']:8.0f} ms (median of {len(found['large'])})")


if __name__ == "__main__":
    main()

"""Excess as agents see it: costs on the shown scale, against the same optimum that scores are measured against (Appendix E).

The optimum is that of the scored scale, with its tie-break; here its moves are priced as they were shown. One programme a
scenario answers for every subset of its meetings.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.packs import read_recorded
from harness.records import LONGEST_RECORD, Result
from harness.registry import Task
from oracles.calendar.packing import BEST
from oracles.calendar.problem import tables
from oracles.calendar.programme import solve
from worlds.calendar.rules.scenario import parse_scenario
from worlds.core.errors import LogError
from worlds.core.events import Noted, canonical, read_log
from worlds.core.loading import SCENARIO


def raw_excess(result: Result, task: Task | None, digest: str) -> list[float | None]:
    """What each seat paid above the optimum of what was scheduled, as shown; None where the scenario is not at hand.

    `task` is the registry's, and counts where it is the one that was played (`digest`); else the episode's own log is read.
    """
    seats = result.metrics.get("seats", [])
    scenario = _scenario(result, task if task is not None and task.digest == digest else None)
    if scenario is None:
        return [None] * len(seats)
    done = sorted(row["meeting"] for row in result.metrics["rounds"] if row["coordinated"])
    shares = shown_shares(scenario).get(tuple(done))
    if shares is None:
        return [None] * len(seats)
    return [float(max(0, seat["paid_shown"] - share)) for seat, share in zip(seats, shares, strict=True)]


@lru_cache(maxsize=256)
def shown_shares(scenario: bytes) -> Mapping[tuple[int, ...], tuple[int, ...]]:
    """For each subset of the meetings that can be scheduled, what its optimum costs each seat as shown; none if too large."""
    read = parse_scenario(scenario)
    solution = solve(tables(read))
    if solution is None:
        return {}
    problem, shown = solution.problem, tables(read, "shown")
    chosen = shown.costs[np.arange(problem.count), :, solution.vectors[BEST]]
    paid = np.where(problem.bits[:, :, None], chosen, 0).sum(axis=1).tolist()
    ids = problem.ids[: problem.meetings]
    return {
        tuple(sorted(number for place, number in enumerate(ids) if subset >> place & 1)): tuple(shares)
        for subset, shares in enumerate(paid)
        if solution.possible[subset]
    }


def _scenario(result: Result, task: Task | None) -> bytes | None:
    """The scenario that was played, out of its task's folder or of the episode's log."""
    try:
        if task is not None:
            return (task.world_folder / SCENARIO).read_bytes()
        events = read_log(read_recorded(Path(result.path), "events.jsonl", LONGEST_RECORD))
    except (OSError, LogError):
        return None
    start = next((event for event in events if isinstance(event, Noted) and event.what == "game_start"), None)
    return canonical(start.data["scenario"]) if start else None

"""Intervals for means over tasks whose sessions are alike: a two-level bootstrap, tasks first, then the sessions of each.

Votes inside a session depend on each other, and so do the sessions of a task; neither may count as independent. Each of 2,000
replicates draws as many tasks as there are, with replacement, and for every draw anew as many sessions of that task as it has,
in each condition apart; ends are the 2.5th and 97.5th percentile. With one task only sessions are drawn. The seed is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.report.statistics import Interval

REPLICATES = 2000
SEED = 20
METHOD = f"95 % intervals: two-level bootstrap, tasks then sessions (all attempts at a seed are one), {REPLICATES} replicates"

Floats = NDArray[np.float64]
Cell = Sequence[Sequence[Sequence[float]]]
"""One task: for each condition its sessions, each a row of values."""


def replicates(cells: Sequence[Cell]) -> list[Floats]:
    """For each condition, replicated means over tasks of means over sessions: one row a replicate, one column a value.

    Every task must have sessions in every condition.
    """
    rng = np.random.default_rng(SEED)
    tables = [[np.asarray(sessions, dtype=np.float64) for sessions in cell] for cell in cells]
    picks = rng.integers(0, len(tables), size=(REPLICATES, len(tables)))
    means = [np.empty((*picks.shape, sessions.shape[1])) for sessions in tables[0]]
    for place, cell in enumerate(tables):
        slots = picks == place
        for mean, sessions in zip(means, cell, strict=True):
            drawn = rng.integers(0, len(sessions), size=(int(slots.sum()), len(sessions)))
            mean[slots] = sessions[drawn].mean(axis=1)
    return [mean.mean(axis=1) for mean in means]


def interval(values: Floats) -> Interval:
    """The middle 95 % of replicated values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def enough(cells: Sequence[Cell]) -> bool:
    """Whether there is anything to draw: two tasks, or two sessions of the one in each condition."""
    return len(cells) > 1 or all(len(sessions) > 1 for cell in cells for sessions in cell)

"""Intervals of rates and of paired differences cover what they promise, where counting attempts as independent does not."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from parley.reports.board import surely_better, weighted
from parley.reports.comparison import paired_interval
from parley.statistics import rate_interval

CASES = [(33, 3, 0.5, 0.4), (33, 3, 0.9, 0.4), (33, 1, 0.9, 0.0), (33, 10, 0.5, 0.4), (12, 5, 0.8, 0.5)]
"""Tasks, attempts, true rate, and how alike attempts at one task are."""

LEAST = 0.93
Case = tuple[int, int, float, float]


def rates(case: Case, chance: np.random.Generator) -> NDArray[np.float64]:
    """The true rate of each task, by a beta distribution of this mean and intraclass correlation."""
    tasks, _, rate, alike = case
    if not alike:
        return np.full(tasks, rate)
    return chance.beta(rate * (1 / alike - 1), (1 - rate) * (1 / alike - 1), tasks)


def attempts(case: Case, draws: int, seed: int) -> Iterator[list[list[bool]]]:
    """Simulated runs: the attempts at each task."""
    chance = np.random.default_rng(seed)
    for _ in range(draws):
        yield [list(chance.random(case[1]) < rate) for rate in rates(case, chance)]


def covered(case: Case, draws: int, seed: int = 20) -> float:
    """How often the interval of a rate holds the true one."""
    ends = [rate_interval(tasks) or (1.0, 0.0) for tasks in attempts(case, draws, seed)]
    return sum(low <= case[2] <= high for low, high in ends) / draws


def covered_pairs(case: Case, draws: int) -> float:
    """How often the interval of the difference of two equal models holds 0."""
    chance, inside = np.random.default_rng(21), 0
    for _ in range(draws):
        true = rates(case, chance)
        differences = chance.binomial(case[1], true) / case[1] - chance.binomial(case[1], true) / case[1]
        low, high = paired_interval([float(value) for value in differences]) or (1.0, -1.0)
        inside += low <= 0 <= high
    return inside / draws


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover(case: Case) -> None:
    """Each simulated case is covered in .93 of 1,500 draws or more, by the interval of a rate."""
    assert covered(case, 1500) >= LEAST


@pytest.mark.property
@pytest.mark.parametrize("case", CASES)
def test_paired_intervals_cover(case: Case) -> None:
    """No difference between two equal models is covered in .93 of 400 draws or more."""
    assert covered_pairs(case, 400) >= LEAST


@pytest.mark.proof
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_in_full(case: Case) -> None:
    """Each case again on other draws, four times as many: chance moves a share of 6,000 by .003."""
    assert covered(case, 6000, seed=30) >= LEAST
    assert covered_pairs(case, 6000) >= LEAST


@pytest.mark.property
def test_attempts_taken_as_independent_do_not_cover() -> None:
    """Wald's interval over all attempts, on 33 tasks x 10, covers well below .93: the test above can fail."""
    case, inside = CASES[3], 0
    for tasks in attempts(case, 400, 20):
        values = [value for task in tasks for value in task]
        rate = sum(values) / len(values)
        inside += abs(rate - case[2]) <= 1.96 * math.sqrt(rate * (1 - rate) / len(values))

    assert inside / 400 < 0.75


@pytest.mark.property
def test_means_over_families_cover() -> None:
    """Three families of 33, 90 and 65 tasks with weights alike: the mean of their true rates is covered in .93 or more."""
    chance, inside = np.random.default_rng(22), 0
    cases: list[Case] = [(33, 3, 0.9, 0.4), (90, 3, 0.5, 0.4), (65, 1, 0.7, 0.4)]
    for _ in range(400):
        strata = [list(chance.binomial(case[1], rates(case, chance)) / case[1]) for case in cases]
        low, high = weighted(strata, 33 * 3 + 90 * 3 + 65).interval or (1.0, 0.0)
        inside += low <= 0.7 <= high

    assert inside / 400 >= LEAST


@pytest.mark.property
def test_equal_models_are_rarely_put_in_order() -> None:
    """Of 150 boards of five models that are equally good, on 60 tasks x 3, .08 or less say that any is better."""
    chance, wrong = np.random.default_rng(23), 0
    for _ in range(150):
        true = np.clip(chance.uniform(0.3, 0.7, (1, 60)) + chance.normal(0, 0.15, (5, 60)), 0, 1)
        wrong += bool(surely_better([chance.binomial(3, true) / 3]).any())

    assert wrong / 150 <= 0.08

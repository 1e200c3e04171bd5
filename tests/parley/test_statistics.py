"""The statistics of reports, against values worked out by hand, published tables and simulation."""

from __future__ import annotations

import importlib
import math
import random
from itertools import combinations
from types import ModuleType

import pytest

from parley.statistics import (
    exact_paired,
    false_discoveries,
    line_through,
    mde,
    mde_words,
    paired_p,
    pass_hat,
    positive_mean_interval,
    rank_correlation,
    rate_interval,
    share_interval,
)


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    """scipy.stats, imported by whoever runs these tests and not by all who collect them: it takes a second."""
    return importlib.import_module("scipy.stats")


@pytest.mark.parametrize(
    ("passed", "n", "k", "expected"),
    [(3, 3, 3, 1.0), (2, 3, 3, 0.0), (2, 3, 2, 1 / 3), (2, 3, 1, 2 / 3), (5, 8, 2, 10 / 28), (0, 4, 1, 0.0)],
)
def test_pass_hat(passed: int, n: int, k: int, expected: float) -> None:
    """pass^k is the share of subsets of k attempts that all succeeded."""
    attempts = [True] * passed + [False] * (n - passed)
    subsets = list(combinations(attempts, k))

    assert expected == pytest.approx(pass_hat(passed, n, k))
    assert sum(map(all, subsets)) / len(subsets) == pytest.approx(pass_hat(passed, n, k))


def test_interval_of_a_perfect_row() -> None:
    """Where every attempt succeeded the 33 tasks count, not the 99 attempts: the lower end solves p^33 = 2.5 %."""
    found = rate_interval([[True] * 3] * 33)

    assert pytest.approx((0.025 ** (1 / 33), 1.0)) == found


def test_interval_of_a_row_without_success() -> None:
    """And the upper end of a row at 0 solves (1 - p)^33 = 2.5 %."""
    assert pytest.approx((0.0, 1 - 0.025 ** (1 / 33))) == rate_interval([[False] * 3] * 33)


def test_interval_of_one_task(stats: ModuleType) -> None:
    """One task says nothing about others; its attempts are counted, exactly."""
    exact = stats.binomtest(1, 3).proportion_ci(method="exact")

    assert pytest.approx((exact.low, exact.high)) == rate_interval([[True, False, False]])


def test_interval_without_attempts() -> None:
    """Nothing counted, nothing said."""
    assert rate_interval([]) is None
    assert rate_interval([[], []]) is None


def test_attempts_that_always_agree_count_once() -> None:
    """Ten tasks, five passed: three equal attempts at each give the interval of one attempt at each, at n = 9 and t(9)."""
    quantile, n = 2.2621571628, 9
    half = quantile / (n + quantile**2) * math.sqrt(n / 4 + quantile**2 / 4)
    once, thrice = rate_interval([[True], [False]] * 5), rate_interval([[True] * 3, [False] * 3] * 5)

    assert pytest.approx((0.5 - half, 0.5 + half)) == once
    assert pytest.approx(once) == thrice


def test_tasks_of_equal_rate_are_as_good_as_attempts() -> None:
    """Without any spread between tasks every attempt counts: Wilson at n = 20, with t(9)."""
    quantile = 2.2621571628
    half = quantile / (20 + quantile**2) * math.sqrt(20 / 4 + quantile**2 / 4)

    assert pytest.approx((0.5 - half, 0.5 + half)) == rate_interval([[True, False]] * 10)


def test_many_tasks_give_plain_wilson(stats: ModuleType) -> None:
    """With one attempt at each of very many tasks the interval is the textbook's."""
    plain = stats.binomtest(600, 2000).proportion_ci(method="wilson")

    assert pytest.approx((plain.low, plain.high), abs=1e-4) == rate_interval([[True]] * 600 + [[False]] * 1400)


def test_coverage() -> None:
    """Of 400 simulated benchmarks of 33 tasks and 3 alike attempts, about 95 % have the true rate inside."""
    chance, inside = random.Random(1), 0
    for _ in range(400):
        rates = [chance.betavariate(0.75, 0.75) for _ in range(33)]
        low, high = rate_interval([[chance.random() < rate for _ in range(3)] for rate in rates]) or (1.0, 0.0)
        inside += low <= 0.5 <= high

    assert 0.92 <= inside / 400 <= 0.98


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(0, 0, 1.0), (1, 0, 1.0), (6, 0, 2 / 64), (0, 6, 2 / 64), (5, 1, 14 / 64), (3, 3, 1.0)]
)
def test_exact_paired(gained: int, lost: int, p: float) -> None:
    """McNemar's exact p counts coin tosses as lopsided as these, both ways."""
    assert p == pytest.approx(exact_paired(gained, lost))


def test_rank_correlation() -> None:
    """Order counts, not distance; nothing is said of a side that never changes."""
    assert rank_correlation([0.1, 0.2, 0.9], [3.0, 2.0, 1.0]) == pytest.approx(-1.0)
    assert rank_correlation([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 9.0]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert rank_correlation([0.5, 0.5, 0.5], [1.0, 2.0, 3.0]) is None


def test_interval_of_shares() -> None:
    """Two tasks of two shares, 1 and 1/2, 0 and 1/2: the mean is 1/2, and the residuals of the tasks sum to 1/2 and -1/2.

    Variance 2/1 (1/4 + 1/4) / 16 = 1/16, so n = (1/4) / (1/16) = 4, and with t(1) = 12.706 the centre stays 1/2.
    """
    quantile = 12.7062047362
    half = quantile / (4 + quantile**2) * math.sqrt(4 / 4 + quantile**2 / 4)

    assert share_interval([[1.0, 0.5], [0.0, 0.5]]) == pytest.approx((0.5 - half, 0.5 + half))


def test_shares_that_do_not_vary_count_what_they_are_of() -> None:
    """Three tasks at 2/3 each have no spread: Wilson at n = 3, or at the 9 meetings that they are shares of; t(2)."""
    quantile = 4.30265272991

    for n, found in ((3, share_interval([[2 / 3]] * 3)), (9, share_interval([[2 / 3]] * 3, 9))):
        centre = (2 / 3 + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
        half = quantile / (n + quantile**2) * math.sqrt(n * 2 / 9 + quantile**2 / 4)
        assert found == pytest.approx((centre - half, centre + half))


def test_intervals_of_shares_stay_within_their_range() -> None:
    """Nearly all succeeded, and none did: neither end leaves 0..1; one task says nothing of others."""
    low, high = share_interval([[1.0]] * 44 + [[2 / 3]]) or (-1.0, 2.0)

    assert 0 < low < high < 1
    assert share_interval([[0.0, 0.0]] * 10) == pytest.approx((0.0, 1 - 0.025 ** (1 / 10)))
    assert share_interval([[0.5, 0.7]]) is None


def test_interval_of_a_mean_of_costs() -> None:
    """Five tasks at 1 to 5: mean 3, error sqrt(2.5 / 5) = 0.7071, t(4) = 2.7764: 3 times or over exp(2.7764 x 0.7071 / 3)."""
    factor = math.exp(2.77644510520 * math.sqrt(0.5) / 3)

    assert factor == pytest.approx(1.9240, abs=1e-4)
    assert positive_mean_interval([[1.0], [2.0], [3.0], [4.0], [5.0]]) == pytest.approx((3 / factor, 3 * factor))


def test_seats_of_one_task_are_no_tasks() -> None:
    """Each value thrice at its task gives what it gives once: the seats of a task are alike."""
    once = positive_mean_interval([[1.0], [2.0], [3.0], [4.0], [5.0]])

    assert positive_mean_interval([[float(n)] * 3 for n in range(1, 6)]) == pytest.approx(once)


def test_mean_of_costs_without_an_interval() -> None:
    """Nought has no logarithm, and four tasks are too few."""
    assert positive_mean_interval([[0.0]] * 10) is None
    assert positive_mean_interval([[1.0], [2.0], [3.0], [4.0]]) is None
    assert positive_mean_interval([]) is None


def test_line_through_three_points() -> None:
    """(1, 1), (2, 3), (3, 2): slope 1/2, intercept 1, r = 1/2; residuals -1/2, 1, -1/2 at -1, 0, 1 from the centre.

    One point a task: 3/2 (1/4 + 0 + 1/4) = 3/4, over Sxx = 2, with t(2) = 4.3027.
    """
    found = line_through([[(1.0, 1.0)], [(2.0, 3.0)], [(3.0, 2.0)]])
    half = 4.30265272991 * math.sqrt(0.75) / 2

    assert found is not None
    assert (found.slope, found.intercept, found.correlation) == pytest.approx((0.5, 1.0, 0.5))
    assert found.slope_interval == pytest.approx((0.5 - half, 0.5 + half))


def test_line_of_one_task_and_of_one_x() -> None:
    """One task has a slope and no interval, a flat one no correlation; points above each other have no line."""
    flat = line_through([[(1.0, 2.0), (2.0, 2.0)]])

    assert flat is not None
    assert (flat.slope, flat.correlation, flat.slope_interval) == (0.0, None, None)
    assert line_through([[(2.0, 1.0)], [(2.0, 3.0)]]) is None


def test_paired_differences() -> None:
    """1, 2, 3: t = 2 sqrt(3) at two degrees, where p = 1 - t / sqrt(2 + t^2) = 1 - sqrt(12 / 14)."""
    assert paired_p([1.0, 2.0, 3.0]) == pytest.approx(1 - math.sqrt(12 / 14))
    assert (paired_p([0.0, 0.0]), paired_p([1.0, 1.0]), paired_p([1.0])) == (1.0, None, None)


def test_false_discoveries() -> None:
    """Of three: 0.01 x 3/1, and 0.03 x 3/2 = 0.045 is no more than 0.04 x 3/3."""
    assert false_discoveries([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert false_discoveries([]) == []


@pytest.mark.parametrize(
    ("tasks", "k", "points"), [(33, 1, 29), (33, 3, 18), (33, 5, 14), (33, 10, 12), (90, 1, 17), (188, 10, 4.7)]
)
def test_mde(tasks: int, k: int, points: float) -> None:
    """What a plan can tell apart, as our notes on power have it."""
    assert points == pytest.approx(100 * (mde(tasks, k) or 0), abs=0.5)


def test_mde_by_hand() -> None:
    """Two tasks, one degree of freedom: t is tan(pi (q - 1/2)), so (tan 85.5 + tan 54) sqrt((.0225 + .3) / 2)."""
    quantiles = math.tan(math.pi * 0.475) + math.tan(math.pi * 0.3)

    assert mde(2, 1) == pytest.approx(quantiles * math.sqrt(0.3225 / 2))
    assert mde_words(2, 1) == "2 tasks x 1 attempt cannot show a difference between two models"
    assert mde_words(33, 3) == "33 tasks x 3 attempts cannot show a difference of less than about 18 points between two models"


def test_one_task_tells_nothing_apart() -> None:
    """With one task there is no spread to reckon with."""
    assert mde(1, 3) is None

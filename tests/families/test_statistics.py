"""The statistics of reports, against values worked out by hand, published tables and simulation."""

from __future__ import annotations

import importlib
import math
import random
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

from harness.report.statistics import exact_paired, pass_hat, rank_correlation, rate_interval, smallest_difference


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


@pytest.mark.parametrize(
    ("tasks", "k", "points"), [(33, 1, 29), (33, 3, 18), (33, 5, 14), (33, 10, 12), (90, 1, 17), (188, 10, 4.7)]
)
def test_smallest_difference(tasks: int, k: int, points: float) -> None:
    """What a plan can tell apart, as our notes on power have it."""
    assert points == pytest.approx(100 * (smallest_difference(tasks, k) or 0), abs=0.5)


def test_one_task_tells_nothing_apart() -> None:
    """With one task there is no spread to reckon with."""
    assert smallest_difference(1, 3) is None


def test_scipy_is_asked_for_before_anything_starts(root: Path) -> None:
    """Without scipy a report names what to install, before it looks at the runs."""
    code = (
        "import sys; sys.modules['scipy'] = None; sys.argv[1:] = ['report', '/nowhere']; from harness.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    said = "harness: a report needs scipy, which is not installed\n  try: pip install 'parley-bench[report]'\n"

    assert (2, "", said) == (done.returncode, done.stdout, done.stderr)

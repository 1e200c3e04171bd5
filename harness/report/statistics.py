"""The few statistics of a report; each says what it assumes, and what is not counting comes from scipy.

1. Attempts at one task are alike and must not count as independent. The interval of a rate is Wilson's at the effective
   sample size of attempts clustered by task (Korn and Graubard 1998), with t at T - 1 degrees for T tasks. Where all attempts
   agree there is no spread to measure: then the tasks count, by Clopper and Pearson. So they do for the attempts of one task.
2. pass^k is the share of subsets of k attempts that all succeeded: unbiased, unlike the k-th power of a rate.
3. Two conditions met by the same instances are compared on the pairs that differ: McNemar's exact test.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

from harness.errors import UsageError

Interval = tuple[float, float]

METHOD = (
    "95 % intervals: Wilson at the effective sample size of attempts clustered by task, t with T - 1 degrees; "
    "Clopper-Pearson over the tasks where every attempt or none succeeded"
)
_LEVEL, _POWER = 0.95, 0.8
_BETWEEN, _WITHIN = 0.15, 0.15
"""Assumed for `smallest_difference`: the deviation of true differences over tasks, the variance of attempts at one task."""


def scipy_stats() -> Any:
    """scipy.stats, imported when a report needs it; raises UsageError that says how to get it."""
    try:
        return importlib.import_module("scipy.stats")
    except ImportError:
        raise UsageError("a report needs scipy, which is not installed", hint="pip install 'parley-bench[report]'") from None


def rate_interval(clusters: Sequence[Sequence[bool]]) -> Interval | None:
    """The 95 % interval of a success rate, from the attempts at each task; None without attempts."""
    clusters = [cluster for cluster in clusters if cluster]
    tasks, n, passed = len(clusters), sum(map(len, clusters)), sum(map(sum, clusters))
    if not n:
        return None
    if tasks == 1:
        return _exact(passed, n)
    if passed in (0, n):
        return _exact(tasks if passed else 0, tasks)
    rate = passed / n
    spread = sum((sum(cluster) - rate * len(cluster)) ** 2 for cluster in clusters)
    variance = tasks / (tasks - 1) * spread / n**2
    effective = min(n, rate * (1 - rate) / variance) if variance else n
    return _wilson(rate, scipy_stats().t.ppf((1 + _LEVEL) / 2, tasks - 1) ** 2 / effective)


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The 95 % interval of a mean over tasks, one value a task, by t; None for fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = scipy_stats().t.ppf((1 + _LEVEL) / 2, n - 1) * error
    return float(mean - half), float(mean + half)


def pass_hat(passed: int, n: int, k: int) -> float:
    """pass^k of one instance with `passed` successes in `n` attempts; n must be at least k."""
    return math.comb(passed, k) / math.comb(n, k)


def exact_paired(only_first: int, only_second: int) -> float:
    """The two-sided p of McNemar's exact test, from the pairs in which only one of two conditions succeeded."""
    discordant = only_first + only_second
    return float(scipy_stats().binomtest(only_first, discordant).pvalue) if discordant else 1.0


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rho; None where either side is the same throughout."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return float(scipy_stats().spearmanr(xs, ys).statistic)


def smallest_difference(tasks: int, k: int) -> float | None:
    """What two models must differ by to be told apart by this plan (power 80 %, paired by task); None for one task."""
    if tasks < 2:
        return None
    quantiles = sum(scipy_stats().t.ppf(q, tasks - 1) for q in ((1 + _LEVEL) / 2, _POWER))
    return float(quantiles * math.sqrt((_BETWEEN**2 + 2 * _WITHIN / k) / tasks))


def _exact(passed: int, n: int) -> Interval:
    interval = scipy_stats().binomtest(passed, n).proportion_ci(_LEVEL, method="exact")
    return float(interval.low), float(interval.high)


def _wilson(rate: float, strictness: float) -> Interval:
    """Wilson's interval, where `strictness` is the squared quantile over the sample size."""
    centre = (rate + strictness / 2) / (1 + strictness)
    half = math.sqrt(rate * (1 - rate) * strictness + strictness**2 / 4) / (1 + strictness)
    return float(centre - half), float(centre + half)

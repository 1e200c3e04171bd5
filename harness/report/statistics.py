"""The few statistics of a report; each says what it assumes, and what is not counting comes from scipy.

1. Attempts at one task are alike and must not count as independent. The interval of a rate is Wilson's at the effective
   sample size of attempts clustered by task (Korn and Graubard 1998), with t at T - 1 degrees for T tasks. Where all attempts
   agree there is no spread to measure: then the tasks count, by Clopper and Pearson. So they do for the attempts of one task.
2. pass^k is the share of subsets of k attempts that all succeeded: unbiased, unlike the k-th power of a rate.
3. Two conditions met by the same instances are compared on the pairs that differ: McNemar's exact test.
4. The interval of a mean of costs or counts, which cannot be below 0, is the t interval of its logarithm, clustered by task:
   it never leaves the range, and in simulations covers more than t cut at 0 and than a bootstrap over tasks (docs/reports.md).
5. Of scipy, intervals need `special` alone, which is there in a third of the time of `stats`; ranks are counted here, so that a
   report of rates needs no more.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import correlation, fmean
from typing import Any, NamedTuple

from harness.modules import report_library

Interval = tuple[float, float]

METHOD = (
    "95 % intervals: Wilson at the effective sample size of attempts clustered by task, t with T - 1 degrees; "
    "Clopper-Pearson over the tasks, or over the attempts at a single one, where every attempt or none succeeded"
)
BOUNDED = (
    "95 % intervals, clustered by task: Wilson at the effective sample size for shares; for the others t of the log mean, from "
    "five tasks on"
)
_FEWEST = 5
"""Tasks below which the logarithm of a mean says nothing: with two the ends may lie a factor of e^12 away from it."""

_LEVEL = 0.95


class Line(NamedTuple):
    """A least-squares line through points."""

    slope: float
    intercept: float
    correlation: float | None
    """Pearson's; None where all points have one y."""

    slope_interval: Interval | None


def scipy_stats() -> Any:
    """scipy.stats, imported when a statistic needs it: start-up does without."""
    return report_library("scipy.stats")


def rate_interval(clusters: Sequence[Sequence[bool]]) -> Interval | None:
    """The 95 % interval of a success rate, from the attempts at each task; None without attempts."""
    clusters = [cluster for cluster in clusters if cluster]
    if len(clusters) == 1:
        return exact_interval(sum(clusters[0]), len(clusters[0]))
    return share_interval(clusters)


def share_interval(clusters: Sequence[Sequence[float]], trials: int | None = None) -> Interval | None:
    """The 95 % interval of a mean of shares, each in 0..1, from those of each task; None for fewer than two tasks.

    The effective sample is never larger than `trials`, of which the shares are; unless told, each share is one.
    """
    clusters = [cluster for cluster in clusters if cluster]
    tasks, n, total = len(clusters), sum(map(len, clusters)), math.fsum(map(math.fsum, clusters))
    if tasks < 2:
        return None
    if total in (0, n):
        return exact_interval(tasks if total else 0, tasks)
    rate = total / n
    variance = _variance(clusters, rate)
    most = trials or n
    effective = min(most, rate * (1 - rate) / variance) if variance else most
    return wilson_interval(rate, student(tasks - 1) ** 2 / effective)


def positive_mean_interval(clusters: Sequence[Sequence[float]]) -> Interval | None:
    """The 95 % interval of a mean of numbers from 0 up, from those of each task; None for fewer than five tasks, and for 0.

    exp(log m +- t s / m), with s the error of the mean m clustered by task and t at T - 1 degrees: the delta method.
    """
    clusters = [cluster for cluster in clusters if cluster]
    if len(clusters) < _FEWEST or not (mean := fmean([value for cluster in clusters for value in cluster])):
        return None
    factor = math.exp(student(len(clusters) - 1) * math.sqrt(_variance(clusters, mean)) / mean)
    return mean / factor, mean * factor


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The 95 % interval of a mean over tasks, one value a task, by t; None for fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = student(n - 1) * error
    return float(mean - half), float(mean + half)


def paired_p(differences: Sequence[float]) -> float | None:
    """The two-sided p of Student's t on paired differences, one a task; 1 where all are 0, None where they do not vary else."""
    if len(differences) < 2:
        return None
    if len(set(differences)) == 1:
        return None if differences[0] else 1.0
    return float(scipy_stats().ttest_1samp(differences, 0.0).pvalue)


def false_discoveries(ps: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's q of each p among these; None for None."""
    known = [p for p in ps if p is not None]
    qs = iter(scipy_stats().false_discovery_control(known, method="bh") if known else ())
    return [None if p is None else float(next(qs)) for p in ps]


def wilson(hits: int, of: int) -> Interval | None:
    """Wilson's 95 % interval of a share of independent trials; None of none."""
    return wilson_interval(hits / of, float(_special().ndtri((1 + _LEVEL) / 2)) ** 2 / of) if of else None


def line_through(clusters: Sequence[Sequence[tuple[float, float]]]) -> Line | None:
    """Ordinary least squares through the points of all tasks; None where they have one x.

    The slope's interval is by the sandwich error clustered by task, with t at T - 1 degrees; None for fewer than two tasks.
    """
    points = [point for cluster in clusters for point in cluster]
    if len({x for x, _ in points}) < 2:
        return None
    fit = scipy_stats().linregress([x for x, _ in points], [y for _, y in points])
    centre = fmean(x for x, _ in points)
    moments = [math.fsum((x - centre) * (y - fit.intercept - fit.slope * x) for x, y in cluster) for cluster in clusters]
    spread, tasks = math.fsum((x - centre) ** 2 for x, _ in points), len(clusters)
    interval = None
    if tasks > 1:
        half = student(tasks - 1) * math.sqrt(tasks / (tasks - 1) * math.fsum(m**2 for m in moments)) / spread
        interval = float(fit.slope - half), float(fit.slope + half)
    correlation = float(fit.rvalue) if len({y for _, y in points}) > 1 else None
    return Line(float(fit.slope), float(fit.intercept), correlation, interval)


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
    return correlation(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 1 up, equal ones sharing the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def student(degrees: float, share: float = (1 + _LEVEL) / 2) -> float:
    """A quantile of Student's t: the one that a two-sided interval of 95 % needs, unless told."""
    return float(_special().stdtrit(degrees, share))


def _special() -> Any:
    """scipy.special, imported when an interval needs it."""
    return report_library("scipy.special")


def _variance(clusters: Sequence[Sequence[float]], mean: float) -> float:
    """The variance of a mean of all values, clustered: two tasks or more."""
    tasks, n = len(clusters), sum(map(len, clusters))
    spread = math.fsum(math.fsum(value - mean for value in cluster) ** 2 for cluster in clusters)
    return tasks / (tasks - 1) * spread / n**2


def exact_interval(passed: int, n: int) -> Interval:
    """Clopper and Pearson's 95 % interval, by quantiles of the beta distribution."""
    tail, quantile = (1 - _LEVEL) / 2, _special().betaincinv
    low = quantile(passed, n - passed + 1, tail) if passed else 0.0
    high = quantile(passed + 1, n - passed, 1 - tail) if passed < n else 1.0
    return float(low), float(high)


def wilson_interval(rate: float, strictness: float) -> Interval:
    """Wilson's 95 % interval, where `strictness` is the squared quantile over the sample size."""
    centre = (rate + strictness / 2) / (1 + strictness)
    half = math.sqrt(rate * (1 - rate) * strictness + strictness**2 / 4) / (1 + strictness)
    return float(centre - half), float(centre + half)

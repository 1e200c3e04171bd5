"""Statistics of reports (docs/reports.md, What is computed); everything beyond counting comes from scipy.

Attempts at one task are correlated and must not count as independent: the interval of a rate is Wilson's at the effective
sample size of attempts clustered by task (Korn and Graubard 1998), with t at T - 1 degrees of freedom for T tasks. If all
attempts agree, there is no spread to estimate; the interval is then Clopper and Pearson's.

The minimum detectable effect of a plan with T tasks that both players play, with n attempts each at every task (seeds times k),
is (t(1 - alpha/2) + t(power)) * sqrt((w^2 + 2 v / n) / T), with t at T - 1 degrees of freedom; w is the deviation of true
differences over tasks, v the variance of attempts at one task (Miller 2024, arXiv:2411.00640).

Intervals need only `scipy.special`, which imports in a third of the time of `scipy.stats`. Ranks are computed here, so that a
report does not import `scipy.stats` for them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import correlation, fmean
from typing import Any, NamedTuple

from parley.libraries import report_library

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
"""Minimum number of tasks for an interval of a log mean; with two tasks, its ends may be off by a factor of e^12."""

_LEVEL = 0.95


class Line(NamedTuple):
    """A least-squares line through points."""

    slope: float
    intercept: float
    correlation: float | None
    """Pearson's correlation; None if all points have the same y."""

    slope_interval: Interval | None


def scipy_stats() -> Any:
    """Return scipy.stats, imported on first use to keep start-up fast."""
    return report_library("scipy.stats")


def rate_interval(clusters: Sequence[Sequence[bool]]) -> Interval | None:
    """Return the 95 % interval of a success rate, from the attempts at each task; None without attempts."""
    clusters = [cluster for cluster in clusters if cluster]
    if len(clusters) == 1:
        return exact_interval(sum(clusters[0]), len(clusters[0]))
    return share_interval(clusters)


def share_interval(clusters: Sequence[Sequence[float]], trials: int | None = None) -> Interval | None:
    """Return the 95 % interval of a mean of shares, each in 0..1, grouped by task; None for fewer than two tasks.

    The effective sample size is at most `trials`, the total number of trials in the shares; by default each share is one trial.
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
    """Return the 95 % interval of a mean of nonnegative numbers grouped by task; None for fewer than five tasks or a mean of 0.

    The interval is exp(log m +- t s / m), by the delta method, with s the error of the mean m clustered by task and t at T - 1
    degrees of freedom.
    """
    clusters = [cluster for cluster in clusters if cluster]
    if len(clusters) < _FEWEST or not (mean := fmean([value for cluster in clusters for value in cluster])):
        return None
    factor = math.exp(student(len(clusters) - 1) * math.sqrt(_variance(clusters, mean)) / mean)
    return mean / factor, mean * factor


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95 % t interval of a mean over tasks, from one value per task; None for fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = student(n - 1) * error
    return float(mean - half), float(mean + half)


def paired_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of Student's t test on paired differences, one per task.

    It is 1 if all differences are 0. It is None if there are fewer than two, or if all are equal but not 0.
    """
    if len(differences) < 2:
        return None
    if len(set(differences)) == 1:
        return None if differences[0] else 1.0
    return float(scipy_stats().ttest_1samp(differences, 0.0).pvalue)


def false_discoveries(ps: Sequence[float | None]) -> list[float | None]:
    """Return Benjamini and Hochberg's q of each p value; None stays None."""
    known = [p for p in ps if p is not None]
    qs = iter(scipy_stats().false_discovery_control(known, method="bh") if known else ())
    return [None if p is None else float(next(qs)) for p in ps]


def wilson(hits: int, of: int) -> Interval | None:
    """Return Wilson's 95 % interval of a share of independent trials; None without trials."""
    return wilson_interval(hits / of, float(_special().ndtri((1 + _LEVEL) / 2)) ** 2 / of) if of else None


def line_through(clusters: Sequence[Sequence[tuple[float, float]]]) -> Line | None:
    """Return the ordinary least-squares line through the points of all tasks; None if they have the same x.

    The slope's interval uses the sandwich error clustered by task, with t at T - 1 degrees of freedom; it is None for fewer
    than two tasks.
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
    """Return pass^k of one instance with `passed` successes in `n` attempts; n must be at least k."""
    return math.comb(passed, k) / math.comb(n, k)


def exact_paired(only_first: int, only_second: int) -> float:
    """Return the two-sided p of McNemar's exact test, from the pairs in which only one of two conditions succeeded."""
    discordant = only_first + only_second
    return float(scipy_stats().binomtest(only_first, discordant).pvalue) if discordant else 1.0


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Return Spearman's rho; None if either side is constant."""
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    return correlation(_ranks(xs), _ranks(ys))


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1 up; equal values share their mean rank."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def student(degrees: float, share: float = (1 + _LEVEL) / 2) -> float:
    """Return a quantile of Student's t, by default the one for a two-sided 95 % interval."""
    return float(_special().stdtrit(degrees, share))


def _special() -> Any:
    """Return scipy.special, imported on first use."""
    return report_library("scipy.special")


def _variance(clusters: Sequence[Sequence[float]], mean: float) -> float:
    """Return the clustered variance of the mean of all values, for two tasks or more."""
    tasks, n = len(clusters), sum(map(len, clusters))
    spread = math.fsum(math.fsum(value - mean for value in cluster) ** 2 for cluster in clusters)
    return tasks / (tasks - 1) * spread / n**2


def exact_interval(passed: int, n: int) -> Interval:
    """Return Clopper and Pearson's 95 % interval, by quantiles of the beta distribution."""
    tail, quantile = (1 - _LEVEL) / 2, _special().betaincinv
    low = quantile(passed, n - passed + 1, tail) if passed else 0.0
    high = quantile(passed + 1, n - passed, 1 - tail) if passed < n else 1.0
    return float(low), float(high)


def wilson_interval(rate: float, strictness: float) -> Interval:
    """Return Wilson's 95 % interval; `strictness` is the squared quantile over the sample size."""
    centre = (rate + strictness / 2) / (1 + strictness)
    half = math.sqrt(rate * (1 - rate) * strictness + strictness**2 / 4) / (1 + strictness)
    return float(centre - half), float(centre + half)


BETWEEN, WITHIN = 0.15, 0.15
"""Defaults without measurements: the deviation of true differences over tasks, and the variance of attempts at one task."""


def mde(
    tasks: int, attempts: int, *, power: float = 0.8, alpha: float = 0.05, between: float = BETWEEN, within: float = WITHIN
) -> float | None:
    """Return the minimum detectable difference of a plan, in 0..1; None for fewer than two tasks.

    `attempts` are seeds times k at each task. Pass the tasks and attempts of the run at hand, never those of the registry. A
    value above 1 means that the plan cannot detect any difference.
    """
    if tasks < 2:
        return None
    quantiles = student(tasks - 1, 1 - alpha / 2) + student(tasks - 1, power)
    return float(quantiles * math.sqrt((between**2 + 2 * within / attempts) / tasks))


def mde_words(tasks: int, attempts: int) -> str:
    """Return a sentence about the smallest difference that this plan can detect."""
    seen = mde(tasks, attempts)
    size = "" if seen is None or seen >= 1 else f" of less than about {100 * seen:.0f} points"
    one = "task x" if tasks == 1 else "tasks x"
    tries = "attempt" if attempts == 1 else "attempts"
    return f"{tasks} {one} {attempts} {tries} cannot show a difference{size} between two models"

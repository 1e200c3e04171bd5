"""Ranks of models that played the same tasks, over families of equal weight, with intervals that hold for all models at once.

1. A model's figure is the unweighted mean over families of its mean over tasks. Its standard error has the same weights:
   sqrt(sum of squared errors) / F. Its interval is Wilson's at the sample size that this error stands for, with t at
   Satterthwaite's degrees.
2. Intervals of ranks (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1)): with simultaneous intervals
   of all paired differences, a model's rank is at least 1 + those that are surely better, and at most all less those that are
   surely worse. All ranks lie in their intervals together with 95 %. The simultaneous quantile is of the largest |t| over all
   pairs, drawn from the covariance of the models over tasks (Hothorn, Bretz and Westfall 2008).
3. P(rank <= r) resamples tasks within families, the same ones for all models, and breaks ties by chance. It says how much the
   order depends on which tasks were drawn; it is no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.report.statistics import Interval, exact_interval, student, wilson_interval

DRAWS, SEED, ALPHA = 4_000, 20, 0.05

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Strata = Sequence[Floats]
"""For each family models x tasks: the mean of each model at each task."""


class Weighted(NamedTuple):
    """A mean over families with its standard error, of the same weights."""

    mean: float
    error: float | None
    """None where a family has one task."""

    interval: Interval | None


def weighted(strata: Sequence[Sequence[float]], trials: int) -> Weighted:
    """One model's figure, in 0..1, from its task means in each family, of so many episodes.

    The interval is Wilson's at the effective sample size that the error stands for, never more than `trials`.
    """
    values = [np.asarray(tasks, dtype=np.float64) for tasks in strata]
    mean, fewest = float(np.mean([tasks.mean() for tasks in values])), min(map(len, values))
    if fewest < 2:
        return Weighted(mean, None, None)
    parts = np.array([tasks.var(ddof=1) / len(tasks) for tasks in values]) / len(values) ** 2
    error = float(np.sqrt(parts.sum()))
    if not error:
        whole = mean in {0.0, 1.0}
        return Weighted(mean, error, exact_interval(fewest * int(mean), fewest) if whole else None)
    degrees = float(parts.sum() ** 2 / sum(part**2 / (len(tasks) - 1) for part, tasks in zip(parts, values, strict=True)))
    effective = min(trials, mean * (1 - mean) / error**2)
    return Weighted(mean, error, wilson_interval(mean, student(degrees) ** 2 / effective))


def rank_intervals(strata: Strata) -> list[tuple[int, int]]:
    """The first and the last rank that each model may have, for all of them at once with 95 %."""
    models = len(strata[0])
    if any(tasks.shape[1] < 2 for tasks in strata):
        return [(1, models)] * models
    better = surely_better(strata)
    return [(1 + int(better[:, model].sum()), models - int(better[model].sum())) for model in range(models)]


def surely_better(strata: Strata) -> Flags:
    """Which model is better than which, at a level that holds for all pairs at once."""
    means = _means(strata)
    gaps = means[:, None] - means[None, :]
    covariance = sum(np.cov(tasks, ddof=1).reshape(len(means), -1) / tasks.shape[1] for tasks in strata) / len(strata) ** 2
    spread = np.diag(covariance)
    errors = np.sqrt(np.clip(spread[:, None] + spread[None, :] - 2 * covariance, 0.0, None))
    known = errors > 1e-9
    quantile = _largest_t(covariance, errors, known, min(tasks.shape[1] for tasks in strata) - 1)
    studied = np.divide(gaps, errors, out=np.zeros_like(gaps), where=known)
    return np.asarray((studied > quantile) | _constant(strata, gaps, known), dtype=np.bool_)


def rank_shares(strata: Strata) -> Floats:
    """For each model the share of resamples in which its rank is at most 1, 2, ...; one row a model."""
    rng = np.random.default_rng(SEED)
    models = len(strata[0])
    means = np.zeros((DRAWS, models))
    for tasks in strata:
        picks = rng.integers(0, tasks.shape[1], size=(DRAWS, tasks.shape[1]))
        counts = np.apply_along_axis(np.bincount, 1, picks, minlength=tasks.shape[1])
        means += counts @ tasks.T / tasks.shape[1] / len(strata)
    means = np.round(means, 9) + rng.uniform(0, 1e-10, size=means.shape)
    ranks = (-means).argsort(axis=1).argsort(axis=1)
    return np.stack([(ranks <= rank).mean(axis=0) for rank in range(models)], axis=1)


def _means(strata: Strata) -> Floats:
    return np.asarray(np.mean([tasks.mean(axis=1) for tasks in strata], axis=0), dtype=np.float64)


def _largest_t(covariance: Floats, errors: Floats, known: Flags, degrees: int) -> float:
    """The 95 % quantile of the largest |t| over all pairs."""
    if not known.any():
        return np.inf
    rng = np.random.default_rng(SEED)
    values, vectors = np.linalg.eigh(covariance)
    drawn = rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T
    drawn /= np.sqrt(rng.chisquare(degrees, size=(DRAWS, 1)) / degrees)
    first, second = np.nonzero(np.triu(known))
    largest = np.abs((drawn[:, first] - drawn[:, second]) / errors[first, second]).max(axis=1)
    return float(np.quantile(largest, 1 - ALPHA))


def _constant(strata: Strata, gaps: Floats, known: Flags) -> Flags:
    """Pairs whose difference is one number at all tasks: better by the sign-flip test, at Bonferroni's level."""
    tasks, models = sum(one.shape[1] for one in strata), len(gaps)
    enough = 2.0 ** (1 - tasks) <= ALPHA / max(1, models * (models - 1) / 2)
    return np.asarray((gaps > 1e-9) & ~known & enough, dtype=np.bool_)

"""Means over families and intervals of ranks, by hand; rank shares against what resampling must give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parley.reports.board import rank_intervals, rank_shares, surely_better, weighted


def test_families_weigh_the_same() -> None:
    """Two tasks at 0 and 1, four tasks at .5, .5, 1, 0: mean .5, error sqrt(.5 / 2 + (1 / 6) / 4) / 2 with the same weights."""
    figure = weighted([[0.0, 1.0], [0.5, 0.5, 1.0, 0.0]], 6)

    assert figure.mean == pytest.approx(0.5)
    assert figure.error == pytest.approx(math.sqrt(0.25 + 1 / 24) / 2)
    uneven = weighted([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0]], 6)
    assert uneven.mean == pytest.approx(0.375)


@pytest.mark.property
def test_one_family_is_the_clustered_error() -> None:
    """With one family the error is that of an intercept clustered by task, by statsmodels."""
    import statsmodels.api as sm  # noqa: PLC0415 - 2 s, and only here

    chance = np.random.default_rng(1)
    attempts = chance.integers(0, 2, size=(20, 3)).astype(float)
    fit = sm.OLS(attempts.ravel(), np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(20), 3)}, use_t=True
    )

    assert weighted([list(attempts.mean(axis=1))], 60).error == pytest.approx(fit.bse[0], rel=0.02)


def test_no_spread_and_one_task() -> None:
    """All tasks at 1: Clopper-Pearson's over the fewer tasks of a family; one task: no interval."""
    assert weighted([[1.0] * 5, [1.0] * 9], 14).interval == pytest.approx((0.025 ** (1 / 5), 1.0))
    assert weighted([[0.5], [0.2, 0.4]], 3)[1:] == (None, None)


@pytest.mark.property
def test_two_models_are_a_paired_t_test() -> None:
    """With two models the largest |t| is that of one pair: better exactly where the paired t test says so."""
    from scipy import stats  # noqa: PLC0415 - 2 s, and only here

    chance = np.random.default_rng(4)
    for shift in (0.0, 0.05, 0.1, 0.15, 0.3):
        second = chance.random(40)
        first = second + chance.normal(shift, 0.3, 40)
        p = stats.ttest_rel(first, second).pvalue
        better = surely_better([np.array([first, second])])
        assert (p < 0.05) == bool(better.any()) or 0.045 < p < 0.055


def test_ranks_by_hand() -> None:
    """One model at 1, two that share ten tasks, one at 0: the first is first, the last last, the two are 2-3."""
    halves = [np.array([1.0] * 10 + [0.0] * 10), np.array([0.0] * 10 + [1.0] * 10)]
    strata = [np.array([np.ones(20), *halves, np.zeros(20)])]

    assert rank_intervals(strata) == [(1, 1), (2, 3), (2, 3), (4, 4)]
    assert rank_intervals([tasks[:, :1] for tasks in strata]) == [(1, 4)] * 4


def test_rank_shares_of_ties_and_of_certainty() -> None:
    """Two alike share the first rank by halves; a third that is worse everywhere is third always."""
    shares = rank_shares([np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [-1.0, 0.0, 0.0]])])

    assert shares[0] == pytest.approx([0.5, 1.0, 1.0], abs=0.03)
    assert list(shares[2]) == [0.0, 0.0, 1.0]

"""Paired comparisons: intervals, the sign-flip test and Holm's method by hand, and by statsmodels and evalci beside ours."""

from __future__ import annotations

import random

import numpy as np
import pytest

from parley.reports.comparison import holm, paired_interval, seen, sign_flip
from parley.statistics import exact_paired


def drawn(seed: int, tasks: int) -> list[float]:
    """Task differences as three attempts a side make them."""
    chance = random.Random(seed)
    return [chance.randint(-3, 4) / 3 / 2 for _ in range(tasks)]


def test_interval_of_two_tasks() -> None:
    """Differences .2 and .4: mean .3, error .1, t at one degree 12.706, cut at 1."""
    low, high = paired_interval([0.2, 0.4]) or (0, 0)

    assert (low, high) == (pytest.approx(0.3 - 12.7062 * 0.1, abs=1e-4), 1.0)
    assert paired_interval([0.3]) is None


def test_interval_without_spread() -> None:
    """Nothing differs on ten tasks: none of ten leaves 1 - .025^(1/10) = .308 that may, by up to 1."""
    assert paired_interval([0.0] * 10) == pytest.approx((-0.3085, 0.3085), abs=1e-4)
    assert paired_interval([1.0] * 10) == pytest.approx((1 - 2 * 0.3085, 1.0), abs=1e-4)


def test_sign_flip_by_hand() -> None:
    """Of eight patterns of .1, .2, .3 only two are as far from 0 as all alike; zeros change nothing, one task nothing."""
    assert sign_flip([0.1, 0.2, 0.3]) == pytest.approx(2 / 8)
    assert sign_flip([0.1, 0.0, 0.2, 0.3, 0.0]) == pytest.approx(2 / 8)
    assert sign_flip([-0.1, 0.2, 0.3]) == pytest.approx(4 / 8)
    assert sign_flip([0.5] * 20) == pytest.approx(2.0**-19)
    assert (sign_flip([0.0, 0.0]), sign_flip([0.7])) == (1.0, None)


def test_sign_flip_around_an_allowed_drop() -> None:
    """Moved by .2, differences of .1, 0, -.1 become .3, .2, .1."""
    assert sign_flip([0.1, 0.0, -0.1], -0.2) == pytest.approx(2 / 8)


def test_holm_by_hand() -> None:
    """Three p: .01 x 3, then .03 x 2, then .04 x 1 but no less than the one before."""
    assert holm([0.01, 0.04, 0.03, None]) == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06), None]


def test_what_was_seen() -> None:
    """Differences of 0 and .2: error .1 at one degree, so (tan 85.5 + tan 54 degrees) times that."""
    assert seen([0.0, 0.2]) == pytest.approx(0.1 * (12.7062 + 1.37638), abs=1e-4)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(3))
def test_statsmodels_clusters_alike(seed: int) -> None:
    """Ours is the interval of an intercept with errors clustered by task, over all pairs of all seeds."""
    import statsmodels.api as sm  # noqa: PLC0415 - 2 s, and only here

    chance = np.random.default_rng(seed)
    pairs = chance.integers(-2, 4, size=(17, 4)) / 4
    tasks = np.repeat(np.arange(17), 4)
    fit = sm.OLS(pairs.ravel(), np.ones(pairs.size)).fit(cov_type="cluster", cov_kwds={"groups": tasks}, use_t=True)

    assert paired_interval(list(pairs.mean(axis=1))) == pytest.approx(fit.conf_int()[0], abs=1e-3)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(3))
def test_scipy_and_evalci_flip_alike(seed: int) -> None:
    """On few tasks the exact p of evalci, on many its drawn one to within chance."""
    import evalci  # noqa: PLC0415 - 2 s, and only here

    few, many = drawn(seed, 9), drawn(seed, 60)
    theirs = [evalci.compare(some, np.zeros(len(some)), method="permutation", random_state=1).p_value for some in (few, many)]

    assert sign_flip(few) == pytest.approx(theirs[0], abs=1e-9)
    assert sign_flip(many) == pytest.approx(theirs[1], abs=0.02)


def test_mcnemar_by_hand() -> None:
    """1 against 6 discordant pairs: 2 (1 + 7) / 128."""
    assert exact_paired(1, 6) == pytest.approx(16 / 128)


@pytest.mark.property
def test_mcnemar_of_three() -> None:
    """Agree with statsmodels, evalci and the binomial test."""
    import evalci  # noqa: PLC0415 - 2 s, and only here
    from scipy import stats  # noqa: PLC0415 - 2 s, and only here
    from statsmodels.stats.contingency_tables import mcnemar  # noqa: PLC0415 - 2 s, and only here

    first, second = np.array([1] * 4 + [1] + [0] * 6), np.array([1] * 4 + [0] + [1] * 6)

    assert mcnemar([[4, 1], [6, 0]], exact=True).pvalue == pytest.approx(16 / 128)
    assert evalci.compare(first, second, method="mcnemar").p_value == pytest.approx(16 / 128)
    assert stats.binomtest(1, 7).pvalue == pytest.approx(16 / 128)


@pytest.mark.property
def test_holm_of_statsmodels() -> None:
    """Adjusted p of statsmodels, with two alike."""
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415 - 2 s, and only here

    ps = [0.02, 0.5, 0.001, 0.03, 0.03]

    assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))

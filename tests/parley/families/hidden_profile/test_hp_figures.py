"""Figures behind the tables of the hidden-profile family, against definitions worked out by hand and enumerated draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest

from parley.families.hidden_profile import arms
from tests.parley.families.hidden_profile.tabled import of, seen, session, table


@pytest.mark.parametrize(
    ("pre", "post", "full", "part", "flag"),
    [
        (0.0, 0.5, 1.0, 0.5, True),
        (0.0, 0.4, 1.0, 0.4, False),
        (0.0, 0.8, 0.8, 1.0, False),
        (0.5, 0.5, 0.55, None, False),
        (0.9, 1.0, 0.85, None, True),
        (0.5, 0.25, 0.75, -1.0, False),
    ],
)
def test_recovered_and_strong(pre: float, post: float, full: float, part: float | None, flag: bool) -> None:
    """The bounds of the definitions are outside; where full information helps nobody nothing can be recovered."""
    found = arms.Figures(pre, post, full)

    assert arms.recovered(found) == (None if part is None else pytest.approx(part))
    assert arms.strong(found) is flag


def test_session_that_broke_off_is_wrong_for_all_its_seats() -> None:
    """A vote that was never held counts as wrong, and the session is counted."""
    row = table(seen(of(session("a", "000", "111"), session("a", "111", ""))), "accuracy").rows[0]

    assert (row["pre"], row["post"], row["broken"]) == (0.5, 0.5, 1)


def test_fisher_is_exact_over_votes() -> None:
    """The p is the chance of tables as unlikely as the votes', worked out from binomials."""
    before, after = session("a", "1" + 9 * "0", ""), session("a", "", 11 * "1" + 3 * "0")
    after = after.model_copy(update={"metrics": {**after.metrics, "seats": [{}] * 14}})
    chances = [math.comb(10, k) * math.comb(14, 12 - k) / math.comb(24, 12) for k in range(11)]

    assert arms.fisher(([before], "before"), ([after], "after")) == pytest.approx(
        sum(chance for chance in chances if chance <= chances[1] * (1 + 1e-9))
    )
    assert arms.fisher(([], "before"), ([after], "after")) is None


def exact_deviation(cells: Sequence[Sequence[float]]) -> float:
    """The standard deviation of the two-level bootstrap of a mean, from all that can be drawn in one slot."""
    slot = [
        (fmean(drawn), 1 / len(cells) / len(mine) ** len(mine))
        for mine in cells
        for drawn in itertools.product(mine, repeat=len(mine))
    ]
    mean = sum(value * chance for value, chance in slot)
    return math.sqrt(sum((value - mean) ** 2 * chance for value, chance in slot) / len(cells))


def test_bootstrap_draws_tasks_and_then_sessions() -> None:
    """The spread of replicates is that of the enumerated two-level draw, and more than that of tasks or sessions alone."""
    cells = [[0.0, 1.0, 1.0], [0.0, 0.25], [1.0, 1.0, 0.75, 0.0]]
    (drawn,) = arms.replicates([[[[value] for value in mine]] for mine in cells])
    means = [fmean(mine) for mine in cells]

    assert float(np.std(drawn)) == pytest.approx(exact_deviation(cells), rel=0.05)
    assert exact_deviation(cells) > 1.1 * float(np.std(means)) / math.sqrt(3)
    assert float(np.mean(drawn)) == pytest.approx(fmean(means), abs=0.02)
    assert np.array_equal(drawn, arms.replicates([[[[value] for value in mine]] for mine in cells])[0])


def test_bootstrap_keeps_conditions_of_a_task_together() -> None:
    """Two conditions that differ between tasks but not inside them have no spread in their difference."""
    ours, theirs = arms.replicates([[[[0.0]], [[0.5]]], [[[0.5]], [[1.0]]]])

    assert arms.interval(theirs[:, 0] - ours[:, 0]) == (0.5, 0.5)
    assert arms.interval(ours[:, 0]) == (0.0, 0.5)


def test_one_session_has_no_interval() -> None:
    """Nothing can be drawn from one session of one task; a second one will do."""
    single = table(seen(of(session("a", "000", "111"))), "accuracy").rows[0]
    double = table(seen(of(session("a", "000", "111"), session("a", "000", "000"))), "accuracy").rows[0]

    assert "post_interval" not in single
    assert double["post_interval"] == (0.0, 1.0)


def test_attempts_at_one_deal_are_one_session() -> None:
    """Two attempts at a seed share its deal: they say no more of other deals than one does, and count once beside another."""
    attempts = [session("a", "000", "111"), session("a", "000", "000")]
    alone = table(seen(of(*attempts, seeds=(0, 0))), "accuracy").rows[0]
    beside = table(seen(of(*attempts, session("a", "000", "111"), seeds=(0, 0, 1))), "accuracy").rows[0]

    assert "post_interval" not in alone
    assert beside["post_interval"] == (0.5, 1.0)

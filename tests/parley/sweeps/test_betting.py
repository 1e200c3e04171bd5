"""The bet that decides early: capitals by hand, its two guarantees by simulation, and the plan that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.errors import UsageError
from parley.sweeps.early_stopping import SHARES, Decision, Until, bet, confidence_sequence, planned, shuffled

DRAWS = 500


def test_capital_by_hand() -> None:
    """At 1 a gambler with share s gets 1 + s, or 1 - s: 1.5 and .5 on average; then at .5 the first (1 + s)(1 + s / 2)."""
    one, two = bet([1.0]), bet([1.0, 0.5])
    mean_square = sum(share**2 for share in SHARES) / len(SHARES)

    assert (one.first, one.second) == (pytest.approx(1.5), pytest.approx(0.5))
    assert two.first == pytest.approx(1 + 1.5 * 0.5 + mean_square / 2)
    assert one.e_value == pytest.approx(0.75)
    assert bet([]).e_value == 0.5


def test_who_wins() -> None:
    """Five sure tasks are not enough for .05, twelve are, and for the side that won them."""
    assert bet([1.0] * 5).winner(0.05) is None
    assert [bet([sign] * 12).winner(0.05) for sign in (1.0, -1.0)] == [0, 1]
    assert bet([1.0, -1.0] * 50).winner(0.05) is None


def test_sequence_and_decision_agree() -> None:
    """The bet decides exactly when its confidence sequence leaves 0 out, and the sequence holds the mean of what was seen."""
    for differences in ([0.3] * 20, [0.3] * 60, [-0.5, 0.25] * 70, [0.0] * 80):
        low, high = confidence_sequence(differences, 0.05)
        assert (low > 0 or high < 0) == (bet(differences).winner(0.05) is not None)
        assert low < math.fsum(differences) / len(differences) < high
    assert confidence_sequence([], 0.05) == (-1.0, 1.0)


def simulated(tasks: int, k: int, true: float, draws: int, seed: int) -> NDArray[np.float64]:
    """Task differences of two models whose true difference varies by .15 over tasks: one row a run."""
    chance = np.random.default_rng(seed)
    ease, gap = chance.uniform(0.3, 0.7, (draws, tasks)), chance.normal(true, 0.15, (draws, tasks))
    first, second = (np.clip(ease + sign * gap / 2, 0, 1) for sign in (1, -1))
    return np.asarray(chance.binomial(k, first) / k - chance.binomial(k, second) / k)


def played(differences: NDArray[np.float64], alpha: float = 0.05) -> tuple[float, float]:
    """Play the bet of `early_stopping` for many runs; return the shares of runs that decide and of tasks played."""
    capitals = [
        np.exp(np.cumsum(np.log1p(sign * differences[:, :, None] * np.array(SHARES)), axis=1)).mean(axis=2) for sign in (1, -1)
    ]
    decided = np.maximum(*capitals) / 2 >= 1 / alpha
    ends = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, differences.shape[1])
    return float(decided.any(axis=1).mean()), float(ends.mean() / differences.shape[1])


def stop(differences: list[float]) -> int:
    """The number of tasks after which a run ends."""
    ends = range(1, len(differences) + 1)
    return next((end for end in ends if bet(differences[:end]).winner(0.05) is not None), len(differences))


def test_many_runs_are_reckoned_as_one_is() -> None:
    """The simulation below stops each run at the task at which `bet` decides it."""
    for row in simulated(80, 3, 0.3, 5, 3):
        assert played(row[None, :])[1] == pytest.approx(stop(list(row)) / 80)


@pytest.mark.property
@pytest.mark.parametrize(("tasks", "k"), [(188, 3), (218, 3), (60, 1)])
def test_alpha_holds_however_often_anybody_looks(tasks: int, k: int) -> None:
    """Of 2,000 runs of two equal players, looked at after each task, no more than .05 decide."""
    assert np.mean([played(simulated(tasks, k, 0.0, DRAWS, seed))[0] for seed in range(4)]) <= 0.05


@pytest.mark.property
@pytest.mark.parametrize("tasks", [188, 218])
def test_a_clear_difference_is_decided_early(tasks: int) -> None:
    """A true difference of .15 is decided in nine runs of ten, after no more than .6 of the tasks on average."""
    decided, share = played(simulated(tasks, 3, 0.15, DRAWS, 7))

    assert decided >= 0.9
    assert share <= 0.6


@pytest.mark.property
def test_the_sequence_covers_where_the_mean_does_not() -> None:
    """Of runs stopped by the bet, .95 or more have the true difference in their interval; their means are too large."""
    inside, means = [], []
    for row in simulated(188, 3, 0.15, 40, 11):
        seen = list(row[: stop(list(row))])
        low, high = confidence_sequence(seen, 0.05)
        inside.append(low <= 0.15 <= high)
        means.append(math.fsum(seen) / len(seen))

    assert np.mean(inside) >= 0.95
    assert np.mean(means) > 0.16


PARTS = {"model=openai-gpt-5": {"openai/gpt-5", "gpt-5"}, "model=imap-2": {"imap-2"}}
TASKS = [f"t{number}" for number in range(60)]


def test_names_with_hyphens() -> None:
    """gpt-5-imap-2 splits in one way into two players of the run."""
    until = planned("gpt-5-imap-2", PARTS, 0.05, TASKS)

    assert (until.first, until.second) == ("model=openai-gpt-5", "model=imap-2")
    assert planned("imap-2-openai/gpt-5", PARTS, 0.1, TASKS).first == "model=imap-2"


def test_the_order_is_of_all_tasks_and_of_no_rank() -> None:
    """An order is a permutation that depends on names alone, not on how they were listed."""
    assert sorted(shuffled(TASKS)) == sorted(TASKS)
    assert shuffled(TASKS) == shuffled(TASKS[::-1]) != tuple(TASKS)


@pytest.mark.parametrize(
    ("text", "parts", "alpha", "tasks", "said"),
    [
        ("gpt-5-imap-2", PARTS, 0.05, TASKS[:59], "--until needs 60 tasks, and there are 59"),
        ("gpt-5-imap", PARTS, 0.05, TASKS, "must name the two players as A-B, not 'gpt-5-imap'; they are gpt-5 and imap-2"),
        ("gpt-5-gpt-5", PARTS, 0.05, TASKS, "must name the two players"),
        ("gpt-5-imap-2", {**PARTS, "x": {"x"}}, 0.05, TASKS, "decides between two players, and this run has 3"),
        ("gpt-5-imap-2", PARTS, 1.0, TASKS, "--alpha must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_decided_early(text: str, parts: dict[str, set[str]], alpha: float, tasks: list[str], said: str) -> None:
    """Too few tasks, names that are no players, three players and an alpha that is none are refused by what is wrong."""
    with pytest.raises(UsageError, match="--") as refused:
        planned(text, parts, alpha, tasks)

    assert said in str(refused.value)


def test_a_path_grows_by_one() -> None:
    """Each step holds the e-value after it; what is left is in the frozen order."""
    decision = Decision(until=Until(first="a", second="b", order=("x", "y", "z"))).after("y", 1.0)

    assert decision.left == ["x", "z"]
    assert decision.path[0].e_value == pytest.approx(0.75)
    assert (decision.winner, decision.share) == (None, pytest.approx(1 / 3))

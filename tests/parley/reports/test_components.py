"""Variance components by hand and by simulation, and what more tasks, seeds or attempts would buy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.errors import UsageError
from parley.families.contract.report import report
from parley.reports.components import Components, split
from parley.reports.evidence import Evidence

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
S, W = "SUCCESS", "WRONG_VALUE"


def test_two_levels_by_hand() -> None:
    """Tasks at 0 0 and 1 1 with one seed: attempts do not vary, so 2 (1/2)^2 x 2 / 1 over 2 attempts is the tasks' 1/2."""
    parts = split({"a": [[0.0, 0.0]], "b": [[1.0, 1.0]]})

    assert parts == Components(pytest.approx(0.5), None, 0.0, 2, 1.0, 2.0)  # type: ignore[arg-type]


def test_three_levels_by_hand() -> None:
    """Seeds 0 2 and 4 6 (two tasks), attempts one off: mean squares 32, 4, 2, so tasks 28 / 4, seeds 2 / 2, attempts 2."""
    parts = split({"a": [[-1.0, 1.0], [1.0, 3.0]], "b": [[3.0, 5.0], [5.0, 7.0]]})
    assert parts is not None

    assert (parts.tasks, parts.seeds, parts.attempts) == (pytest.approx(7.0), pytest.approx(1.0), pytest.approx(2.0))
    assert parts.now == pytest.approx(math.sqrt((7 + 1 / 2 + 2 / 4) / 2))


@pytest.mark.property
def test_mean_squares_of_statsmodels() -> None:
    """The mean squares behind the components of a balanced nest are those of statsmodels' analysis of variance."""
    import statsmodels.api as sm  # noqa: PLC0415 - 2 s, and only here

    chance = np.random.default_rng(5)
    values = chance.normal(0, 1, (6, 3, 2)) + chance.normal(0, 1, (6, 3, 1)) + chance.normal(0, 1, (6, 1, 1))
    by_seed, by_task = (sm.OLS(values.ravel(), np.repeat(np.eye(n), 36 // n, axis=0)).fit() for n in (18, 6))
    attempts = by_seed.ssr / 18
    seeds = (by_task.ssr - by_seed.ssr) / 12
    tasks = (by_task.centered_tss - by_task.ssr) / 5
    parts = split({str(task): [list(seed) for seed in of_task] for task, of_task in enumerate(values)})
    assert parts is not None

    assert parts.attempts == pytest.approx(attempts)
    assert parts.seeds == pytest.approx(max(0.0, (seeds - attempts) / 2))
    assert parts.tasks == pytest.approx(max(0.0, (tasks - seeds) / 6))


@pytest.mark.property
def test_uneven_nests_are_unbiased() -> None:
    """Tasks .04, seeds .09, attempts .25, two or three seeds of one to three attempts: the mean of 300 splits is close."""
    chance = np.random.default_rng(6)
    parts = [
        split({str(t): [list(t_mean + chance.normal(0, 0.3) + chance.normal(0, 0.5, 1 + (t + s) % 3)) for s in range(2 + t % 2)]
               for t, t_mean in enumerate(chance.normal(0, 0.2, 40))})
        for _ in range(300)
    ]  # fmt: skip
    means = [np.mean([getattr(one, name) for one in parts]) for name in ("tasks", "seeds", "attempts")]

    assert means == pytest.approx([0.04, 0.09, 0.25], abs=0.01)


def test_what_to_buy() -> None:
    """10 tasks x 2 seeds x 2 attempts, 40 more: tasks halve everything, seeds and attempts only their own part."""
    parts = Components(0.04, 0.02, 0.16, 10, 2.0, 2.0)
    bought = parts.bought(40)

    assert parts.now == pytest.approx(math.sqrt((0.04 + 0.01 + 0.04) / 10))
    assert bought["tasks"] == pytest.approx(parts.now / math.sqrt(2))
    assert bought["seeds"] == pytest.approx(math.sqrt((0.04 + 0.02 / 4 + 0.16 / 8) / 10))
    assert bought["attempts"] == pytest.approx(math.sqrt((0.04 + 0.01 + 0.16 / 8) / 10))
    assert parts.bought(40, exist=15)["tasks"] == pytest.approx(parts.now * math.sqrt(10 / 15))
    assert "tasks" not in parts.bought(40, exist=10)
    assert "attempts" not in Components(0.04, 0.02, None, 10, 2.0, 1.0).bought(40)


def test_the_table(record: Record, gathered: Gathered) -> None:
    """Costs of 2 dollars an episode buy 50; a pair of rows costs both, and is a row of its own."""
    cells = {("a", 0): f"{S} {W}", ("a", 1): f"{S} {S}", ("b", 0): f"{W} {W}", ("b", 1): f"{S} {W}"}
    runs = [record(name, cells, agent=name, cost_usd=cost) for name, cost in (("x", 2.0), ("y", 3.0))]
    (table,) = report(gathered(*runs), ["components"], published=False)

    assert [(row["what"], row["episodes"], row["cost"]) for row in table.rows] == [
        ("x", 50, 2.0),
        ("y", 33, 3.0),
        ("x - y", 20, 5.0),
    ]
    assert table.rows[0]["best"] == "more tasks"
    assert table.rows[2]["error"] == 0.0


def test_one_task_is_too_few(record: Record, gathered: Gathered) -> None:
    """Three attempts at one task split nothing, and the refusal asks for a second task."""
    with pytest.raises(UsageError) as refused:
        report(gathered(record("x", {("a", 0): f"{S} {W} {S}"})), ["components"], published=False)

    assert "needs two tasks, with two graded attempts at one of them" in str(refused.value)
    assert "with two tasks or more" in (refused.value.hint or "")

"""Retries: pass rates by condition, exact tests on the same failures, and the split by first label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from parley.families.contract import coaching_effect
from parley.reports.evidence import Evidence
from parley.reports.table import Table

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Columns = Callable[..., list[tuple[Any, ...]]]
S, W, E, X = "SUCCESS", "WRONG_VALUE", "EXPIRED_BEFORE_USE", "OTHER"
FIRSTS = {"a": W, "b": W, "c": E, "d": X}
"""What the first attempts earned."""


@pytest.fixture
def retried(record: Record) -> Callable[..., Path]:
    """Writes the retries of one condition: one label a task."""

    def written(hint: str, labels: Mapping[str, str], name: str = "", **changes: Any) -> Path:
        episodes = {(task, 0): label for task, label in labels.items()}
        return record(name or hint, episodes, model="gpt-5.1", hint=hint, firsts=FIRSTS, **changes)

    return written


@pytest.fixture
def three(retried: Callable[..., Path], gathered: Gathered) -> Evidence:
    """Four failures under each condition: none passes a, correct a, b and c, wrong none."""
    return gathered(
        retried("none", {"a": S, "b": W, "c": E, "d": X}),
        retried("correct", {"a": S, "b": S, "c": S, "d": X}),
        retried("wrong", {"a": W, "b": W, "c": E, "d": X}),
    )


def effect(evidence: Evidence, *, published: bool = False) -> Table:
    """Table 4."""
    (table,) = coaching_effect.tables(evidence, published=published)
    return table


@pytest.mark.property
def test_conditions(three: Evidence, columns: Columns) -> None:
    """Differences are over the four pairs; p is that of 1:0, 2:0 and 3:0 tosses of a coin."""
    assert [
        ("no hint", 1, 4, 0.25, None, None, None, None, None),
        ("wrong label", 0, 4, 0.0, 4, -0.25, 0, 1, 1.0),
        ("correct label", 3, 4, 0.75, 4, 0.5, 2, 0, 0.5),
        ("correct - wrong", None, None, None, 4, 0.75, 3, 0, 0.25),
    ] == columns(effect(three), "condition", "passed", "n", "rate", "pairs", "difference", "gained", "lost", "p")


def test_by_first_label(three: Evidence, columns: Columns) -> None:
    """Two failures began as WRONG_VALUE; the two labels seen once are other; the total is all four."""
    (table,) = coaching_effect.label_tables(three, published=False)

    assert [(W, 2, 1, 2, 0, 2), ("other", 2, 0, 1, 0, 1), ("total", 4, 1, 3, 0, 3)] == columns(
        table, "label", "n", "none", "correct", "wrong", "difference"
    )


@pytest.mark.property
def test_only_common_failures_are_compared(retried: Callable[..., Path], gathered: Gathered, columns: Columns) -> None:
    """A failure retried under one condition only counts in its rate, not in the difference, and the table says so."""
    table = effect(gathered(retried("none", {"a": W, "b": W}), retried("correct", {"b": S, "c": W})))

    assert [("no hint", 2, None, None), ("correct label", 2, 1, 1.0)] == columns(table, "condition", "n", "pairs", "difference")
    assert "GPT-5.1 (shell): the conditions were not tried on the same failures" in table.notes


def test_retries_of_another_run_are_no_pairs(retried: Callable[..., Path], gathered: Gathered, columns: Columns) -> None:
    """A retry of another first run is no pair, though task, seed and attempt are equal."""
    table = effect(gathered(retried("none", {"a": W}), retried("correct", {"a": S}, of="second")))

    assert [("no hint", 1, None), ("correct label", 1, 0)] == columns(table, "condition", "n", "pairs")


def test_a_failure_counts_once(retried: Callable[..., Path], gathered: Gathered, columns: Columns) -> None:
    """A condition that was run twice counts as first read, and the table says how often that was so."""
    table = effect(gathered(retried("correct", {"a": S}), retried("correct", {"a": W}, name="again")))

    assert [("correct label", 1, 1)] == columns(table, "condition", "passed", "n")
    assert "GPT-5.1 (shell): 1 retries repeat a failure under the same condition; the first one read counts" in table.notes


def test_ungraded_retries(retried: Callable[..., Path], gathered: Gathered, columns: Columns) -> None:
    """A retry that the provider failed is counted apart, also where it is the only one."""
    evidence = gathered(retried("none", {"a": "ungraded", "b": W}), retried("wrong", {"a": "ungraded"}))

    assert [("no hint", 0, 1, 0.0, 1), ("wrong label", 0, 0, None, 1)] == columns(
        effect(evidence), "condition", "passed", "n", "rate", "ungraded"
    )


def test_a_condition_not_tried_is_blank(retried: Callable[..., Path], gathered: Gathered, columns: Columns) -> None:
    """Nothing was retried with a wrong label, so nothing is said of it."""
    (table,) = coaching_effect.label_tables(gathered(retried("correct", {"a": S, "b": W})), published=False)

    assert [(W, 2, None, 1, None, None), ("total", 2, None, 1, None, None)] == columns(
        table, "label", "n", "none", "correct", "wrong", "difference"
    )


def test_published_coaching(three: Evidence, columns: Columns) -> None:
    """Tables 4 and 13 stand below ours: +4.8, -2.4 and +7.1 points of 42."""
    (by_label,) = coaching_effect.label_tables(three, published=True)
    rows = columns(effect(three, published=True), "model", "condition", "passed", "n", "difference")[-4:]
    points = [None if difference is None else round(100 * difference, 1) for *_, difference in rows]

    assert [("no hint", 6, 42), ("wrong label", 5, 42), ("correct label", 8, 42)] == [row[1:4] for row in rows[:3]]
    assert ([None, -2.4, 4.8, 7.1], {"GPT-5.1 (published)"}) == (points, {row[0] for row in rows})
    assert [("WRONG_VALUE", 19, 2), ("total", 42, 3)] == [columns(by_label, "label", "n", "difference")[n] for n in (-6, -1)]

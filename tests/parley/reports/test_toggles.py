"""Toggles of the path, off against on: which groups make a pair, and what the pair says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parley.families.contract import coaching_effect
from parley.reports.evidence import Evidence

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Columns = Callable[..., list[tuple[Any, ...]]]
S, M = "SUCCESS", "MUTATED_TOKEN"


@pytest.fixture
def evidence(record: Record, gathered: Gathered) -> Evidence:
    """Four tasks plain, clipped, and clipped with handles."""
    return gathered(
        record("plain", {("a", 0): S, ("b", 0): S, ("c", 0): S, ("d", 0): M}, model="gpt-5.1"),
        record("clipped", dict.fromkeys([(task, 0) for task in "abcd"], M), model="gpt-5.1", options={"mutate": "clip=200"}),
        record(
            "handles", {("a", 0): S, ("b", 0): S, ("c", 0): M, ("d", 0): M}, model="gpt-5.1",
            options={"mutate": "clip=200", "handles": True},
        ),
    )  # fmt: skip


def test_each_toggle_against_the_same_without_it(evidence: Evidence, columns: Columns) -> None:
    """Clipping loses three of four; handles win two of them back; handles without clipping were never run."""
    (table,) = coaching_effect.toggle_tables(evidence, published=False)

    assert columns(table, "toggle", "pairs", "off", "on", "difference", "gained", "lost", "p") == [
        ("mutate=clip=200", 4, 0.75, 0.0, -0.75, 0, 3, 0.25),
        ("handles=true", 4, 0.0, 0.5, 0.5, 2, 0, 0.5),
    ]


def test_no_pair_no_table(record: Record, gathered: Gathered) -> None:
    """One group alone, or two that differ in more than a toggle, make no row."""
    one = record("one", {("a", 0): S}, model="gpt-5.1", options={"mutate": "clip=200"})
    other = record("other", {("a", 0): S}, model="gpt-5.1", options={"tier": "1k"})

    assert coaching_effect.toggle_tables(gathered(one, other), published=False) == []

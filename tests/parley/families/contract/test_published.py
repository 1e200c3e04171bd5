"""The published numbers agree with themselves wherever the paper does, and with our names."""

from __future__ import annotations

from collections import Counter

from parley.families.contract.published import catalogue, exact_rates, leaderboard, numbers, suite, task_rates
from parley.reports.models import known_models
from worlds.contract.labels import LABELS, Label


def test_table_10() -> None:
    """Thirty-nine rows of 99 episodes, each rate the rounding of its passes."""
    rows = leaderboard()

    assert (39, {99}) == (len(rows), {row.episodes for row in rows})
    assert [row.percent for row in rows] == [round(100 * row.passed / 99, 1) for row in rows]


def test_tables_11_and_12() -> None:
    """Fourteen columns of 33 tasks; their thirds add up to Table 10's passes, but for one that the paper prints otherwise."""
    found, passed = task_rates(), {(row.model, row.kind): row.passed for row in leaderboard()}
    kinds = {"DeepSeek-R1 (Thinking)": "thinking", "Phi-4 (vllm)": "base"}
    sums = {model: round(3 * sum(exact_rates(model).values())) for model in found}
    wrong = {model for model, total in sums.items() if total != passed[model, kinds.get(model, "instruct")]}

    assert (14, {33}) == (len(found), {len(rates) for rates in found.values()})
    assert ({"Qwen3.5-27B"}, 61) == (wrong, sums["Qwen3.5-27B"])


def test_categories() -> None:
    """Four tasks of validity, five of integrity, twenty-four of both; the same tasks everywhere."""
    tasks = [task for mine in numbers()["categories"].values() for task in mine]

    assert {"validity": 4, "integrity": 5, "both": 24} == {name: len(mine) for name, mine in numbers()["categories"].items()}
    assert {1} == set(Counter(tasks).values())
    assert set(numbers()["proprietary"]["rates"]) == set(numbers()["open"]["rates"]) == set(tasks) >= set(numbers()["variance"])


def test_table_6() -> None:
    """All 33 tasks: five under validity, five under integrity, 23 under both (the text says 24), in seven patterns."""
    kinds = catalogue()

    assert suite() == set(kinds)
    assert Counter(kind.quadrant for kind in kinds.values()) == {"Q2": 5, "Q3": 5, "Q4": 23}
    assert len({kind.pattern for kind in kinds.values()}) == 7


def test_retries() -> None:
    """Table 13 adds up to Table 4."""
    rows, total = numbers()["retries"]["rows"], numbers()["retries"]["total"]

    assert total == {name: sum(row[name] for row in rows) for name in total}


def test_labels() -> None:
    """Published labels and weights are those of our taxonomy."""
    assert numbers()["severity"] == {label: LABELS[Label(label)].severity for label in numbers()["severity"]}
    assert set(numbers()["labels"]["counts"]) <= set(Label)


def test_models_have_their_published_rows() -> None:
    """Every row has an entry of the same name, kind and size."""
    entries = {(entry.name, entry.kind): entry.size for entry in known_models() if "contract" in entry.printed}
    sizes = {(row.model, row.kind): None if row.size in {"N/A", "closed"} else row.size for row in leaderboard()}

    assert sizes == entries

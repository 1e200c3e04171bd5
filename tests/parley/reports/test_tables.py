"""Tasks, labels, variance and outliers: every number worked out by hand from a few labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from parley.families.contract import leaderboard, tasks
from parley.families.contract.report import NEEDS, TABLES, report
from parley.reports.evidence import Evidence
from tests.shipped import RELEASED

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Columns = Callable[..., list[tuple[Any, ...]]]
S, W, E, X = "SUCCESS", "WRONG_VALUE", "EXPIRED_BEFORE_USE", "OTHER"


def test_rates_by_task(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Tasks stand by category with unweighted means; a task that a model did not play is blank and in none of its means."""
    evidence = gathered(
        record("x", {("c", 0): f"{S} {W}", ("a", 0): f"{S} {S}", ("b", 0): f"{W} {W}", ("d", 0): f"{W} {W}"}, agent="x"),
        record("y", {("a", 0): W, ("a", 1): S}, agent="y"),
    )
    (table,) = tasks.tables(evidence, published=False)

    assert [
        ("validity", "a", 1.0, 0.5), ("validity", "mean of 1", 1.0, 0.5),
        ("integrity", "b", 0.0, None), ("integrity", "mean of tasks played", 0.0, None),
        ("integrity", "tasks played", "1", "0"),
        ("both", "c", 0.5, None), ("both", "d", 0.0, None), ("both", "mean of tasks played", 0.25, None),
        ("both", "tasks played", "2", "0"),
        ("all", "mean of tasks played", 0.375, 0.5), ("all", "tasks played", "4", "1"),
    ] == [row for row in columns(table, "category", "task", "x", "y") if row[1] != "95 %"]  # fmt: skip


def test_means_of_tasks_have_the_interval_of_their_attempts(record: Record, gathered: Gathered) -> None:
    """The last row of pass rates by task is the interval of the leaderboard, where every task has as many attempts."""
    evidence = gathered(record("x", {("a", 0): f"{S} {W}", ("b", 0): f"{S} {S}", ("c", 0): f"{W} {W}"}, agent="x"))
    (by_task,), (board,) = (module.tables(evidence, published=False) for module in (tasks, leaderboard))

    assert by_task.rows[-1]["x"] == pytest.approx(board.rows[0]["interval"])
    assert by_task.cells()[-1][-1].count("..") == 1


def test_only_tasks_that_were_played(record: Record, gathered: Gathered) -> None:
    """A run of one task says nothing of the other 32, unless it is asked to."""
    run = record("x", {("multi-turn-recall", 0): S}, category="both")
    short, whole = (
        tasks.tables(gathered(run, tasks=list(PAPER_TASKS.values()), every=every), published=False)[0]
        for every in (False, True)
    )

    assert ["multi-turn-recall", "mean of 1", "mean of 1"] == [row["task"] for row in short.rows]
    assert 33 == sum(row["row"] == "task" for row in whole.rows)


def test_published_rates_beside_ours(record: Record, gathered: Gathered, columns: Columns) -> None:
    """The published column of the same model stands next to ours, the other thirteen in a table below with printed means."""
    evidence = gathered(record("x", {("a", 0): S}, model="gpt-5.2"), every=True)
    ours, theirs = tasks.tables(evidence, published=True)

    assert ["Family", "Task", "GPT-5.2 (shell)", "GPT-5.2 (published)"] == ours.header
    assert (3 + 13, 33 + 4) == (len(theirs.columns), sum(row["row"] in tasks.VALUES for row in theirs.rows))
    assert ("all", "mean of 33", pytest.approx(77 / 99), pytest.approx(70 / 99)) in columns(
        theirs, "category", "task", "Claude Opus 4.6 (published)", "GPT-5 (published)"
    )


def test_labels(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Labels are shares of the failed episodes, by axis; a label from outside the taxonomy is OTHER."""
    run = record("x", {("a", 0): f"{S} {W} {W}", ("b", 0): f"{E} {X} {S}"}, agent="x")
    for path in run.glob("episodes/contract/b/s0-a2/result.json"):
        path.write_text(path.read_text(encoding="utf-8").replace('"OTHER"', '"TOOL_INPUT_TOO_LONG"'), encoding="utf-8")
    distribution, scores = leaderboard.label_tables(gathered(run), published=False)

    assert [("validity", E, -1.0, (1, 0.25)), ("integrity", W, -0.8, (2, 0.5)), ("meta", X, -0.3, (1, 0.25))] == columns(
        distribution, "axis", "label", "severity", "x"
    )
    assert [("x", 6, 4, (1, 0.25), (2, 0.5), (1, 0.25), pytest.approx((2 - 1.6 - 1 - 0.3) / 6))] == columns(
        scores, "model", "episodes", "failed", "validity", "integrity", "meta", "score"
    )


def test_published_labels(record: Record, gathered: Gathered, columns: Columns) -> None:
    """The two labels that the paper prints of GPT-5.1 stand beside ours, and the weights of Table 7."""
    distribution, _ = leaderboard.label_tables(gathered(record("x", {("a", 0): W}, agent="x"), every=True), published=True)

    assert [("WRONG_VALUE", (1, 1.0), (21, 21 / 51), -0.8), ("MUTATED_TOKEN", (0, 0.0), (4, 4 / 51), -1.0)] == columns(
        distribution, "label", "x", "GPT-5.1 (published)", "severity_published"
    )


def test_a_row_without_failures(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Nothing failed: no label, and no share of nothing."""
    distribution, scores = leaderboard.label_tables(gathered(record("x", {("a", 0): S}, agent="x")), published=False)

    assert () == distribution.rows
    assert [(0, (0, 0.0), 1.0)] == columns(scores, "failed", "validity", "score")


def test_variance(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A cell with one graded attempt is none; labels decide, and equal labels may hide unequal traces."""
    evidence = gathered(
        record("x", {("a", 0): f"{S} {S}", ("a", 1): f"{S} {W}", ("b", 0): f"{W} {W}", ("c", 0): f"{S} ungraded"}, agent="x"),
        record("y", {("a", 0): f"{W} {E}", ("a", 1): f"{W} {W}", ("b", 0): f"{S} {W}"}, agent="y"),
    )
    cells, drivers, runs = tasks.variance_tables(evidence, published=False)

    assert [("x", 3, 2, 2 / 3), ("y", 3, 1, 1 / 3), ("all", 6, 3, 0.5)] == columns(
        cells, "model", "cells", "deterministic", "share"
    )
    assert [("a", 2, 2), ("b", 1, 2)] == columns(drivers, "task", "disagreeing", "models")
    assert [("a", "x", 0.75, "1 1 1 0"), ("a", "y", 0.0, "0 0 0 0"), ("b", "x", 0.0, "0 0"), ("b", "y", 0.5, "1 0")] == columns(
        runs, "task", "model", "mean", "rewards"
    )


def test_equal_labels_of_unequal_traces(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Deterministic in label is not deterministic in every byte; where no task varies there is no table of those that do."""
    run = record("x", {("a", 0): f"{S} {S}", ("b", 0): f"{S} {S}"})
    for path in run.glob("episodes/contract/b/s0-a2/result.json"):
        path.write_text(path.read_text(encoding="utf-8").replace("SUCCESS-0", "another"), encoding="utf-8")
    (cells,) = tasks.variance_tables(gathered(run), published=False)

    assert [(2, 2, 1)] == columns(cells, "cells", "deterministic", "same_trace")


def test_published_variance(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Appendix L stands under ours, and Table 8's tasks beside ours, also where we have not played them."""
    cells, drivers, _ = tasks.variance_tables(gathered(record("x", {("a", 0): f"{S} {W}"}), every=True), published=True)

    assert [("oracle", 1, 0.0, "ours"), ("all 25 models", 733, pytest.approx(0.866), "published")] == columns(
        cells, "model", "cells", "share", "source"
    )
    assert [("a", 1, 1, None), ("oauth-pkce-with-rotation", None, 0, 7)] == columns(
        drivers, "task", "disagreeing", "models", "published"
    )[:2]


def test_outliers(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Nobody passes d; c ranks the three models backwards (rho -1); a and b rank them as their means do."""
    rates = {"weak": (W, W, S, W), "middle": (S, W, f"{S} {W}", W), "strong": (S, S, W, W)}
    runs = [
        record(name, {(task, 0): labels for task, labels in zip("abcd", earned, strict=True)}, agent=name)
        for name, earned in rates.items()
    ]
    (table,) = tasks.outlier_tables(gathered(*runs), published=False)

    assert [("d", "at 0 for all", 3, None), ("c", "negative rank correlation", 3, pytest.approx(-1.0))] == columns(
        table, "task", "finding", "models", "rho"
    )
    assert ("rank correlations over 3 models, on the tasks that all of them have: 4",) == table.notes


def test_two_models_rank_nothing(record: Record, gathered: Gathered, columns: Columns) -> None:
    """With two models there are no rank correlations, and the table says why; a task one of them passed is not at 0."""
    runs = [record("x", {("a", 0): S, ("b", 0): W}, agent="x"), record("y", {("a", 0): W}, agent="y")]
    (table,) = tasks.outlier_tables(gathered(*runs), published=False)

    assert [("b", "at 0 for all", 1)] == columns(table, "task", "finding", "models")
    assert ("rank correlations need 3 models or more, not 2",) == table.notes


def test_correlations_use_common_tasks_only(record: Record, gathered: Gathered) -> None:
    """A model that skipped the hard task must not look better for it: only tasks that all have are ranked."""
    runs = [
        record("x", {("a", 0): S, ("b", 0): W, ("c", 0): S}, agent="x"),
        record("y", {("a", 0): W, ("b", 0): S, ("c", 0): W}, agent="y"),
        record("z", {("a", 0): W, ("b", 0): W}, agent="z"),
    ]
    (table,) = tasks.outlier_tables(gathered(*runs), published=False)

    assert ("rank correlations over 3 models, on the tasks that all of them have: 2",) == table.notes


def test_published_outliers(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Of the fourteen published models none passed four tasks, multi-turn-recall among them."""
    (table,) = tasks.outlier_tables(gathered(record("x", {("a", 0): S}), every=True), published=True)
    found = columns(table, "task", "finding", "models", "source")

    assert ("multi-turn-recall", "at 0 for all", 14, "published") in found
    assert 4 == sum(finding == "at 0 for all" for _, finding, _, _ in found)


def test_every_table(record: Record, gathered: Gathered) -> None:
    """Without a name every table that has something to say is made, in order."""
    evidence = gathered(record("x", {("a", 0): f"{S} {W}"}))

    counted = ["labels", "severity", "variance", "variance-tasks", "variance-runs", "outliers"]
    assert ["leaderboard", "tasks", "catalogue", "quadrants", *counted] == [
        table.name for table in report(evidence, [], published=False)
    ]


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("tabels", f"contract has no table 'tabels'; it has {', '.join([*TABLES, 'components'])} and all", ""),
        ("variance", f"the table variance needs {NEEDS['variance'][0]}, which these runs do not have", "harness run ... --k 3"),
        ("coaching", "the table coaching needs retries, which these runs do not have", NEEDS["coaching"][1]),
    ],
)
def test_wanted_and_empty(record: Record, gathered: Gathered, name: str, message: str, hint: str) -> None:
    """A table that was asked for by name and has nothing to say is a mistake, with the run that would fill it."""
    with pytest.raises(UsageError) as refused:
        report(gathered(record("x", {("a", 0): S})), [name], published=False)

    assert (message, hint) == (str(refused.value), refused.value.hint)


PAPER_TASKS = {task.task_id: task for task in RELEASED if task.family == "contract"}


def test_the_catalogue_is_table_6(record: Record, gathered: Gathered, columns: Columns) -> None:
    """All 33 tasks with what their task.toml says, which is what the paper prints: no Q1, five, five and 23."""
    played = record("x", {("cursor-pagination-integrity", 0): S}, category="both")
    (table,) = tasks.catalogue_tables(gathered(played, tasks=list(PAPER_TASKS.values()), every=True), published=True)
    ours = {task: task_file.parley for task, task_file in PAPER_TASKS.items()}

    assert {(task, p.difficulty, p.quadrant, p.pattern) for task, p in ours.items() if p} == {
        tuple(row) for row in columns(table, "task", "difficulty", "quadrant", "pattern")
    }
    assert {row["published"] for row in table.rows} == {None}
    assert table.notes[0] == "5 in Q2, 5 in Q3, 23 in Q4"


def test_a_task_that_differs_from_the_paper_says_how(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A registry may sort a task otherwise; one that the paper does not know is compared with nothing."""
    name = "cursor-pagination-integrity"
    task = PAPER_TASKS[name]
    assert task.parley is not None
    changed = task.parley.model_copy(update={"quadrant": "Q2"})
    metadata = task.file.metadata.model_copy(update={"parley": changed})
    other = replace(task, file=task.file.model_copy(update={"metadata": metadata}))
    evidence = gathered(record("x", {(name, 0): S}, category="both"), tasks=[other])
    (table,) = tasks.catalogue_tables(evidence, published=True)

    assert [(name, "Q2", "very_hard, Q4, State chains")] == columns(table, "task", "quadrant", "published")


def test_rates_by_quadrant_and_pattern(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Means over tasks: two of Q4 with one pattern, one of Q3; what nobody sorted stands under none."""
    run = record(
        "x",
        {
            ("multi-turn-recall", 0): f"{S} {W}", ("cumulative-hash-chain", 0): f"{S} {S}",
            ("long-token-handling", 0): f"{W} {W}", ("unheard-of", 0): f"{S} {S}",
        },
        agent="x", category="both",
    )  # fmt: skip
    (table,) = tasks.quadrant_tables(gathered(run), published=False)

    assert [
        ("quadrant", "Q3", 1, 0.0), ("quadrant", "Q4", 2, 0.75), ("quadrant", "none", 1, 1.0),
        ("pattern", "Byte-exact", 1, 0.0), ("pattern", "State chains", 2, 0.75), ("pattern", "none", 1, 1.0),
        ("all", "all", 4, 0.625),
    ] == columns(table, "by", "kind", "tasks", "x")  # fmt: skip


def test_published_rates_by_quadrant(record: Record, gathered: Gathered) -> None:
    """The paper's Appendix P gives GPT-5.1 and GPT-5 on integrity, its Q3: 0.47 and 0.80."""
    _, theirs = tasks.quadrant_tables(gathered(record("x", {("a", 0): S}, agent="x"), every=True), published=True)
    (row,) = [row for row in theirs.rows if row["kind"] == "Q3"]

    assert (row["GPT-5.1 (published)"], row["GPT-5 (published)"]) == (pytest.approx(7 / 15), pytest.approx(0.8))

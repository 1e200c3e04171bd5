"""The leaderboard: counts, intervals and pass^k by hand, and who may be ranked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.registry import read_task
from parley.families.contract import leaderboard
from parley.families.contract.report import report
from parley.proof.sync import new_task
from parley.reports.evidence import Evidence
from parley.reports.table import Table
from parley.statistics import exact_interval, rate_interval

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Columns = Callable[..., list[tuple[Any, ...]]]
S, W, E = "SUCCESS", "WRONG_VALUE", "EXPIRED_BEFORE_USE"


def made(evidence: Evidence, *, published: bool = False) -> Table:
    """The one table."""
    (table,) = leaderboard.tables(evidence, published=published)
    return table


def test_one_row(record: Record, gathered: Gathered) -> None:
    """Two tasks, three attempts: 4 of 6 passed, pass^3 is 1 of 2 cells, severity (4 - .8 - 1) / 6."""
    evidence = gathered(record("run", {("a", 0): f"{S} {S} {S}", ("b", 0): f"{S} {W} {E}"}, model="gpt-5"))
    (row,) = made(evidence).rows
    interval = rate_interval([[True] * 3, [True, False, False]])

    assert {
        "rank": 1, "model": "GPT-5", "setup": "shell", "size": None, "kind": "instruct / OpenAI", "temperature": "0",
        "episodes": 6, "passed": 4, "rate": 4 / 6, "interval": interval, "k": 3, "pass_k": 0.5, "ungraded": 0,
        "severity": pytest.approx(2.2 / 6), "bounds": None, "ungraded_by": None,
        "caveat": None, "ended_by": None, "status": "complete", "type": "instruct", "provider": "OpenAI",
        "recovered": 0, "complete": True, "source": "ours", "lineage": "GPT", "total_b": None,
    } == row  # fmt: skip


def test_pass_hat_is_a_mean_over_instances(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Seeds are instances of their own, and two pooled runs of two attempts give C(c, 2) / C(4, 2)."""
    runs = [record(name, {("a", 0): f"{S} {S}", ("a", 1): f"{S} {W}"}) for name in ("x", "y")]

    assert [(2, pytest.approx((1 + 1 / 6) / 2))] == columns(made(gathered(*runs)), "k", "pass_k")


def test_ungraded_are_beside_the_rate(record: Record, gathered: Gathered, columns: Columns) -> None:
    """One of three attempts failed at the provider: rate 2 of 2, bounds 2 of 3 and 3 of 3, no cell for pass^3, not complete."""
    table = made(gathered(record("run", {("a", 0): f"{S} {S} ungraded"})))

    assert [(2, 1.0, 1, pytest.approx((2 / 3, 1.0)), "provider 1", None, None, "0 of 1 tasks")] == columns(
        table, "episodes", "rate", "ungraded", "bounds", "ungraded_by", "pass_k", "rank", "status"
    )
    assert "oracle: 1 episode is ungraded and not scored: the provider returned an error (1)" in table.notes


def test_recovered_is_counted_and_no_success(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A goal reached after a violation counts as failed, and apart."""
    assert [(0, 2)] == columns(made(gathered(record("run", {("a", 0): f"{W} {W}"}, recovered=True))), "passed", "recovered")


def test_nothing_graded(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A row without a graded episode has counts only."""
    table = made(gathered(record("run", {("a", 0): "ungraded"}, model="m")))

    assert [(0, 0, None, None, None, 1, (0.0, 1.0))] == columns(
        table, "episodes", "passed", "rate", "interval", "severity", "ungraded", "bounds"
    )


def test_incomplete_rows_come_last(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A perfect row on one task of two has no rank and stands below a complete row at 0; equal rows share a rank."""
    evidence = gathered(
        record("part", {("a", 0): S}, model="part"),
        record("zero", {("a", 0): W, ("b", 0): W}, model="zero"),
        record("half", {("a", 0): S, ("b", 0): W}, model="half"),
        record("also", {("a", 0): W, ("b", 0): S}, model="also"),
    )

    assert [
        (1, "also", "complete"), (1, "half", "complete"), (3, "zero", "complete"), (None, "part", "1 of 2 tasks"),
    ] == columns(made(evidence), "rank", "model", "status")  # fmt: skip


def test_a_planned_task_without_episodes_is_missed(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A run that was cut off is as incomplete as its plan says."""
    evidence = gathered(record("run", {("a", 0): S}, planned=["a", "b", "c"]))

    assert [(None, "1 of 3 tasks")] == columns(made(evidence), "rank", "status")


def test_not_at_temperature_0_is_marked(record: Record, gathered: Gathered, columns: Columns) -> None:
    """A parameter that the model refused, or another one asked for, shows in the row and under the table."""
    warm = {"temperature": 1.0}
    evidence = gathered(
        record("refused", {("a", 0): S}, model="gpt-5", parameters={"effective": {}}),
        record("warm", {("a", 0): S}, model="m", requested=warm, parameters={"effective": warm}),
    )
    table = made(evidence)

    assert [("GPT-5", "default"), ("m", "1")] == columns(table, "model", "temperature")
    assert [note for note in table.notes if "temperature" in note] == [
        "GPT-5 (shell): not run at temperature 0 (default)",
        "m (shell, temperature=1): not run at temperature 0 (1)",
    ]


def test_published_rows(record: Record, gathered: Gathered, columns: Columns) -> None:
    """The published row of a model stands under ours, the others below all of ours where asked, and none has a rank."""
    runs = record("x", {("a", 0): S}, model="gpt-5"), record("y", {("a", 0): W}, model="m")
    table, short = (made(gathered(*runs, every=every), published=True) for every in (True, False))
    rows = columns(table, "rank", "model", "source", "rate", "episodes", "status")

    assert (42 - 1, 39) == (len(rows), sum(row[2] == "published" for row in rows))
    assert [
        (1, "GPT-5", "ours", 1.0, 1, "complete"), (None, "GPT-5", "published", pytest.approx(0.707), 99, "published"),
        (2, "m", "ours", 0.0, 1, "complete"), (None, "Claude Opus 4.6", "published", pytest.approx(0.778), 99, "published"),
    ] == rows[:4]  # fmt: skip
    assert [("GPT-5", "ours"), ("GPT-5", "published"), ("m", "ours")] == columns(short, "model", "source")
    assert "published: Table 10 of arXiv:2605.17281v1, CC BY 4.0; the authors' tasks and harness, k = 3" in table.notes


def test_a_base_model_is_not_its_instruct_namesake(record: Record, gathered: Gathered, columns: Columns) -> None:
    """Table 10 prints Qwen3.5-9B twice; ours stands by the instruct row."""
    table = made(gathered(record("x", {("a", 0): S}, model="huggingface/Qwen/Qwen3.5-9B")), published=True)

    assert [("Qwen3.5-9B", "instruct", "ours"), ("Qwen3.5-9B", "instruct", "published")] == columns(
        table, "model", "type", "source"
    )[:2]


def test_no_first_tries_no_leaderboard(record: Record, gathered: Gathered) -> None:
    """Retries alone make no leaderboard."""
    assert [] == leaderboard.tables(gathered(record("x", {("a", 0): S}, hint="none")), published=True)


PAPER = ("presigned-url-download", "multi-turn-recall")
"""Two tasks of the published suite."""


def local_report(record: Record, gathered: Gathered, root: Path, tmp_path: Path) -> dict[str, Table]:
    """The tables of two agents that played two tasks of the suite, of which one also played a task of its user's."""
    folders = [*(root / "tasks" / "contract" / name for name in PAPER), new_task(tmp_path / "tasks", "contract", "mine")]
    registry = [read_task(folder) for folder in folders]
    suite = {(name, 0): f"{S} {S}" for name in PAPER}
    runs = [
        record("one", {(PAPER[0], 0): f"{S} {W}", (PAPER[1], 0): f"{W} {W}"}, agent="plain", category="both"),
        record("two", {**suite, ("mine", 0): f"{E} ungraded"}, agent="more", category="both"),
    ]
    made = report(gathered(*runs, tasks=registry), [], published=False)
    return {table.name: table for table in made}


def test_a_task_of_ones_own_leaves_rows_complete(
    record: Record, gathered: Gathered, columns: Columns, root: Path, tmp_path: Path
) -> None:
    """Complete is said with respect to the release, whatever the registry holds; a folder more changes no row and no mean."""
    made = local_report(record, gathered, root, tmp_path)
    board = made["leaderboard"]

    assert [(None, "more", 4, 1.0, "2 of 33 tasks"), (None, "plain", 4, 0.25, "2 of 33 tasks")] == columns(
        board, "rank", "model", "episodes", "rate", "status"
    )
    assert any(note.startswith("2 tasks x 2 attempts") for note in board.notes)
    assert sum("played other versions of" in note for note in board.notes) == 2
    assert ("mean of 2", 0.25, 1.0) in columns(made["tasks"], "task", "plain", "more")


def test_a_task_of_ones_own_stands_apart(
    record: Record, gathered: Gathered, columns: Columns, root: Path, tmp_path: Path
) -> None:
    """A row for who played it, with what came of it; labels are counted over all episodes all the same."""
    made = local_report(record, gathered, root, tmp_path)

    assert [("more", "mine", 1, 0, 0.0, 1, f"1 {E}")] == columns(
        made["local"], "model", "task", "episodes", "passed", "rate", "ungraded", "labels"
    )
    assert (E, (1, 1.0)) in columns(made["labels"], "label", "more")
    assert made["labels"].notes[-1] == "all tasks, including 1 graded episode of 1 task outside the suite"
    assert (
        made["leaderboard"]
        .notes[-1]
        .startswith("tasks of the suite only; the table local has 1 graded episode of 1 task outside the suite")
    )


def test_attempts_at_a_seed_are_not_independent(record: Record, gathered: Gathered, root: Path, tmp_path: Path) -> None:
    """The interval of one task's rate is over its seeds: six attempts at two of them say what two say."""
    registry = [
        *(read_task(root / "tasks" / "contract" / name) for name in PAPER),
        read_task(new_task(tmp_path / "tasks", "contract", "mine")),
    ]
    beside = {("mine", seed): " ".join([W] * 3) for seed in (0, 1)}
    made = report(gathered(record("x", {(PAPER[0], 0): S, **beside}), tasks=registry), ["local"], published=False)

    assert [row["interval"] for row in made[0].rows] == [exact_interval(0, 2)]
    assert exact_interval(0, 2) != exact_interval(0, 6)


def test_tasks_of_a_registry_of_ones_own_are_its_suite(record: Record, gathered: Gathered) -> None:
    """Where no published task is in sight there is nothing to stand apart from."""
    made = report(gathered(record("x", {("a", 0): S, ("b", 0): W})), [], published=False)

    assert "local" not in {table.name for table in made}
    assert [row["status"] for row in made[0].rows] == ["complete"]

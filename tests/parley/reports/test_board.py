"""The leaderboard over families: equal weights, who is ranked, ties, references without a rank."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import UsageError
from parley.commands.report import leaderboard_command
from parley.reports.board import board
from parley.reports.evidence import Evidence, gather, read_runs
from parley.reports.table import Table

Record = Callable[..., Path]
S, W = "SUCCESS", "WRONG_VALUE"
MEANS = {"means": {"coordination": 0.75}}


def families(*folders: Path) -> list[Evidence]:
    """The evidence of each family in these runs."""
    runs = read_runs(folders)
    return [gather(runs, family, ()) for family in sorted({result.family for run in runs for result in run.results})]


def made(*folders: Path, published: bool = False) -> Table:
    """The leaderboard of these runs."""
    return board(families(*folders), published=published)


def two_families(record: Record, name: str, contracts: str, coordination: float) -> list[Path]:
    """One agent's contracts, a and b with these labels, and ten calendars with this coordination."""
    first, second = contracts.split("/")
    return [
        record(f"{name}-contract", {("a", 0): first, ("b", 0): second}, agent=name),
        record(
            f"{name}-calendar", {(f"g{number}", 0): W for number in range(10)}, agent=name, family="calendar",
            metrics={"means": {"coordination": coordination}},
        ),
    ]  # fmt: skip


def test_families_weigh_the_same(record: Record) -> None:
    """Two contracts, one won, and ten games at .9: (.5 + .9) / 2, whatever the numbers of tasks."""
    (row,) = made(*two_families(record, "x", f"{S}/{W}", 0.9)).rows

    assert (row["contract"], row["calendar"], row["mean"]) == (0.5, pytest.approx(0.9), pytest.approx(0.7))
    assert (row["rank"], row["ranks"], row["status"], row["episodes"]) == (1, "1", "complete", 12)
    assert (row["contract_pass_k"], row["calendar_pass_k"]) == (0.5, 0.0)
    assert row["error"] == pytest.approx(0.25)


def test_ranks_and_ties(record: Record) -> None:
    """Two alike share rank 1 and may be either; the third is third in the order, and what its interval leaves open is said."""
    runs = [*two_families(record, "x", f"{S}/{S}", 0.9), *two_families(record, "y", f"{S}/{S}", 0.9)]
    rows = made(*runs, *two_families(record, "z", f"{W}/{W}", 0.1)).rows

    assert [(row["model"], row["rank"]) for row in rows] == [("x", 1), ("y", 1), ("z", 3)]
    assert [(row["first_rank"], row["last_rank"]) for row in rows] == [(1, 2), (1, 2), (3, 3)]
    assert rows[0]["p1"] == pytest.approx(0.5, abs=0.03)
    assert (rows[2]["p1"], rows[2]["p3"]) == (0.0, 1.0)


def test_who_lacks_tasks_is_not_ranked(record: Record) -> None:
    """A row without calendars, and one that lost b to the provider, stand after the others without a rank or a mean of all."""
    whole, lost = two_families(record, "x", f"{S}/{W}", 0.9), two_families(record, "y", f"{S}/ungraded", 0.9)
    rows = made(*whole, *lost, record("z", {("a", 0): S, ("b", 0): S}, agent="z")).rows

    assert [(row["model"], row.get("rank"), row["status"]) for row in rows] == [
        ("x", 1, "complete"), ("y", None, "1 of 2 contract"), ("z", None, "0 of 10 calendar"),
    ]  # fmt: skip
    assert (rows[1]["ungraded"], rows[1]["bounds"], rows[2]["mean"]) == (1, pytest.approx((0.7, 0.95)), None)


def test_a_part_of_the_release_is_not_complete(record: Record) -> None:
    """Two tasks of the 33 are ranked among those who played them, and are called two of 33."""
    two = {("presigned-url-download", 0): S, ("etag-conditional-get", 0): W}
    made_of_two = made(record("x", two, agent="x"), record("y", two, agent="y"))

    assert [(row["rank"], row["status"]) for row in made_of_two.rows] == [(1, "2 of 33 contract")] * 2
    assert any("not the whole release in contract" in note for note in made_of_two.notes)


def test_published_rows_are_references(record: Record) -> None:
    """The papers' models follow, each once however it is spelled, marked and without a rank."""
    rows = made(*two_families(record, "x", f"{S}/{W}", 0.9), published=True).rows
    theirs = {str(row["model"]): row for row in rows if row["source"] == "published"}

    assert theirs["Claude Opus 4.6"]["contract"] == pytest.approx(0.778)
    assert theirs["Gemini 3.1 Pro"]["calendar"] == pytest.approx((0.8593 + 0.8173) / 2)
    assert {row.get("rank") for row in theirs.values()} == {None}
    assert len(theirs) == len({name.lower().replace("-", " ") for name in theirs})


def test_two_ways_of_one_model_are_refused(record: Record) -> None:
    """A model by shell and by tool has no one row, and both are named."""
    shell = record("shell", {("a", 0): S, ("b", 0): S}, model="gpt-5")
    tool = record("tool", {("a", 0): S, ("b", 0): S}, model="gpt-5")
    plan = json.loads((tool / "run.json").read_text(encoding="utf-8"))
    plan["identity"]["agent"]["interface"] = "tool"
    (tool / "run.json").write_text(json.dumps(plan), encoding="utf-8")

    with pytest.raises(UsageError, match=r"GPT-5 \(shell\) and by GPT-5 \(tool\), but a model has only one row"):
        made(shell, tool)


def test_the_command(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    """In lines, as Markdown and as JSON, it is one table; both at once are refused."""
    ctx: Any = SimpleNamespace(obj={"tasks": Path("/nowhere")})
    runs = two_families(record, "x", f"{S}/{W}", 0.9)
    leaderboard_command(ctx, runs, published=False)
    lines = capsys.readouterr().out
    leaderboard_command(ctx, runs, published=False, markdown=True)
    marked = capsys.readouterr().out
    leaderboard_command(ctx, runs, published=False, json=True)
    document = json.loads(capsys.readouterr().out)

    assert "Leaderboard over families" in lines
    assert marked.startswith("### Leaderboard over families\n")
    assert document["tables"][0]["rows"][0]["mean"] == pytest.approx(0.7)
    with pytest.raises(UsageError, match="choose one"):
        leaderboard_command(ctx, runs, markdown=True, json=True)

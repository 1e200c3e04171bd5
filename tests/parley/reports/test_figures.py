"""Every figure shows the numbers of its table: the titles of its marks are read back and held against the rows."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from parley.families.contract.figure import FIGURES, colour
from parley.families.contract.report import report
from parley.reports.evidence import Evidence
from parley.reports.table import Table

Record = Callable[..., Path]
Gathered = Callable[..., Evidence]
Command = Callable[..., subprocess.CompletedProcess[str]]
S, W, E, X = "SUCCESS", "WRONG_VALUE", "EXPIRED_BEFORE_USE", "OTHER"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tables(record: Record, gathered: Gathered) -> dict[str, Table]:
    """The tables of three models whose names the paper has, with every kind of failure."""
    runs = [
        record("one", {("a", 0): f"{S} {W}", ("b", 0): f"{S} {S}", ("c", 0): f"{X} {E}"}, model="openai/gpt-5"),
        record("two", {("a", 0): f"{W} {W}", ("b", 0): f"{S} {E}", ("d", 0): f"{S} {S}"}, model="openai/gpt-5.1"),
        record("three", {("a", 0): f"{S} {S}", ("b", 0): f"{S} {S}"}, model="huggingface/Qwen/Qwen3.5-27B"),
    ]
    return {table.name: table for table in report(gathered(*runs, every=True), [], published=True)}


def drawn(tables: Mapping[str, Table], name: str) -> ET.Element:
    """A figure, parsed."""
    svg = FIGURES[name](tables)
    assert svg is not None
    return ET.fromstring(svg)


def told(tables: Mapping[str, Table], name: str) -> dict[str, float]:
    """What the marks of a figure say of themselves; no two say the same."""
    titles = [element.text or "" for element in drawn(tables, name).iter(f"{SVG}title")]
    numbers = {what: float(number) for what, _, number in (title.rpartition(": ") for title in titles)}
    assert len(numbers) == len(titles) > 0
    return numbers


def rated(table: Table) -> dict[str, float]:
    """Every rate of a table of tasks, as the map of colours names it."""
    cells: dict[str, Any] = {
        f"{row['category']} {row['task']}, {column.title}": row.get(column.key)
        for row in table.rows
        for column in table.columns
        if column.form == "rate" and row["row"] in {"task", "mean"}
    }
    return {what: round(rate, 4) for what, rate in cells.items() if rate is not None}


def tallies(table: Table) -> dict[str, int]:
    """Every count of the table of labels that is not 0, as the stacked bars name it."""
    cells: dict[str, Any] = {
        f"{column.title}, {row['label']}": row.get(column.key)
        for row in table.rows
        for column in table.columns
        if column.form == "tally"
    }
    return {what: cell[0] for what, cell in cells.items() if cell and cell[0]}


def leaders(tables: Mapping[str, Table], *, sized: bool) -> dict[str, float]:
    """The rates of the leaderboard as the dots name them, of models whose size is known or not."""
    rows: list[Any] = [row for row in tables["leaderboard"].rows if (row.get("total_b") is not None) is sized]
    shown = [row for row in rows if sized or row["lineage"] in {"GPT", "MiniMax"}]
    setups = [f", {row['setup']}" if row.get("setup") else "" for row in shown]
    return {
        f"{row['model']}, {row['type']}{setup} ({row['source']})": round(row["rate"], 4)
        for row, setup in zip(shown, setups, strict=True)
    }


def test_scaling_shows_the_leaderboard(tables: dict[str, Table]) -> None:
    """A dot for each model with a size, ours and the paper's, base and instruct."""
    shown = told(tables, "figure-3")

    assert leaders(tables, sized=True) == shown
    assert (shown["Qwen3.5-27B, instruct, shell (ours)"], shown["Qwen3.5-9B, base (published)"]) == (1.0, 0.0)


def test_versions_show_the_leaderboard(tables: dict[str, Table]) -> None:
    """A dot for each version of the two families that tell no sizes and have three models or more."""
    assert leaders(tables, sized=False) == told(tables, "figure-4a")


def test_what_is_not_complete_is_said(record: Record, gathered: Gathered) -> None:
    """A rate over a part of the tasks stands among others, so the picture says which part."""
    runs = [
        record("x", {("a", 0): S}, model="gpt-5", planned=("a", "b")),
        record("y", {("a", 0): W, ("b", 0): S}, model="gpt-5.1"),
    ]
    tables = {table.name: table for table in report(gathered(*runs, every=True), [], published=True)}
    words = [element.text for element in drawn(tables, "figure-4a").iter(f"{SVG}text")]

    assert [word for word in words if word and word.startswith("not complete")] == ["not complete: GPT-5, shell: 1 of 2 tasks"]


def test_bars_show_the_means(tables: dict[str, Table]) -> None:
    """A bar for each category's mean."""
    rates = rated(tables["tasks"]) | rated(tables["tasks-published"])
    means = {
        f"{model}, {what.partition(' ')[0]}": rate
        for what, rate in rates.items()
        for task, _, model in [what.partition(", ")]
        if " mean of " in task and not task.startswith("all ")
    }

    assert means == told(tables, "figure-4b")


def test_differences_of_labels(tables: dict[str, Table]) -> None:
    """Each column of ours against the one before; the paper prints two labels only, so its column is in none."""
    table = tables["labels"]
    ours = [column for column in table.columns if column.form == "tally" and "published" not in column.title]
    expected = {
        f"{row['label']}, {other.title} against {one.title}": after - before
        for one, other in pairwise(ours)
        for row in table.rows
        for before, after in [[tallies(table).get(f"{column.title}, {row['label']}", 0) for column in (one, other)]]
        if after != before
    }

    assert len(ours) == 3
    assert expected == told(tables, "figure-4c")


def test_strips_show_each_run(tables: dict[str, Table]) -> None:
    """A dot for each reward, a bar for each mean."""
    rows: list[Any] = list(tables["variance-runs"].rows)
    expected = {f"{row['task']}, {row['model']}, mean": round(row["mean"], 4) for row in rows}
    expected |= {
        f"{row['task']}, {row['model']}, run {number}": float(reward)
        for row in rows
        for number, reward in enumerate(row["rewards"].split(), start=1)
    }

    assert ("a", "GPT-5 (shell)", 0.5, "1 0") in {(row["task"], row["model"], row["mean"], row["rewards"]) for row in rows}
    assert expected == told(tables, "figure-6")


@pytest.mark.parametrize(("name", "table"), [("figure-7", "tasks"), ("figure-8", "tasks-published")])
def test_maps_show_every_rate(tables: dict[str, Table], name: str, table: str) -> None:
    """A cell for each number of the table, its means too, in its colour."""
    rates = rated(tables[table])
    cells = [cell for cell in drawn(tables, name).iter(f"{SVG}rect") if cell.find(f"{SVG}title") is not None]

    assert rates == told(tables, name)
    assert [cell.get("fill") for cell in cells] == [colour(rate) for rate in rates.values()]


def test_pies_show_the_axes(tables: dict[str, Table]) -> None:
    """A slice for each axis that has failures; whoever has none is told so."""
    rows: list[Any] = list(tables["severity"].rows)
    expected = {
        f"{row['model']}, {axis}": row[axis][0] for row in rows for axis in ("validity", "integrity", "meta") if row[axis][0]
    }
    words = [element.text for element in drawn(tables, "figure-9").iter(f"{SVG}text")]

    assert expected == told(tables, "figure-9")
    assert words.count("no failures") == 1
    assert [word for word in words if word and word.startswith("SR ")] == sorted(
        (word for word in words if word and word.startswith("SR ")), key=lambda word: float(word.split()[1])
    )


def test_stacks_show_the_labels(tables: dict[str, Table]) -> None:
    """A segment for each count; the published bar says how many of its failures are printed."""
    words = [element.text for element in drawn(tables, "figure-10").iter(f"{SVG}text")]

    assert tallies(tables["labels"]) == told(tables, "figure-10")
    assert "n = 51, 25 printed" in words


def test_words_do_not_overlap(tables: dict[str, Table]) -> None:
    """No two words on one line of a figure share room, by the estimate that they are laid out with."""
    for name in FIGURES:
        lines: dict[str, list[tuple[float, float]]] = {}
        for element in drawn(tables, name).iter(f"{SVG}text"):
            if element.get("transform") is None:
                room = 0.5 * float(element.get("font-size", 11)) * len(element.text or "")
                x = float(element.get("x", 0)) - {"start": 0, "middle": room / 2, "end": room}[element.get("text-anchor", "")]
                lines.setdefault(str(element.get("y")), []).append((x, x + room))
        crossing = [(name, y) for y, rooms in lines.items() for one, other in pairwise(sorted(rooms)) if other[0] < one[1]]

        assert crossing == []


@pytest.mark.property
def test_figures_are_written(harness: Command, record: Record, tmp_path: Path) -> None:
    """`--figures` writes what the tables have and says so on stderr; one table of one figure is for `--plot`."""
    run = record("run", {("a", 0): f"{S} {W}", ("b", 0): f"{S} {S}"}, model="openai/gpt-5")
    done = harness("report", run, "--no-published", "--figures", tmp_path / "figures", "--json")
    files = sorted(path.name for path in (tmp_path / "figures").iterdir())
    one = harness("report", run, "--table", "variance", "--plot", tmp_path / "six.svg")
    none = harness("report", run, "--table", "catalogue", "--figures", tmp_path / "none")

    assert done.returncode == one.returncode == 0, done.stderr + one.stderr
    assert [f"contract-{name}.svg" for name in ("figure-10", "figure-4b", "figure-6", "figure-7", "figure-9")] == files
    assert [f"drawn: {tmp_path}/figures/{name}" for name in files] == sorted(done.stderr.splitlines())
    assert {"leaderboard", "quadrants", "catalogue"} <= {table["name"] for table in json.loads(done.stdout)["tables"]}
    assert re.match(r"<svg [^>]*>\n<rect", (tmp_path / "six.svg").read_text(encoding="utf-8"))
    assert (none.returncode, "these tables have no figure" in none.stderr) == (2, True)

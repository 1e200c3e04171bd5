"""The page of a report: parsed as a browser would, with hostile names in it, and the other forms of the same tables."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from parley.reports.evidence import Breadth, read_runs
from parley.reports.page import as_page, every_figure, figures_of
from parley.reports.table import Column, as_csv
from parley.reports.whole import WholeReport, make_report

Record = Callable[..., Path]
Command = Callable[..., subprocess.CompletedProcess[str]]
EVIL = "openai/<script>alert(1)</script>\x1b[31m\"'><img src=x onerror=alert(2)>"
S, W, E = "SUCCESS", "WRONG_VALUE", "EXPIRED_BEFORE_USE"
VOID = frozenset({"meta", "link", "br", "img", "hr", "input"})


class Page(HTMLParser):
    """What a page is made of: elements with their attributes, in order, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it, and that it is open."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """It closes what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note it."""
        self.words.append(data)

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        """The attributes of these elements."""
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture
def made(record: Record) -> WholeReport:
    """Two models, one of them with a hostile name, at two levels, one episode ungraded."""
    runs = [
        record("good", {("a", 0): f"{S} {W}", ("b", 0): f"{S} {S}", ("c", 0): f"{W} {E}"}, model="gpt-5"),
        record("hard", {("a", 0): f"{W} {W}", ("b", 0): f"{S} ungraded"}, model="gpt-5", options={"level": 2}),
        record("evil", {("a", 0): S, ("b", 0): E}, model=EVIL),
    ]
    return make_report(read_runs(runs), [], [], published=True, breadth=Breadth())


@pytest.fixture
def page(made: WholeReport, tmp_path: Path) -> Page:
    """Its page, parsed: every element closes."""
    parsed = Page(as_page(made, tmp_path))
    assert parsed.open == []
    return parsed


def test_nothing_on_it_can_run_or_load(made: WholeReport, page: Page, tmp_path: Path) -> None:
    """No script, handler, form or frame; no address but of this page; and a policy that allows its one style sheet alone."""
    text = as_page(made, tmp_path)
    (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policies = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]

    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert page.all("script", "iframe", "form", "img", "link", "object", "base", "foreignobject", "use") == []
    assert {name for _, attributes in page.elements for name in attributes if name.startswith("on") or name == "style"} == set()
    assert {str(one["href"])[0] for one in page.all("a")} == {"#"}
    assert "://" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script>alert(1)</script>\\x1b[31m" in "".join(page.words)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_it_can_be_read_by_ear(page: Page) -> None:
    """One h1, no level of heading skipped, landmarks, a way past them, heads of rows and columns, names for what scrolls."""
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    ids = [one["id"] for _, one in page.elements if one.get("id")]
    named = {name for _, one in page.elements for name in str(one.get("aria-labelledby", "")).split()}

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert [len(page.all(tag)) for tag in ("header", "nav", "main", "footer")] == [1] * 4
    assert {"lang": "en"} == page.all("html")[0]
    assert page.all("a")[0] == {"class": "skip", "href": "#main"}
    assert {one.get("scope") for one in page.all("th")} == {"row", "col"}
    assert len(ids) == len(set(ids))
    assert {str(one["href"])[1:] for one in page.all("a")} | named <= set(ids)
    assert all(one.get("tabindex") == "0" for _, one in page.elements if one.get("role") == "region")
    assert all(one.get("aria-label") for one in page.all("svg"))


def test_every_table_is_on_it(made: WholeReport, page: Page) -> None:
    """Each table of the report with all its cells, each figure, the curve among them, and a line for each episode."""
    words = set(page.words)

    assert {table.title for table in made.closed} <= words
    assert {cell for table in made.tables for row in table.cells() for cell in row if EVIL not in cell} <= words
    assert {"figure-3", "figure-7", "figure-10", "levels"} - set(figures_of(made.sections[0])) == {"figure-3"}
    assert len(page.all("svg")) == len(every_figure(made))
    assert len([word for word in page.words if word.startswith("harness show ")]) == 12


def test_the_same_runs_give_the_same_page(made: WholeReport, tmp_path: Path) -> None:
    """No time, no chance."""
    assert as_page(made, tmp_path) == as_page(made, tmp_path)


def test_an_episode_links_to_its_page_where_there_is_one(made: WholeReport, tmp_path: Path) -> None:
    """By run where a bundle has several."""
    beside = tmp_path / "bundle"
    linked = beside / "good" / "episodes" / "contract" / "a" / "s0-a1.html"
    linked.parent.mkdir(parents=True)
    linked.touch()
    links = [str(one["href"]) for one in Page(as_page(made, beside)).all("a") if not str(one["href"]).startswith("#")]

    assert ["good/episodes/contract/a/s0-a1.html"] == links


def test_figures_of_hostile_names_are_xml(made: WholeReport) -> None:
    """What XML cannot hold is spelled out."""
    assert all(ET.fromstring(svg).get("role") == "img" for svg in every_figure(made).values())


def test_curves_of_difficulty(made: WholeReport) -> None:
    """A model met at two levels has a row for each; one that was not has none."""
    (levels,) = [table for table in made.tables if table.name == "levels"]

    assert [("GPT-5", 1, 6, 3), ("GPT-5", 2, 3, 1)] == [
        tuple(row[key] for key in ("player", "level", "episodes", "passed")) for row in levels.rows
    ]


def test_csv(made: WholeReport) -> None:
    """Exact values, ends of intervals apart; a text that a spreadsheet would compute is quoted."""
    board = next(table for table in made.tables if table.name == "leaderboard")
    head, *rows = list(csv.reader(as_csv(board).splitlines()))
    told: list[dict[str, Any]] = [dict(zip(head, row, strict=True)) for row in rows]

    assert {"interval_low", "interval_high", "bounds_low", "bounds_high"} <= set(head)
    assert [repr(row["rate"]) for row in board.rows] == [one["rate"] for one in told]
    assert as_csv(made.spent).splitlines()[0].startswith("player,episodes,calls,prompt")
    formula = made.spent.rows[0] | {"player": "=cmd|' /C calc'!A0"}
    assert "\n'=cmd|' /C calc'!A0," in as_csv(type(made.spent)("x", "x", made.spent.columns, (formula,)))
    named = type(made.spent)("x", "x", (Column("=1+1", "Model"),), ({"=1+1": 1},))
    assert as_csv(named).startswith("'=1+1\n")


def hostile(value: Any) -> Any:
    """Any JSON value with other words in the place of each text."""
    if isinstance(value, dict):
        return {name: hostile(one) for name, one in value.items()}
    return [hostile(one) for one in value] if isinstance(value, list) else f"=1+1{EVIL}" if isinstance(value, str) else value


@pytest.mark.property
def test_texts_of_games_are_only_text(harness: Command, tmp_path: Path) -> None:
    """Whatever the results of games say, a page with them loads and runs nothing, and a spreadsheet computes nothing."""
    run = tmp_path / "run"
    played = harness("run", "uniform-01", "bakery-switch", "--agent", "oracle", "--runtime", "inprocess", "--out", run)
    assert played.returncode == 0
    for path in run.glob("episodes/*/*/*/result.json"):
        told = json.loads(path.read_bytes())
        told["metrics"] = {**hostile(told["metrics"]), "labels": {}}
        path.write_text(json.dumps({**told, "model": EVIL}), encoding="utf-8")

    done = harness("report", run, "--html", tmp_path / "r.html", "--csv", tmp_path / "csv")

    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert (page.open, page.all("script", "iframe", "form", "img", "link", "object", "base", "use")) == ([], [])
    assert "<script>alert(1)</script>" in "".join(page.words)
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "csv").iterdir()]
    cells = [cell for text in texts for row in csv.reader(text.splitlines()) for cell in row]
    assert any("alert(1)" in cell for cell in cells)
    assert [cell for cell in cells if cell.startswith(("=", "+", "@"))] == []


@pytest.mark.property
def test_files_of_a_report(harness: Command, record: Record, tmp_path: Path) -> None:
    """--html and --csv write what they say; one file holds one table; two meanings of stdout are refused."""
    run = record("run", {("a", 0): f"{S} {W}", ("b", 0): W}, model="gpt-5")
    done = harness("report", run, "--html", tmp_path / "out" / "r.html", "--csv", tmp_path / "csv")
    one = harness("report", run, "--table", "leaderboard", "--csv", "-")
    several = harness("report", run, "--csv", tmp_path / "x.csv")
    both = harness("report", run, "--csv", "-", "--json")

    assert (done.returncode, done.stdout, one.returncode) == (0, "", 0)
    assert (tmp_path / "out" / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>\n")
    assert {"contract-leaderboard.csv", "contract-tasks.csv", "spent.csv"} <= {
        path.name for path in (tmp_path / "csv").iterdir()
    }
    assert one.stdout == (tmp_path / "csv" / "contract-leaderboard.csv").read_text(encoding="utf-8")
    assert (several.returncode, both.returncode) == (2, 2)
    assert "one CSV file holds one table" in several.stderr
    assert "--json and --csv - both mean stdout" in both.stderr

"""A bundle: every page as a file with relative links that arrive, replaced whole, and written over nothing that is none."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.errors import UsageError
from parley.reports.reading import read_result
from parley.reports.reading.addresses import episode_page, run_names
from parley.reports.viewing import Library, write_bundle
from parley.reports.viewing.pages import POLICY
from tests.parley.reports.recorded import CONTRACT, HIDDEN, Commands, Recorded
from tests.parley.reports.viewing.html import Page

RUNS = ("late", "model", "model-seats")


@pytest.fixture(scope="module")
def bundle(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of three runs."""
    folder = tmp_path_factory.mktemp("published") / "bundle"
    assert write_bundle(Library([recorded.folder / run for run in RUNS]), folder, lambda _: None) == 0
    return folder


def test_every_link_arrives(bundle: Path) -> None:
    """Each link of each page leads to a file of the bundle, and into a page to something that is there."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in bundle.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            place = Path(os.path.normpath(path.parent / parts.path)) if parts.path else path
            is_there = place.is_file() and place.is_relative_to(bundle)
            if parts.scheme or not is_there or (parts.fragment and parts.fragment not in pages[place].ids):
                dead.append((path.relative_to(bundle), target))

    assert len(pages) > 10
    assert dead == []


def test_a_page_lies_where_others_link_it(bundle: Path, recorded: Recorded) -> None:
    """An episode's page is at the address that is told to others, with its JSON, its seats and its files beside it."""
    for name, folder in run_names([recorded.folder / run for run in RUNS]).items():
        for result in (read_result(path) for path in folder.glob("episodes/*/*/s*-a*")):
            assert (bundle / episode_page(name, result.key)).is_file()
            assert (bundle / episode_page(name, result.key)).with_suffix(".json").is_file()
    beside = {path.name for path in (bundle / f"episodes/model-seats/hidden-profile/{HIDDEN}/s0-a1").iterdir()}

    assert {"seat-0.html", "seat-3.json", "events.jsonl.txt", "verifier.log.txt"} <= beside
    assert {path.suffix for path in bundle.rglob("*") if path.is_file()} == {".html", ".json", ".txt", ".css", ".js", ".svg"}


def test_an_episode_lists_the_rules_that_its_task_states(bundle: Path, recorded: Recorded) -> None:
    """Beside the instruction stand its rules as this seed says them, each with the clients that prove it."""
    (result, *_) = (read_result(path) for path in (recorded.folder / "late").glob("episodes/contract/*/s*-a*"))
    page = (bundle / episode_page("late", result.key)).read_text(encoding="utf-8")

    assert "Asking again gives a new token, and the old one stops counting." in page
    assert "<code>stale_proof</code>" in page
    assert "{{ first }}" not in page


def test_no_page_says_where_the_runs_lay(bundle: Path, recorded: Recorded) -> None:
    """A published page has the run's name, and no path of the machine that it was made on."""
    made = [path for path in bundle.rglob("*") if path.suffix in {".html", ".json"}]

    assert [path for path in made if str(recorded.folder) in path.read_text(encoding="utf-8")] == []


def test_each_page_carries_its_policy(bundle: Path) -> None:
    """A file has no headers, so the page itself forbids whatever is not of the bundle."""
    for path in bundle.rglob("*.html"):
        metas = [one.attributes for one in Page(path.read_text(encoding="utf-8")).all("meta")]
        assert {"http-equiv": "Content-Security-Policy", "content": POLICY} in metas


def test_a_bundle_is_replaced_and_nothing_else(recorded: Recorded, tmp_path: Path) -> None:
    """Pages of runs that are no longer named are gone; a folder of something else is left alone."""
    write_bundle(Library([recorded.folder / "late"]), tmp_path / "out", lambda _: None)
    write_bundle(Library([recorded.folder / "model"]), tmp_path / "out", lambda _: None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear", encoding="utf-8")
    (tmp_path / "file").write_text("dear", encoding="utf-8")

    assert [path.name for path in (tmp_path / "out" / "runs").iterdir()] == ["model"]
    for taken in ("mine", "file"):
        with pytest.raises(UsageError, match="exists and is not a bundle"):
            write_bundle(Library([recorded.folder / "late"]), tmp_path / taken, lambda _: None)
    assert (tmp_path / "mine" / "letter").read_text(encoding="utf-8") == "dear"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine", "out"]


def test_what_is_interrupted_leaves_what_was_there(recorded: Recorded, tmp_path: Path) -> None:
    """An interrupt in the middle leaves the old bundle whole, and nothing beside it."""
    write_bundle(Library([recorded.folder / "late"]), tmp_path / "out", lambda _: None)

    def interrupted(number: int) -> None:
        if number == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bundle(Library([recorded.folder / "model"]), tmp_path / "out", interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "runs" / "late" / "index.html").is_file()


@pytest.mark.property
def test_the_command(commands: Commands, recorded: Recorded, tmp_path: Path) -> None:
    """The path of the first page on stdout; a folder without runs, and one that is not there, in one line with a hint."""
    done, empty, nowhere, other = commands(
        [
            ["view", str(recorded.folder / "late"), "--bundle", str(tmp_path / "out")],
            ["view", str(tmp_path), "--no-browser"],
            ["view", str(tmp_path / "nowhere"), "--no-browser"],
            ["view", str(recorded.folder / "late"), "--host", "0.0.0.0", "--port", "0", "--no-browser"],
        ]
    )

    assert (done.code, done.out) == (0, f"{tmp_path}/out/index.html\n")
    assert (tmp_path / "out" / "episodes" / "late" / "contract" / CONTRACT / "s0-a1.html").is_file()
    assert [one.code for one in (empty, nowhere, other)] == [2, 2, 2]
    assert f"{tmp_path} holds no run.json" in empty.err
    assert f"no folder named {tmp_path}/nowhere" in nowhere.err
    assert "0.0.0.0 is not a loopback address" in other.err

"""The figure that a family is ranked by has one name and one sentence at a run's end, in the viewer and on the leaderboard."""

from __future__ import annotations

import pytest

from harness.headline import figure_words, headline_of
from parley.reports.evidence import read_runs
from parley.reports.viewing import Library, Site
from tests.parley.reports.recorded import Commands, Recorded
from tests.parley.reports.viewing.html import Page


@pytest.mark.parametrize(("run", "family"), [("model-seats", "hidden-profile"), ("model-calendar", "calendar")])
def test_one_name_and_one_sentence_in_three_places(recorded: Recorded, commands: Commands, run: str, family: str) -> None:
    """Success, reward and the ranking figure differ, so each place says how, in the same words."""
    folder, meaning, short = recorded.folder / run, headline_of(family).meaning, headline_of(family).short
    (read,) = read_runs([folder])
    figure = figure_words(family, read.results)
    pages = [Site(Library([folder])).answer(page) for page in ("index.html", f"runs/{run}/index.html")]
    told = [" ".join(Page(page.body.decode()).by_id("main").text.split()) for page in pages if page is not None]
    ranked = commands([["leaderboard", str(folder)]])[0]

    assert figure.startswith(f"{short} ")
    assert f"{family}: {figure}. {meaning}" in recorded.said[run].err
    assert len(told) == 2
    assert all(figure in text and meaning in text for text in told)
    assert "".join(meaning.split()) in "".join(ranked.out.split()) + "".join(ranked.err.split())


def test_a_family_that_is_ranked_by_success_says_nothing_more(recorded: Recorded) -> None:
    """Its figure is the success rate, which stands there already."""
    (read,) = read_runs([recorded.folder / "late"])

    assert figure_words("contract", read.results) == ""

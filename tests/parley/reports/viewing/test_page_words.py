"""What pages tell a reader who knows only them: no part contradicts another, nothing is missing unsaid, words are explained."""

from __future__ import annotations

from importlib import import_module

import pytest

from harness.plugins import families
from parley.reports.viewing import Site
from parley.reports.viewing.pages import glossary, label_anchor
from tests.parley.reports.recorded import CONTRACT, FORM
from tests.parley.reports.viewing.test_pages import PAGES, page_at


def test_no_part_of_a_page_contradicts_the_verdict(site: Site) -> None:
    """Verdict, timeline, rows and table say of a replaced token that it was replaced, when, and by which request."""
    page = page_at(site, f"episodes/replaced/contract/{FORM}/s0-a1.html")
    (verdict,) = [one for one in page.all("section") if one.attributes.get("aria-label") == "Verdict"]
    drawn = next(one.text for one in page.all("title") if one.text.startswith("csrf_token_0:"))

    assert "field csrf_token was replaced by request 2 at 4 s" in " ".join(verdict.text.split())
    assert "csrf_token was replaced by request 2 at 4 s" in page.by_id("act-4").text
    assert drawn == "csrf_token_0: from 2 s until 4 s, replaced by request 2 at 4 s"
    assert "csrf_token_0 (until 4 s, replaced by request 2 at 4 s)" in page.by_id("act-1").text
    assert "csrf_token" in [one.text for one in page.all("code")]
    assert "goes on beyond the drawing" in page.by_id("main").text


def test_what_came_after_the_cause_is_no_cause(site: Site) -> None:
    """The answer at which the agent's client stopped came after the broken rule, and is told as what came later."""
    page = page_at(site, f"episodes/replaced/contract/{FORM}/s0-a1.html")
    names = [one.text for one in page.all("dt")]
    last = page.all("dd")[-1].text

    assert "error" not in names
    assert names[-1] == "later"
    assert last.startswith("the agent's client gave up: HTTPStatusError: Client error '403 Forbidden'")


def test_an_agent_that_did_nothing_is_told_so(site: Site) -> None:
    """Sections that the page has not are told with the reason, no step is 0, and no green mark stands beside the verdict."""
    page, listed = page_at(site, PAGES["nop"]), page_at(site, "runs/nop/index.html", family="contract")
    beside = page_at(site, f"compare/nop/contract/{CONTRACT}/s0-a1/oracle/s0-a1.html").by_id("main").text
    told = page.by_id("main").text

    assert "the agent sent no request" in told
    assert "No requests and no timeline: the agent sent no request." in told
    assert "No replies: nop is a script, not a model." in told
    assert "passed" in told
    assert [one for one in page.all("span") if "good" in one.attributes.get("class", "").split()] == []
    assert [one.text for one in listed.all("td")][2:6] == ["0", "-", "0", "0 s"]
    assert ("never began" in beside, "ended" in beside) == (True, False)


def test_a_row_of_a_list_says_which_request_broke_the_rule(site: Site) -> None:
    """A link says task and seed, the outcome's cell the request and when; where none broke a rule, nothing more is said."""
    many, nop = (page_at(site, f"runs/{run}/index.html") for run in ("many", "nop"))
    links = [one.text for one in many.all("a")]
    cells = [one.text.split() for one in many.all("td")[1::8]]

    assert [f"{CONTRACT} seed {seed}" for seed in range(14)] == [text for text in links if CONTRACT in text]
    assert {tuple(words[:3]) for words in cells} == {("✗", "EXPIRED_BEFORE_USE", "GET")}
    assert all(words[-3:-1] == ["at", words[-2]] and words[-1] == "s" for words in cells)
    assert all(one.text.split() == ["✗", "OTHER"] for one in nop.all("td")[1::8])


def test_every_label_leads_to_its_meaning(site: Site) -> None:
    """A label in a list, in a verdict and beside a request is a link to its line; the first page says what the controls are."""
    meanings = page_at(site, "glossary.html")
    lines = [set(page_at(site, address).targets) for address in ("runs/late/index.html", PAGES["nop"], PAGES["contract"])]
    for label, targets in zip(("EXPIRED_BEFORE_USE", "OTHER", "EXPIRED_BEFORE_USE"), lines, strict=True):
        (arrived,) = [target.rpartition("#")[2] for target in targets if "glossary.html#" in target]
        assert (arrived, label in meanings.by_id(arrived).text) == (f"contract-{label}", True)
    first = page_at(site, "index.html")

    assert "scripted controls, no models" in first.by_id("main").text
    assert "glossary.html" in first.targets
    assert label_anchor("EXPIRED_BEFORE_USE", "calendar") == label_anchor("MADE_UP", "contract") == ""


@pytest.mark.parametrize("family", families())
def test_each_label_has_a_meaning(family: str) -> None:
    """The glossary has every label that a family's world defines, each with a line of its own."""
    labels = import_module(f"worlds.{family.replace('-', '_')}.labels").Label
    (known,) = [one.labels for one in glossary().families if one.family == family]

    assert {one.word for one in known} == {label.value for label in labels}
    assert len({one.meaning for one in known}) == len(known)


def test_a_comparison_of_two_seeds_says_so(site: Site) -> None:
    """At the top, before anything that differs because the seeds do; and the way back leads through the run."""
    page = page_at(site, f"compare/many/contract/{CONTRACT}/s1-a1/oracle/s0-a1.html")
    alike = page_at(site, PAGES["compare"])
    told = page.by_id("main").text.strip().split("\n")[1]

    assert told.startswith(
        "Other seeds: seed 1 is compared with seed 0: their tokens, times and texts differ from the first request on"
    )
    assert "Other seeds" not in alike.by_id("main").text
    assert "../../../../../../runs/many/index.html" in page.targets
    assert "many, seed 0: EXPIRED" in page_at(site, f"episodes/late/contract/{CONTRACT}/s0-a1.html").by_id("main").text
    assert (
        "many, seed 2 (another seed): EXPIRED"
        in page_at(site, f"episodes/many/contract/{CONTRACT}/s1-a1.html").by_id("main").text
    )


def test_a_long_name_goes_on_at_a_joint(site: Site) -> None:
    """Where a line ends inside `violation:late_token`, it ends behind a colon or an underscore."""
    assert "violation:<wbr>late_<wbr>token" in page_at(site, "runs/many/index.html").source

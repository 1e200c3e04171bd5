"""Pages of recorded runs: sound HTML for everybody, nothing from elsewhere, and transcripts that no browser obeys."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from harness.records import Key, RunFolder
from parley.reports.reading import read_episode
from parley.reports.reading.addresses import episode_page, run_names
from parley.reports.viewing import Library, Site
from parley.reports.viewing.pages import HERE
from parley.reports.viewing.rows import is_being_played
from tests.parley.reports.reading.test_hostile_records import NASTY, obeyed, spoiled
from tests.parley.reports.recorded import CALENDAR, CONTRACT, HIDDEN, Recorded
from tests.parley.reports.viewing.html import Page

ATTACKS = (
    "<script>alert(1)</script>",
    "</pre></td></table><img src=x onerror=alert(1)>",
    '"><a href="https://evil.example/">free</a>',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
)
PAGES = {
    "runs": "index.html",
    "run": "runs/model/index.html",
    "contract": f"episodes/model/contract/{CONTRACT}/s0-a1.html",
    "success": f"episodes/oracle/contract/{CONTRACT}/s0-a1.html",
    "nop": f"episodes/nop/contract/{CONTRACT}/s0-a1.html",
    "calendar": f"episodes/model-calendar/calendar/{CALENDAR}/s0-a1.html",
    "hidden": f"episodes/model-seats/hidden-profile/{HIDDEN}/s0-a1.html",
    "seat": f"episodes/model-seats/hidden-profile/{HIDDEN}/s0-a1/seat-1.html",
    "glossary": "glossary.html",
    "compare": f"compare/model/contract/{CONTRACT}/s0-a1/oracle/s0-a1.html",
}


def page_at(site: Site, address: str, **query: str) -> Page:
    """The page at an address."""
    answer = site.answer(address, query)
    assert answer is not None, address
    assert (answer.media, answer.is_whole) == ("text/html", True)
    return Page(answer.body.decode())


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_sound(site: Site, kind: str) -> None:
    """One h1, headings in order, landmarks, scopes, unique ids, and every link into the page arrives."""
    page = page_at(site, PAGES[kind])
    levels = [int(one.tag[1]) for one in page.all("h1", "h2", "h3", "h4")]
    inner = {target[1:] for target in page.targets if target.startswith("#")}

    assert page.all("html")[0].attributes == {"lang": "en"}
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert [len(page.all(tag)) for tag in ("main", "header", "footer")] == [1, 1, 1]
    assert page.all("title")[0].text.endswith(" Parley")
    assert all(one.attributes.get("scope") in {"row", "col"} for one in page.all("th"))
    assert len(page.ids) == len(set(page.ids))
    assert "main" in inner
    assert inner <= set(page.ids)
    assert {one.attributes["for"] for one in page.all("label")} == {one.attributes["id"] for one in page.all("select")}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_loads_nothing_from_elsewhere(site: Site, kind: str) -> None:
    """Every address is relative, the only script and style are files of the site, and none stands in the page."""
    page = page_at(site, PAGES[kind])

    assert [target for target in page.targets if re.match(r"[a-z]+:|/", target)] == []
    assert [one.text.strip() for one in page.all("script", "style")] == [""]
    assert [
        one.tag for one in page.elements if "style" in one.attributes or any(n.startswith("on") for n in one.attributes)
    ] == []
    assert page.all("img", "iframe", "object", "embed", "base") == []


@pytest.mark.parametrize("kind", PAGES)
def test_json_lies_beside_each_page(site: Site, kind: str) -> None:
    """A program gets the model of a page in ASCII; the page links it."""
    address = PAGES[kind].removesuffix(".html") + ".json"
    answer = site.answer(address)

    assert answer is not None
    assert answer.body.isascii()
    assert json.loads(answer.body)
    assert address.rpartition("/")[2] in page_at(site, PAGES[kind]).targets


@pytest.mark.parametrize(
    ("run", "task"), [("late", CONTRACT), ("model", CONTRACT), ("model-seats", HIDDEN), ("model-calendar", CALENDAR)]
)
def test_a_transcript_is_only_text(recorded: Recorded, tmp_path: Path, run: str, task: str) -> None:
    """Markup, scripts, templates and control characters in any file of an episode stand on the page as letters."""
    shutil.copytree(recorded.folder / run, tmp_path / run)
    folder = next((tmp_path / run).glob("episodes/*/*/s0-a1"))
    family = folder.parents[1].name
    spoiled(folder)
    for name in ("result.json", "verdict.json", "trajectory.json", "agent.log"):
        text = (folder / name).read_text(encoding="utf-8")
        hostile = json.dumps(NASTY + "".join(ATTACKS))[1:-1] if name.endswith("json") else NASTY + "".join(ATTACKS)
        (folder / name).write_text(
            text.replace(json.dumps(NASTY)[1:-1] if name.endswith("json") else NASTY, hostile), encoding="utf-8"
        )
    site = Site(Library([tmp_path / run]))
    first = f"episodes/{run}/{family}/{task}/s0-a1"
    addresses = [f"{first}.html", "index.html", f"runs/{run}/index.html"]
    addresses += [f"{first}/seat-1.html"] if "seats" in run or "calendar" in run else []
    for address in addresses:
        page = page_at(site, address)

        assert obeyed(page.source) <= {"\t"}
        assert [one.attributes for one in page.all("script")] == [{"src": page.all("script")[0].attributes["src"], "defer": ""}]
        assert [target for target in page.targets if "evil" in target] == []
        assert [one for one in page.elements if any(name.startswith("on") for name in one.attributes)] == []
        assert page.all("img") == []
    assert ATTACKS[0] in page_at(site, f"{first}.html").by_id("main").text
    assert "\\u202e" in page_at(site, f"{first}.html").source


def test_no_template_escapes_from_escaping() -> None:
    """Nothing marks a value as safe, and no file switches escaping off."""
    sources = [path.read_text(encoding="utf-8") for path in (HERE / "templates").iterdir()]

    assert len(sources) > 5
    assert [source for source in sources if re.search(r"\|\s*safe|autoescape|Markup", source)] == []


@pytest.mark.parametrize(("run", "family", "task"), [("model", "contract", CONTRACT), ("late", "contract", CONTRACT)])
def test_three_clicks_to_the_broken_rule(site: Site, run: str, family: str, task: str) -> None:
    """From the first page: the run, the episode, the request that broke its contract, each a link of the page before."""
    runs = page_at(site, "index.html")
    assert f"runs/{run}/index.html" in runs.targets
    listed = page_at(site, f"runs/{run}/index.html")
    assert f"../../episodes/{run}/{family}/{task}/s0-a1.html" in listed.targets
    episode = page_at(site, f"episodes/{run}/{family}/{task}/s0-a1.html")
    (jump,) = [one for one in episode.all("a") if one.attributes.get("class") == "jump"]
    broken = episode.by_id(jump.attributes["href"][1:])

    assert jump.text == "GET /api/resource/part_1 at 51 s"
    assert "breach" in broken.attributes["class"].split()
    assert all(word in broken.text for word in ("EXPIRED_BEFORE_USE", "the window of the precheck has ended", "410"))


@pytest.mark.parametrize(("run", "task"), [("model-calendar", CALENDAR), ("model-seats", HIDDEN)])
def test_a_lost_game_leads_to_its_resolution_and_turns(site: Site, recorded: Recorded, run: str, task: str) -> None:
    """Where no request broke a rule, the headline links the resolution that failed the game, and each turn that lost it."""
    breach = read_episode(recorded.episode(run, task)).breach
    turns = breach.turns if breach else ()
    episode = page_at(site, PAGES["calendar" if task == CALENDAR else "hidden"])
    (jump,) = [one for one in episode.all("a") if one.attributes.get("class") == "jump"]

    assert "breach" in episode.by_id(jump.attributes["href"][1:]).attributes["class"].split()
    assert jump.attributes["href"] == "#resolution"
    marked = [one.attributes["id"] for one in episode.all("article") if "breach" in one.attributes["class"].split()]
    assert sorted(marked) == sorted(f"turn-{turn}" for turn in turns)
    assert {f"#{anchor}" for anchor in marked} <= set(episode.targets)


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ({}, 3), ({"family": "calendar"}, 1), ({"label": "SUCCESS"}, 0), ({"status": "failure", "task": CONTRACT}, 1),
        ({"status": "success"}, 0), ({"stopped": "nothing"}, 3), ({"model": "nop"}, 3), ({"task": "none of these"}, 0),
        ({"unknown": "x"}, 3), ({"page": "9"}, 3), ({"page": "-1"}, 3), ({"page": "x"}, 3),
    ],
)  # fmt: skip
def test_filters_work_by_address(site: Site, query: dict[str, str], rows: int) -> None:
    """Rows are listed by what the query string names, without any script."""
    page = page_at(site, "runs/nop/index.html", **query)

    assert len([one for one in page.all("tr") if "data-task" in one.attributes]) == rows


def test_a_long_list_has_pages(recorded: Recorded, tmp_path: Path) -> None:
    """Two hundred rows a page, each episode on one of them."""
    run = tmp_path / "run"
    shutil.copytree(recorded.folder / "late", run)
    folder = next(run.glob("episodes/*/*/s0-a1"))
    result = (folder / "result.json").read_bytes()
    for seed in range(1, 205):
        folder.with_name(f"s{seed}-a1").mkdir()
        (folder.with_name(f"s{seed}-a1") / "result.json").write_bytes(result)
    site = Site(Library([run]))
    listed = [page_at(site, f"runs/run/{name}.html") for name in ("index", "page-2")]

    seen = [[one.text for one in page.all("th") if CONTRACT in one.text] for page in listed]
    assert list(map(len, seen)) == [200, 5]
    assert len({text for page in seen for text in page}) == 205
    assert "205 of 205 episodes, page 2 of 2" in listed[1].by_id("count").text


def test_what_arrives_is_listed(recorded: Recorded, tmp_path: Path) -> None:
    """A list that was read is read again where an episode came since, and says what it cannot read."""
    run = tmp_path / "run"
    shutil.copytree(recorded.folder / "late", run)
    site = Site(Library([run]))
    page_at(site, "runs/run/index.html")
    folder = next(run.glob("episodes/*/*/s0-a1"))
    shutil.copytree(folder, folder.with_name("s1-a1"))
    shutil.copytree(folder, folder.with_name("s2-a1"))
    (folder.with_name("s2-a1") / "result.json").write_bytes(b"{")
    page = page_at(site, "runs/run/index.html")

    assert "2 of 2 episodes" in page.by_id("count").text
    assert "s2-a1: result.json cannot be read" in " ".join(page.by_id("main").text.split())


def test_an_episode_that_cannot_be_read_is_a_page_that_says_so(recorded: Recorded, tmp_path: Path) -> None:
    """A damaged file is named on the page, and the answer is no whole one."""
    run = tmp_path / "run"
    shutil.copytree(recorded.folder / "late", run)
    (next(run.glob("episodes/*/*/s0-a1")) / "events.jsonl").write_bytes(b"nonsense\n")
    answer = Site(Library([run])).answer(f"episodes/run/contract/{CONTRACT}/s0-a1.html")

    assert answer is not None
    assert not answer.is_whole
    assert "events.jsonl cannot be read: line 1 is not an event" in Page(answer.body.decode()).by_id("main").text


@pytest.mark.parametrize("part", ["episodes", CONTRACT, "s0-a1", "trajectory.json"])
def test_no_link_out_of_a_run_is_followed(recorded: Recorded, tmp_path: Path, part: str) -> None:
    """A link anywhere below a run, or in a file's place, shows nothing of where it leads."""
    run = tmp_path / "run"
    shutil.copytree(recorded.folder / "late", run)
    place = next(path for path in run.rglob(part))
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    site = Site(Library([run]))
    answers = [
        site.answer(f"episodes/run/contract/{CONTRACT}/s0-a1{end}") for end in (".html", ".json", "/trajectory.json.txt")
    ]

    assert [answer for answer in answers if answer is not None and answer.is_whole] == []
    if part != "trajectory.json":
        assert "0 of 0 episodes" in page_at(site, "runs/run/index.html").by_id("count").text


@pytest.mark.parametrize(
    "path",
    [
        "../index.html", "static/../../site.py", "static/site.py", "episodes/late/contract/../../run.json", "/etc/passwd",
        f"episodes/late/contract/{CONTRACT}/s0-a1/run.json.txt", f"episodes/late/contract/{CONTRACT}/s0-a1/../../run.json.txt",
        f"episodes/nowhere/contract/{CONTRACT}/s0-a1.html", f"episodes/late/contract/{CONTRACT}/s0-a2.html",
        f"episodes/late/contract/{CONTRACT}/s0-a1/seat-0.html", "runs/late/index.html\n",
        "runs/./index.html", "runs/../index.html",
        f"compare/late/contract/{CONTRACT}/s0-a1/late/s7-a7.html", f"episodes/late/contract/{CONTRACT}/s\u0660-a1.html",
    ],
)  # fmt: skip
def test_nothing_else_is_a_page(site: Site, path: str) -> None:
    """What no pattern names, and what no run has, is nothing."""
    assert site.answer(path) is None


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Names in addresses are unique and need no quoting, whatever folders are called."""
    folders = [Path(name) for name in ("/a/run", "/b/run", "/c/b/run", "/x/a b&c", "/y/..hidden", "/z/agent=a,b")]

    names = run_names(folders)
    assert list(names) == ["a--run", "b--run", "b--run-2", "a-b-c", "-hidden", "agent=a,b"]
    assert list(names.values()) == folders
    assert episode_page("a", Key(task_id="t", family="f", seed=1, attempt=2)) == "episodes/a/f/t/s1-a2.html"


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, as WCAG computes it."""
    lights = []
    for colour in (first, second):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(scheme: str) -> None:
    """Every text on every ground it stands on has a contrast of 4.5 or more, in both schemes."""
    light, dark = re.findall(r":root \{(.*?)\}", (HERE / "static" / "style.css").read_text(encoding="utf-8"), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", light))
    colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", dark)) if scheme == "dark" else {}
    pairs = [(text, ground) for text in ("text", "quiet", "link", "good", "bad", "none") for ground in ("back", "raised")]
    pairs += [("good", "good-back"), ("bad", "bad-back"), ("none", "none-back"), ("mark-text", "mark")]
    pairs += [("text", "good-back"), ("text", "bad-back"), ("text", "none-back")]

    poor = {pair: ratio for pair in pairs if (ratio := contrast(colours[pair[0]], colours[pair[1]])) < 4.5}
    assert poor == {}


def test_the_list_of_locks_tells_what_is_being_played(tmp_path: Path) -> None:
    """A run that a process holds is being played, and asking does not take its lock."""
    with RunFolder(tmp_path / "run").held():
        assert is_being_played(tmp_path / "run") or not Path("/proc/locks").exists()
    assert not is_being_played(tmp_path / "run")

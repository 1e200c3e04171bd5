"""Pages in a real Chromium, from a disk and from the server: axe finds nothing serious, nothing is refused, nothing sticks out.

`make browser` gets what this needs and runs it; CI does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from parley.reports.viewing import Library, Site, open_server, write_bundle
from tests.browser.chromium import opened, troubles
from tests.parley.reports.recorded import CONTRACT, FORM, HIDDEN, Recorded
from tests.parley.reports.viewing.test_pages import PAGES

Done = CompletedProcess[str]
RUNS = ("late", "model", "model-seats", "model-calendar", "nop", "oracle")


@pytest.mark.browser
def test_a_bundle_from_the_disk(recorded: Recorded, tmp_path: Path) -> None:
    """Every kind of page, wide and light, narrow and dark; and from the first page three clicks reach the broken rule."""
    write_bundle(Library([recorded.folder / run for run in RUNS]), tmp_path / "bundle", lambda _: None)
    root = (tmp_path / "bundle").as_uri()
    clicks = {"from": f"{root}/index.html", "links": ["a[href$='runs/late/index.html']", "tbody th a", "a.jump"]}
    told = opened([f"{root}/{page}" for page in PAGES.values() if not page.startswith("compare/")], clicks)

    assert troubles(told["seen"]) == []
    assert all(word in told["arrived"]["text"] for word in ("EXPIRED_BEFORE_USE", "the window of the precheck has ended"))
    assert told["arrived"]["url"] == f"{root}/episodes/late/contract/{CONTRACT}/s0-a1.html#act-4"
    assert 0 <= told["arrived"]["box"]["y"] < 720


@pytest.mark.browser
def test_the_next_violation_is_marked_and_the_button_stays(recorded: Recorded, tmp_path: Path) -> None:
    """Two clicks on one button mark the second violation alone, and the button is in the window to be clicked again."""
    write_bundle(Library([recorded.folder / "replaced"]), tmp_path / "bundle", lambda _: None)
    page = (tmp_path / "bundle" / f"episodes/replaced/contract/{FORM}/s0-a1.html").as_uri()
    row, button = (
        opened([], {"from": page, "links": ["button[data-next]"] * 2, "target": target})["arrived"]
        for target in (".current", "button[data-next]")
    )

    assert "a submit must come first" in row["text"]
    assert 0 <= button["box"]["y"] < 60 < row["box"]["y"] < 720


@pytest.mark.browser
def test_a_report(recorded: Recorded, harness: Callable[..., Done], tmp_path: Path) -> None:
    """A report on all three families, from the disk: regions that scroll are reached by keyboard, and named apart."""
    runs = [recorded.folder / run for run in ("late", "many", "model-seats", "model-calendar", "nop", "oracle")]
    done = harness("report", *map(str, runs), "--html", str(tmp_path / "report.html"))
    told = opened([(tmp_path / "report.html").as_uri()])

    assert done.returncode == 0
    assert troubles(told["seen"]) == []


@pytest.mark.browser
def test_the_server_in_a_browser(recorded: Recorded) -> None:
    """Under the policy of the server's headers style and script work, two attempts stand side by side, and links arrive."""
    with open_server(Site(Library([recorded.folder])), port=0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            clicks = {"from": f"{server.url}{PAGES['hidden']}", "links": ["a.jump"]}
            told = opened([server.url + PAGES[kind] for kind in ("runs", "run", "compare")], clicks)
        finally:
            server.shutdown()
            thread.join()

    assert troubles(told["seen"]) == []
    assert "the group pooled too little" in told["arrived"]["text"]
    assert HIDDEN in told["arrived"]["url"]

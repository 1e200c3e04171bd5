"""Pages in a real Chromium, from a disk and from the server: axe finds nothing serious, nothing is refused, nothing sticks out.

`make browser` gets what this needs and runs it; CI does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.viewing import Library, Site, open_server, write_bundle
from tests.reading.conftest import CONTRACT, HIDDEN, Recorded
from tests.reading.test_pages import PAGES

LOOK = Path(__file__).with_name("look.cjs")
RUNS = ("late", "model", "model-seats", "model-calendar", "nop", "oracle")


def opened(pages: Sequence[str], clicks: Mapping[str, Any]) -> dict[str, Any]:
    """What Chromium says of these pages, and where these clicks lead."""
    modules = os.environ.get("PARLEY_NODE_MODULES")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert modules, "set PARLEY_NODE_MODULES to a folder with playwright-core and axe-core, as make browser does"
    assert executable, "no Chromium on PATH; try: apt-get install chromium"
    asked = json.dumps({"executable": executable, "pages": list(pages), "clicks": clicks})
    done = subprocess.run(
        ["node", str(LOOK), asked], capture_output=True, text=True, check=False, env={**os.environ, "NODE_PATH": modules}
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def troubles(seen: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The pages with something wrong."""
    return [one for one in seen if one["said"] or one["found"] or one["wider"] > 0]


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
def test_the_server_in_a_browser(recorded: Recorded) -> None:
    """Under the policy of the server's headers style and script work, two attempts stand side by side, and links arrive."""
    with open_server(Site(Library([recorded.folder])), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            clicks = {"from": f"{server.url}{PAGES['hidden']}", "links": ["a.jump"]}
            told = opened([server.url + PAGES[kind] for kind in ("runs", "run", "compare")], clicks)
        finally:
            server.shutdown()
            thread.join()

    assert troubles(told["seen"]) == []
    assert "oven" in told["arrived"]["text"]
    assert HIDDEN in told["arrived"]["url"]

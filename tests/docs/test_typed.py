"""What the pages ask for is typed as it stands, page by page, in a copy of this checkout beside a local model server.

A command that would take hours, or wants a person, is planned: the line with `--dry-run`. Reasons stand in `untyped`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.paths import ROOT
from tests.docs.conftest import Reader
from tests.docs.pages import PAGES, commands, described
from tests.docs.untyped import ELSEWHERE, OTHERS, PARSED, PLANNED

pytestmark = pytest.mark.bubblewrap

SMALL = "harness run presigned-url-download api-rate-limit-patience --model {} --out runs/{} --k 2"
MIXED = "harness run presigned-url-download cursor-pagination-integrity uniform-01 --model gpt-5 --out runs/gpt-5"
GAMES = "harness run uniform-01 uniform-02 --agent imap --out runs/{}"
BEFORE: Mapping[str, tuple[str, ...]] = {
    "README.md": (SMALL.format("gpt-5", "old"), SMALL.format("gpt-5", "new")),
    "docs/calendar.md": tuple(GAMES.format(name) for name in ("RUN", "RUNS")),
    "docs/calendar-audits.md": tuple(GAMES.format(name) for name in ("RUN", "BASE", "PROBED")),
    "docs/reports.md": (
        MIXED,
        GAMES.format("imap"),
        "harness run airliner-by-night --agent pool --set condition=hidden,full --out runs/pool",
    ),
    "docs/running.md": (
        "harness run calendar --agent imap --print-config > mine.toml",
        SMALL.format("gpt-5", "RUN"),
        *(f"harness run contract --shard {n}/2 --out shards-of/{n} && harness pack shards-of/{n}" for n in (1, 2)),
        "mkdir shards && mv shards-of/*.run.parquet shards/",
    ),
    "docs/scale.md": (
        *(f"harness run presigned-url-download --seeds 0-3 --runtime inprocess --shard {n}/4 --out s{n}" for n in (1, 2, 3, 4)),
        *(f"harness pack s{n}" for n in (2, 3, 4)),
    ),
    "docs/statistics.md": (
        *(SMALL.format("gpt-5", name) for name in ("old", "new", "gpt-5")),
        SMALL.format("gpt-5,gpt-5-mini", "sweep"),
    ),
    "docs/viewing.md": (MIXED, GAMES.format("imap")),
}
"""Runs that a page speaks of as if they were there."""

NAMED = re.compile(r"(?<= )(RUNS?|BASE|PROBED)(\.\.\.)?(?= |$)")
"""What stands on a page for a run's folder."""

EXITS = {"harness compare runs/old runs/new": (0, 1), "harness compare runs/old runs/new --max-drop 2pp": (0, 1)}
"""Exit codes of lines that say something by them; all others end with 0."""


def typed(page: Path) -> list[str]:
    """The lines of a page that are run or planned, after those that make what the page speaks of."""
    name = str(page.relative_to(ROOT))
    lines = [described(one.text) for one in commands() if one.page == page and not one.printed]
    kept = [line for line in lines if line not in {*PARSED, *OTHERS} and name not in ELSEWHERE]
    return [*BEFORE.get(name, ()), *(f"{line} --dry-run" if line in PLANNED else line for line in kept)] if kept else []


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)], ids=lambda page: page.name)
def test_page(page: Path, reader: Reader) -> None:
    """Each line ends as a reader expects it to."""
    reader.tidies_up()
    (reader.checkout / "mine.md").write_text("Be brief.\n")
    for line in typed(page):
        command = NAMED.sub(r"runs/\1", line).replace("http://127.0.0.1:8000/v1", reader.environ["OPENAI_BASE_URL"])
        done = reader.types(command)

        assert done.returncode in EXITS.get(line, (0,)), f"{line}\n{done.stdout[-3000:]}"

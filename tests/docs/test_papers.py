"""The page that maps the papers to commands: current, whole, and naming only what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.plugins import family_part
from tests.docs.papers import PAGE, numbers, page, papers

EDITION = ("2026, abstract", "2026, depth", "2026, size")
COUNTS = {
    "contract": ({f"Table {n}" for n in range(1, 14)}, {f"Figure {n}" for n in range(1, 11)}),
    "calendar": ({f"Table {n}" for n in range(1, 18)}, {f"Figure {n}" for n in range(1, 10)}),
    "hidden-profile": ({"Table 1", "Table A1", "Table A2"}, {*(f"Figure {n}" for n in range(1, 5)), *EDITION}),
}
"""The tables and figures that each paper numbers, and what is told of a later edition."""


def test_the_page_is_current() -> None:
    """Its rows are what `make papers` writes."""
    assert page() == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("family", COUNTS)
def test_every_table_and_figure_is_there(family: str) -> None:
    """None is left out, and parts of a figure stand for it."""
    items = {re.sub(r"\(.\)$", "", item["item"]) for item in papers()[family]["items"]}
    tables, figures = COUNTS[family]

    assert tables | figures == items


@pytest.mark.parametrize("family", COUNTS)
def test_what_rows_name_is_there(family: str, root: Path) -> None:
    """Each row says how or why not, by tables, figures, presets and published lists that exist."""
    report, figure = family_part(family, "report"), family_part(family, "figure")
    tables = {*report.TABLES, *getattr(report, "BY_NAME", {})}
    presets = {path.stem for path in (root / "harness" / "presets").glob("*.toml")}
    for item in papers()[family]["items"]:
        assert {"table", "figure", "command", "why_not"} & set(item), item
        assert {item["table"]} <= tables if "table" in item else True, item
        assert {item["figure"]} <= set(figure.FIGURES) if "figure" in item else True, item
        assert item.get("published", "source") in numbers(family), item
        named = re.findall(r"--preset (\S+)", f"{item.get('command', '')} {papers()[family]['run']}")
        assert set(named) <= presets, item

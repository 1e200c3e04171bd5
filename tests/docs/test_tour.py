"""What docs/tour.md shows is what its commands print: typed again in order, and compared but for times, sizes and dates."""

from __future__ import annotations

import re

import pytest

from harness.paths import ROOT
from tests.docs.conftest import Reader
from tests.docs.pages import commands

pytestmark = pytest.mark.property

PAGE = ROOT / "docs" / "tour.md"
SHOWN = [one for one in commands() if one.page == PAGE and one.printed]
CHANGING = (
    (re.compile(r"^(\[\d+/\d+\] .*), [\d.]+ s(; .*)?$", re.MULTILINE), r"\1, T"),
    (re.compile(r"[\d.]+ (real s|[kM]B)"), r"N \1"),
    (re.compile(r"(checks in|passed,) [\d.]+ s$", re.MULTILINE), r"\1 T"),
    (re.compile(r"^(\S+ +ok +\d+ +\d+) +[\d.]+$", re.MULTILINE), r"\1 T"),
)
"""What differs from one time to the next, and what stands for it."""


def settled(text: str) -> str:
    """What was printed, without what differs each time, and without spaces at ends of lines."""
    for changing, instead in CHANGING:
        text = changing.sub(instead, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_it_prints_what_the_page_shows(reader: Reader) -> None:
    """Every block of the tour that shows what its command prints, in the order of the page."""
    for one in SHOWN:
        said = reader.types(one.text).stdout.replace(f"{reader.checkout}/", "")

        assert settled(said) == settled(one.printed), f"{one.place}: {one.text} prints\n{said}"
    assert len(SHOWN) > 10

"""The figure that contracts are ranked by: the success rate (paper, Tables 3 and 10)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.headline import Headline, PublishedFigure
from harness.records import Result
from parley.families.contract.published import leaderboard, source


def _succeeded(result: Result) -> float:
    return float(result.success)


def _published() -> Iterator[PublishedFigure]:
    yield from (PublishedFigure(row.model, row.percent / 100) for row in leaderboard() if row.kind != "base")


HEADLINE = Headline("success rate", "SR %", _succeeded, published=_published, source=source("Table 10"))

"""The figure that contracts are ranked by: the success rate (paper, Tables 3 and 10)."""

from __future__ import annotations

from harness.headline import Headline
from harness.records import Result


def _succeeded(result: Result) -> float:
    return float(result.success)


HEADLINE = Headline("success rate", "SR %", _succeeded, published="parley.families.contract.published:headline")

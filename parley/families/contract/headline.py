"""The figure that contracts are ranked by: the success rate (paper, Tables 3 and 10)."""

from __future__ import annotations

from harness.headline import Headline

HEADLINE = Headline(
    "success rate", "SR %", lambda result: float(result.success), published="parley.families.contract.published:headline"
)

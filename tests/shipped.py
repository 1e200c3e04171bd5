"""The tasks that we ship, read once for a whole session: two thousand files that six modules of tests begin with."""

from __future__ import annotations

from pathlib import Path

from harness.registry import discover

SHIPPED = tuple(discover(Path(__file__).parents[1] / "tasks"))

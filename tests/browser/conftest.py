"""The recorded runs whose pages a browser opens."""

from __future__ import annotations

from tests.parley.reports.recorded import commands, recorded

__all__ = ["commands", "recorded"]

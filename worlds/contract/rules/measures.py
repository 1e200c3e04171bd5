"""The measures of one contract episode, as `metrics` of its verdict.json holds them: success leaves little to measure."""

from __future__ import annotations

from worlds.core.models import Strict


class Measures(Strict):
    """All of one episode."""

    ended_by: str | None
    """The budget or rule that closed it, world's or harness's; None where the client simply came to its end."""

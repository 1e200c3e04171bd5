"""Measurements of one contract episode, stored as `metrics` in verdict.json."""

from __future__ import annotations

from worlds.core.models import Strict


class Measures(Strict):
    """All measurements of one episode."""

    ended_by: str | None
    """The budget or rule of world or harness that closed the episode; None if the client finished by itself."""

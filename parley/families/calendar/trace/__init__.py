"""Traces of calendar games: one JSON file each, in the paper's layout, sufficient to replay the game."""

from __future__ import annotations

from typing import Any

from parley.families.calendar.trace.exporting import exported, replay_trace
from parley.families.calendar.trace.model import ASKING, SCHEMA
from parley.families.calendar.trace.upstream import is_upstream, replay_upstream
from parley.reports.reading import RecordedEpisode
from parley.reports.reading.model import Replayed

__all__ = ["exported_text", "is_trace", "replayed"]


def exported_text(episode: RecordedEpisode, digest: str) -> str:
    """Return the trace of an episode as text of a file. Raises UsageError for an episode without a sound game."""
    return exported(episode, digest).text()


def is_trace(document: Any) -> bool:
    """Return True if a JSON document is a trace of a calendar game, ours or in the published layout."""
    return is_upstream(document) or (isinstance(document, dict) and document.get("schema") in (SCHEMA, ASKING))


def replayed(document: Any) -> Replayed:
    """Replay a trace. Raises UsageError if it cannot be read."""
    return replay_upstream(document) if is_upstream(document) else replay_trace(document)

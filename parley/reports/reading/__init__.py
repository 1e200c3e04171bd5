"""Reader of a recorded episode's folder: typed models (`model`), parsing (`episode`) and printing (`text`).

All contents of a run's folder are untrusted. They are read without following links and up to a size limit, an unreadable file
is reported in one line, and control characters are escaped before anything reaches a terminal.
"""

from parley.reports.reading.episode import (
    FILES,
    breaking_request,
    is_episode,
    is_recorded,
    read_episode,
    read_result,
    recorded_episodes,
)
from parley.reports.reading.lifetimes import Lifetime, breach_told, lifetimes, rule_told
from parley.reports.reading.model import Act, Breach, Cell, Conversation, Moment, RecordedEpisode, Section, ToolUse, Utterance
from parley.reports.reading.text import episode_lines

__all__ = [
    "FILES", "Act", "Breach", "Cell", "Conversation", "Lifetime", "Moment", "RecordedEpisode", "Section", "ToolUse",
    "Utterance", "addresses", "breach_told", "breaking_request", "episode_lines", "is_episode", "is_recorded", "lifetimes",
    "model", "read_episode", "read_result", "recorded_episodes", "rule_told", "text",
]  # fmt: skip

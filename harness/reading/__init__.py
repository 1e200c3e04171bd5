"""Reader of a recorded episode's folder: typed models (`model`), parsing (`episode`) and printing (`text`).

All contents of a run's folder are untrusted. They are read without following links and up to a size limit, an unreadable file
is reported in one line, and control characters are escaped before anything reaches a terminal.
"""

from harness.reading.episode import (
    FILES,
    breaking_request,
    is_episode,
    is_recorded,
    read_episode,
    read_result,
    recorded_episodes,
)
from harness.reading.lifetimes import Lifetime, breach_told, lifetimes, rule_told
from harness.reading.model import (
    Act,
    Breach,
    Cell,
    Conversation,
    Moment,
    RecordedEpisode,
    Section,
    ToolUse,
    Utterance,
)
from harness.reading.text import episode_lines

__all__ = [
    "FILES",
    "Act",
    "Breach",
    "Cell",
    "Conversation",
    "Lifetime",
    "Moment",
    "RecordedEpisode",
    "Section",
    "ToolUse",
    "Utterance",
    "addresses",
    "breach_told",
    "breaking_request",
    "episode_lines",
    "is_episode",
    "is_recorded",
    "lifetimes",
    "model",
    "read_episode",
    "read_result",
    "recorded_episodes",
    "rule_told",
    "text",
]

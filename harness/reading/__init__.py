"""One recorded episode, read from its folder: a typed model (`model`), how it is read (`episode`), how it is printed (`text`).

Everything in a run's folder is data from anybody. It is read through no link and up to a bound, a file that cannot be read is
named in one clear line, and nothing reaches a terminal before its control characters are spelled out.
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

"""What a log says before anything is judged: the scenario and options of its game.

Replies are read by the rule that the world reads by, so the notes that follow can be foretold. Only a reply that the world had
to repair is taken as the notes tell it, and these are held against the rules alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from validators.episode import Episode
from worlds.calendar.rules.scenario import Scenario, parse_scenario
from worlds.calendar.rules.settings import Settings
from worlds.core.events import Noted, canonical

_CHOICES = {
    "failed_rounds": ("undo", "keep"),
    "outsiders": ("on_mail", "stay"),
    "blocked_attempts": ("retry", "doom"),
    "exhausted": ("others_commit", "rollback"),
    "voluntary": ("staged", "immediate"),
    "justification": ("required", "free"),
    "outcomes": ("untold", "told"),
    "reflection": ("none", "asked", "expected"),
}


class Said(NamedTuple):
    """A reply as it was read."""

    actions: list[Any] | None
    """None where only the world's notes tell them."""

    how: str
    problem: str = ""
    """Why nothing was read."""


def read_scenario(episode: Episode) -> Scenario | str:
    """The scenario in the first note of the log, or why there is none."""
    first = next((event for event in episode.events if isinstance(event, Noted)), None)
    if first is None or first.what != "game_start" or first.seat is not None or set(first.data) != {"scenario"}:
        return "the first note must be game_start, with a scenario and nothing else"
    try:
        return parse_scenario(canonical(first.data["scenario"]))
    except ValidationError as error:
        return f"seq {first.seq}: no scenario: {error.errors()[0]['msg']}"


def read_settings(episode: Episode) -> Settings | str:
    """The settings that the first event's options mean, or why they mean none."""
    options = episode.opened.options
    try:
        settings = Settings.of(options)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return f"seq 0: the options are no settings: {type(error).__name__} {error}"
    wrong = [name for name, allowed in _CHOICES.items() if getattr(settings, name) not in allowed]
    wrong += [name for name in ("turn_cap", "decision_retries") if type(getattr(settings, name)) is not int]
    wrong += ["message_cap"] if settings.message_cap is not None and type(settings.message_cap) is not int else []
    wrong += ["strict_replies"] if type(settings.strict_replies) is not bool else []
    if wrong:
        return f"seq 0: the options are no settings: {', '.join(wrong)}"
    return settings


def split(actions: Sequence[Any], tools: Sequence[str]) -> tuple[list[Any], list[str]]:
    """The actions that a phase takes, what is no action included, and the names of the tools that it does not know."""
    foreign = [_tool(action) not in (None, *tools) for action in actions]
    kept = [action for action, out in zip(actions, foreign, strict=True) if not out]
    dropped = [str(_tool(action))[:40] for action, out in zip(actions, foreign, strict=True) if out]
    return kept, dropped


def _tool(action: Any) -> str | None:
    tool = action.get("type") if isinstance(action, dict) else None
    return tool if isinstance(tool, str) else None

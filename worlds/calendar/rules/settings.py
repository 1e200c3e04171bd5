"""Settings of a game: options by name, and two profiles that set several of them together (docs/calendar.md, "Options").

One agent may send a limited number of messages per turn of talk, and a limited number of characters to each reader. The excess
is dropped on sending, so no agent can fill a reader's context. Between two of its turns a reader hears each other agent once,
and an outsider that was not called in between at most twice, so it receives at most 2 x (agents - 1) x `characters`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

CHANNELS = ("dm", "participants", "all")
SILENCE = "none"
"""Option value for rounds without talk."""

PROFILES: dict[str, dict[str, Any]] = {
    "text": {
        "turn_cap": 15,
        "failed_rounds": "undo",
        "outsiders": "on_mail",
        "blocked_attempts": "retry",
        "exhausted": "others_commit",
        "voluntary": "staged",
        "justification": "required",
    },
    "paper": {
        "turn_cap": 4,
        "failed_rounds": "keep",
        "outsiders": "stay",
        "blocked_attempts": "doom",
        "exhausted": "rollback",
        "voluntary": "immediate",
        "justification": "free",
    },
}
"""Profile -> its settings. The paper states 15 sweeps; its Table 2 can only have been made with 4 (docs/calendar.md)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The resolved options of one game; `worlds.calendar.options` describes them."""

    profile: str = "text"
    channels: frozenset[str] = frozenset({"dm"})
    """The open channels; empty if rounds have no talk."""

    turn_cap: int = 15
    message_cap: int | None = None
    decision_retries: int = 3
    failed_rounds: str = "undo"
    outsiders: str = "on_mail"
    blocked_attempts: str = "retry"
    exhausted: str = "others_commit"
    voluntary: str = "staged"
    justification: str = "required"
    strict_replies: bool = False
    outcomes: str = "untold"
    reflection: str = "none"

    @property
    def asks_beliefs(self) -> bool:
        """True if seats are asked for beliefs."""
        return self.reflection != "none"

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """Return the settings for a world's resolved options."""
        set_together = PROFILES[options["profile"]]
        chosen = {name: value if options[name] in ("profile", 0) else options[name] for name, value in set_together.items()}
        return cls(
            profile=options["profile"],
            channels=frozenset(str(options["channels"]).split("+")) - {SILENCE},
            message_cap=options["message_cap"] or None,
            decision_retries=options["decision_retries"],
            strict_replies=options["strict_replies"],
            # logs of versions without this option say nothing of it
            outcomes=options.get("outcomes", "untold"),
            # named where it is not the default
            reflection=options.get("reflection", "none"),
            **chosen,
        )


MESSAGES = 20
"""Maximum number of messages in one turn; more if there are many agents to write to."""

MESSAGES_TO_EACH = 4
"""Messages per other agent, if that is more in total."""

CHARACTERS = 4000
"""Maximum number of characters to one reader in one turn; more for long calendars, since protocols name every slot."""

CHARACTERS_A_SLOT = 20
"""Characters per slot, if that is more in total."""


class TurnBounds(NamedTuple):
    """The limits of one game."""

    messages: int
    """Messages of one agent in one turn."""

    characters: int
    """Characters of one agent in one turn to one reader, including group messages."""


def turn_bounds(agents: int, slots: int) -> TurnBounds:
    """Return the limits of a game: 20 messages and 4,000 characters, unless it has over 6 agents or 200 slots."""
    return TurnBounds(max(MESSAGES, MESSAGES_TO_EACH * (agents - 1)), max(CHARACTERS, CHARACTERS_A_SLOT * slots))

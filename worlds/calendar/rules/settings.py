"""How a game is played: options by name, and two profiles that set them together.

`text` is what the paper's text says, with failed rounds undone; `paper` is what its released code does, for comparison with the
published numbers. Every option can be set by itself; the value `profile` (or 0 for the turn cap) means what the profile says.

How much one agent may say in one turn of talk: so many messages, and so many characters to each reader. What is beyond is
dropped where it is sent, so nobody can fill a reader's context. From one turn of its own to the next a reader hears everybody
else once, and an outsider that was not called in between at most twice; so it is sent at most 2 x (agents - 1) x `characters`
at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

CHANNELS = ("dm", "participants", "all")
SILENCE = "none"
"""In the place of channels: rounds without talk."""

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
"""Profile -> what it sets. The paper names 15 sweeps; its Table 2 can only have been made with 4 (docs/calendar.md)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one game, resolved."""

    profile: str = "text"
    channels: frozenset[str] = frozenset({"dm"})
    """The open ways to talk; none where rounds have no talk."""

    turn_cap: int = 15
    """Sweeps of cheap talk in a round."""

    message_cap: int | None = None
    """Messages that one seat may send in the whole game."""

    decision_retries: int = 3
    failed_rounds: str = "undo"
    outsiders: str = "on_mail"
    blocked_attempts: str = "retry"
    exhausted: str = "others_commit"
    voluntary: str = "staged"
    justification: str = "required"
    strict_replies: bool = False
    outcomes: str = "untold"
    """Whether participants are told what became of a round."""

    reflection: str = "none"
    """`asked` where all are asked after each round how their beliefs changed, `expected` where answers may be expectations."""

    @property
    def asks(self) -> bool:
        """Whether beliefs are asked for."""
        return self.reflection != "none"

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """The settings that a world's resolved options mean."""
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
"""In one turn; more where there are many agents to write to."""

MESSAGES_TO_EACH = 4
"""For every other agent, where that comes to more."""

CHARACTERS = 4000
"""To one reader in one turn; more where calendars are long, since protocols name every slot."""

CHARACTERS_A_SLOT = 20
"""For every slot, where that comes to more."""


class TurnBounds(NamedTuple):
    """The bounds of one game."""

    messages: int
    """Of one agent in one turn."""

    characters: int
    """Of one agent in one turn to one reader, group messages included."""


def turn_bounds(agents: int, slots: int) -> TurnBounds:
    """The bounds of a game of this shape: 20 messages and 4,000 characters, unless it has over 6 agents or 200 slots."""
    return TurnBounds(max(MESSAGES, MESSAGES_TO_EACH * (agents - 1)), max(CHARACTERS, CHARACTERS_A_SLOT * slots))

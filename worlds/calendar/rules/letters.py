"""How much one agent may say in one turn of talk: so many messages, and so many characters to each reader.

What is beyond is dropped where it is sent, so nobody can fill a reader's context. From one turn of its own to the next a reader
hears everybody else once, and an outsider that was not called in between at most twice; so it is sent at most
2 x (agents - 1) x `characters` at a time.
"""

from __future__ import annotations

from typing import NamedTuple

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

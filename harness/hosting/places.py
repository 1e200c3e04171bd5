"""One person's place in a hosted game, and what they are to see of it now."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Literal

from worlds.core.turns import OpenTurn

Stage = Literal["lobby", "waiting", "turn", "chat", "over"]


class NotTaken(Exception):
    """What somebody sent cannot be taken; the message is theirs to read."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class PagePlace:
    """A seat for one person, opened by a token that only their link has."""

    seat: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    name: str = ""
    rules: str = ""
    joined: bool = False
    left: bool = False
    """Gone for good."""

    away: bool = False
    """Whether they let a turn go by and were not seen since."""

    over: bool = False
    saw_the_end: bool = False
    turn: OpenTurn | None = None
    reply: str | None = None
    done: set[str] = field(default_factory=set)
    """Ids of turns that this place has had, answered or not."""

    said: int = 0
    """Messages that they sent to the chat."""

    left_chat: bool = False

    @property
    def identity(self) -> str:
        """What the record calls them: the name that they gave, or an id of which nobody can tell who it was."""
        return self.name or f"anon-{hashlib.sha256(self.token.encode()).hexdigest()[:6]}"


@dataclass(frozen=True)
class Shown:
    """What one person is to see."""

    stage: Stage
    version: str
    """Changes whenever their page has to be another one; a new message in the chat does not change it."""

    seat: int
    name: str
    rules: str
    turn: OpenTurn | None
    messages: tuple[tuple[int, str], ...]
    """Seat and text of everything that was said in the chat."""

    left_s: int
    """Seconds for which the chat is still open."""

    said: int
    left_chat: bool
    joined: int
    places: int

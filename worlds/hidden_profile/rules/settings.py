"""How a session is held: the condition, its length, an instruction variant, and what votes and turns show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session."""

    condition: str = "hidden"
    """hidden: shared facts and one's own; full: everything; shared_only: the shared facts."""

    deal: str = "mixed"
    """Of a deck: hidden or manifest deals alone, or one of each in every pair of seeds."""

    size: int = 0
    """How many people a deck is dealt to; 0 for as many as it was written for."""

    rounds: int = 15
    talk: str = "turns"
    """turns: in rounds, one after the other; chat: whoever wants to says what they want, until they leave or it is closed."""

    minutes: int = 15
    """How long the chat is open by the clock of whoever holds the session; people are told it."""

    variant: str = "none"
    track: str = "free"
    """free: messages are prose; structured: prose, the facts that it rests on, and a stance."""

    first_vote: str = "ephemeral"
    """ephemeral: no part of the voter's conversation; kept: it stays there."""

    heard: str = "last"
    """What a turn of talk repeats: the latest message of each other seat, or all messages so far."""

    horizon: str = "told"
    """Whether the rules and the turns say how many rounds there are."""

    exchange_decide: bool = False
    """Whether the first half of the rounds, the larger one, is for facts and the second for the choice."""

    reveal_all: bool = False
    """Whether everybody's own facts are read out before the first round."""

    vote_view: str = "all"
    """What of the discussion the second vote repeats: all of it, or its last round."""

    remind_pre_vote: bool = False
    early_stop: bool = False
    stance_poll: bool = False
    """Whether after each round everybody is asked alone where they stand, which nobody hears of."""

    stakes: bool = False
    """Whether the rules say that being right is paid for, as the people of the paper's study were told."""

    @property
    def exchanging(self) -> int:
        """The rounds that are for facts alone."""
        return (self.rounds + 1) // 2 if self.exchange_decide else 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """The settings that a world's resolved options mean; what is quiet there (`talk`, `minutes`) is as usual here."""
        told = {"talk": cls().talk, "minutes": cls().minutes, **options}
        return cls(**{name: told[name] for name in cls.__slots__})

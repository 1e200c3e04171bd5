"""Settings of a session: the condition, its length, an instruction variant, and the content of votes and turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUIET: Mapping[str, Any] = {"talk": "turns", "minutes": 15}
"""Values of settings that a log omits."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session."""

    condition: str = "hidden"
    """hidden: the shared facts and one's own; full: all facts; shared_only: the shared facts."""

    deal: str = "mixed"
    """For a deck: hidden or manifest deals only, or one of each in every pair of seeds."""

    size: int = 0
    """Number of people to whom a deck is dealt; 0 for its own number."""

    rounds: int = 15
    talk: str = "turns"
    """turns: in rounds, one seat after the other; chat: any seat may speak at any time, until it leaves or the chat ends."""

    minutes: int = 15
    """Minutes for which the chat is open on the host's clock; people are told."""

    variant: str = "none"
    track: str = "free"
    """free: messages are prose; structured: prose, cited facts, and a stance."""

    first_vote: str = "ephemeral"
    """ephemeral: not part of the voter's conversation; kept: stays in it."""

    heard: str = "last"
    """Content of a turn of talk: the latest message of each other seat, or all messages so far."""

    horizon: str = "told"
    """told: the rules and the turns state the number of rounds."""

    exchange_decide: bool = False
    """True if the first half of the rounds, rounded up, is for facts and the second for the choice."""

    reveal_all: bool = False
    """True if the own facts of all seats are read out before the first round."""

    vote_view: str = "all"
    """Part of the discussion that the second vote repeats: all of it, or its last round."""

    remind_pre_vote: bool = False
    early_stop: bool = False
    stance_poll: bool = False
    """True if each seat is asked for its stance alone after each round; the others do not hear the answer."""

    stakes: bool = False
    """True if the rules say that a correct vote is paid for, as in the paper's study with people."""

    @property
    def exchanging(self) -> int:
        """Number of rounds that are for facts only."""
        return (self.rounds + 1) // 2 if self.exchange_decide else 0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Return the settings for a world's resolved options; a missing quiet option has its default."""
        told = {**QUIET, **options}
        return cls(**{name: told[name] for name in cls.__slots__})

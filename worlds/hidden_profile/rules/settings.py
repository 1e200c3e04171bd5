"""Settings of a session: the condition, its length, an instruction variant, and the content of votes and turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUIET: Mapping[str, Any] = {"talk": "turns", "minutes": 15}
"""Values of settings that a log omits."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session; `worlds.hidden_profile.options` describes them."""

    condition: str = "hidden"
    deal: str = "mixed"
    size: int = 0
    rounds: int = 15
    talk: str = "turns"
    minutes: int = 15
    variant: str = "none"
    track: str = "free"
    first_vote: str = "ephemeral"
    heard: str = "last"
    horizon: str = "told"
    exchange_decide: bool = False
    reveal_all: bool = False
    vote_view: str = "all"
    remind_pre_vote: bool = False
    early_stop: bool = False
    stance_poll: bool = False
    stakes: bool = False

    @property
    def exchanging(self) -> int:
        """Number of rounds that are for facts only."""
        return (self.rounds + 1) // 2 if self.exchange_decide else 0

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """Return the settings for a world's resolved options; a missing quiet option has its default."""
        told = {**QUIET, **options}
        return cls(**{name: told[name] for name in cls.__slots__})

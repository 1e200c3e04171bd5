"""Settings of a session: the condition, its length, an instruction variant, and the content of votes and turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

QUIET: Mapping[str, Any] = {"rules": "told", "talk": "turns", "structure": "none", "minutes": 15, "revote": "once"}
"""Values of settings that a log omits."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one session; `worlds.hidden_profile.options` describes them."""

    condition: str = "hidden"
    deal: str = "mixed"
    size: int = 0
    rules: str = "told"
    rounds: int = 15
    talk: str = "turns"
    structure: str = "none"
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
    stakes: str = "untold"
    revote: str = "once"

    @property
    def exchanging(self) -> int:
        """Number of rounds that are for facts only."""
        return (self.rounds + 1) // 2 if self.exchange_decide or self.structure == "information_first" else 0

    @property
    def without_stances(self) -> int:
        """Number of rounds in which no stance is asked for or read."""
        return self.exchanging if self.structure == "information_first" else 0

    @property
    def may_pass(self) -> bool:
        """True if a reply of PASS says nothing."""
        return self.talk == "chat" or self.structure == "round_robin"

    @property
    def contradiction(self) -> str:
        """The reason why these settings cannot be combined; empty if they can."""
        if self.talk == "chat" and self.track != "free":
            return "talk=chat is prose, so it needs track=free"
        if self.talk == "chat" and self.structure not in {"none", "others_know"}:
            return f"structure={self.structure} orders rounds, and talk=chat has none"
        return ""

    @property
    def vote_attempts(self) -> int:
        """Number of times that a seat is asked for one vote at most; the paper's released code asks without end."""
        return 20 if self.revote == "same" else 2

    @property
    def measuring(self) -> frozenset[str]:
        """Phases whose turns are not added to the conversation of any seat."""
        asked = {"POLL": True, "PRE_VOTE": self.first_vote == "ephemeral", "POST_VOTE": self.revote == "same"}
        return frozenset(phase for phase, measures in asked.items() if measures)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """Return the settings for a world's resolved options; a missing quiet option has its default."""
        told = {**QUIET, **options}
        return cls(**{name: told[name] for name in cls.__slots__})

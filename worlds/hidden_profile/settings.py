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

    rounds: int = 15
    variant: str = "none"
    track: str = "free"
    """free: messages are prose; structured: prose, the facts that it rests on, and a stance."""

    vote_view: str = "all"
    """What of the discussion the second vote repeats: all of it, or its last round."""

    remind_pre_vote: bool = False
    early_stop: bool = False
    stakes: bool = False
    """Whether the rules say that being right is paid for, as the people of the paper's study were told."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """The settings that a world's resolved options mean."""
        return cls(**{name: options[name] for name in cls.__slots__})

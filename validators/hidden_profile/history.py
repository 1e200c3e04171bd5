"""What a rebuilt session is: votes, turns of talk, what each turn told whom - and the lies of the log. All of it is data."""

from __future__ import annotations

from dataclasses import dataclass

from validators.hidden_profile.reading import Opening


@dataclass(frozen=True, slots=True)
class Vote:
    """One seat's vote, as it counts; without an option it is invalid, or was never given."""

    seat: int
    option: str | None
    attempts: int
    no_reply: str | None
    turn: int | None = None
    """Number in the log of its last attempt."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One seat's turn of talk."""

    seat: int
    round: int
    text: str
    """What it said; empty where nothing reached the others."""

    cites: tuple[str, ...]
    """Facts that it rested on by their handles; counted only where its text reached the others."""

    stance: str | None
    bad_handles: int
    no_reply: str | None


@dataclass(frozen=True, slots=True)
class Stance:
    """Where one seat stood at one time."""

    seat: int
    option: str
    turn: int
    """The turn of talk, from 1, with or after which it said so."""

    heard: int
    """The last turn of talk that it had heard by then; 0 where there was none."""


@dataclass(frozen=True)
class Replay:
    """A session as the replies say it went."""

    opening: Opening
    before: tuple[Vote, ...] | None
    """None where the session broke off before this vote was closed."""

    turns: tuple[Spoken, ...]
    stances: tuple[Stance, ...]
    """Of the structured track, each with its message; where stances were polled, those of the polls alone."""

    after: tuple[Vote, ...] | None
    early_stop: int | None
    """The round after which nothing moved any more, where that ended the talk."""

    finished: bool
    """Whether the log tells the session to its end."""

    lies: tuple[str, ...]
    """What the log claims and the replies contradict, each with the event where it stands."""

"""Result of rebuilding a session (votes, turns of talk, lies of the log), and parsing of the scenario, options and deal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from validators.episode import Episode
from worlds.core.events import Noted
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.settings import QUIET, Settings

_CHOICES = {
    "condition": ("hidden", "full", "shared_only"),
    "track": ("free", "structured"),
    "vote_view": ("all", "last_round"),
    "deal": ("mixed", "hidden", "manifest"),
    "rules": ("told", "untold"),
    "first_vote": ("ephemeral", "kept"),
    "heard": ("last", "all"),
    "horizon": ("told", "untold"),
    "talk": ("turns", "chat"),
    "stakes": ("untold", "told", "paper"),
    "revote": ("once", "same"),
    "structure": ("none", "information_first", "round_robin", "others_know", "board"),
}
_TYPES: dict[str, type] = {
    "rounds": int, "size": int, "variant": str, "remind_pre_vote": bool, "early_stop": bool,
    "exchange_decide": bool, "reveal_all": bool, "stance_poll": bool, "minutes": int,
}  # fmt: skip


class NoSession(ValueError):
    """The log does not say which session was held."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Settings and deal of a session; seats count from 0."""

    scenario: Scenario
    settings: Settings
    people: tuple[int, ...]
    """For each seat, the number (from 1) of its hand in the scenario."""

    hands: tuple[tuple[str, ...], ...]
    """For each seat, the ids of its facts, in the order shown."""

    options: tuple[str, ...]
    """Option ids, in the order shown."""

    deal: str | None = None
    """The kind of the deal of a deck; None for a scenario without deck."""

    @property
    def seats(self) -> range:
        """The seats, from 0."""
        return range(self.scenario.agents)


def read_opening(episode: Episode) -> Opening:
    """Return the start of the log; raises NoSession if scenario, options or deal are missing or invalid."""
    settings = _settings(episode.opened.options)
    first = next((event for event in episode.events if isinstance(event, Noted)), None)
    if first is None or first.what != "session_start" or first.seat is not None:
        raise NoSession("the first note must be session_start")
    if set(first.data) - {"deal"} != {"scenario", "people", "hands", "options"}:
        raise NoSession(
            f"seq {first.seq}: session_start holds scenario, people, hands and options, may tell the deal, and no more"
        )
    try:
        scenario = Scenario.model_validate(first.data["scenario"])
    except ValidationError as error:
        raise NoSession(f"seq {first.seq}: no scenario: {error.errors()[0]['msg']}") from None
    if settings.size not in {0, scenario.agents}:
        raise NoSession(f"seq {first.seq}: {scenario.agents} people, and the option size says {settings.size}")
    people, hands, options = (first.data[name] for name in ("people", "hands", "options"))
    if not _permutes(people, scenario.seats) or not _permutes(options, scenario.option_ids):
        raise NoSession(f"seq {first.seq}: people must be the seats in some order, options the scenario's")
    dealt = [scenario.facts_dealt_to(person, settings.condition) for person in people]
    if not isinstance(hands, list) or len(hands) != len(people) or not all(map(_permutes, hands, dealt)):
        raise NoSession(f"seq {first.seq}: no deal of the condition {settings.condition} gives these hands")
    return Opening(
        scenario, settings, tuple(people), tuple(map(tuple, hands)), tuple(options), _deal(first, scenario, settings)
    )


def _deal(first: Noted, scenario: Scenario, settings: Settings) -> str | None:
    """Return the kind of a deck's deal; it must be hidden exactly if there is a decoy, and of the kind that was asked for."""
    told = first.data.get("deal")
    if told is None and not scenario.dealt:
        return None
    kind = "manifest" if scenario.decoy is None else "hidden"
    versions = told.get("versions") if isinstance(told, dict) else None
    ours = scenario.dealt and settings.deal in {kind, "mixed"}
    if not ours or told != {"kind": kind, "versions": versions} or not isinstance(versions, str):
        raise NoSession(f"seq {first.seq}: {told} is no {settings.deal} deal whose decoy is {scenario.decoy}")
    return kind


def _settings(options: Mapping[str, Any]) -> Settings:
    options = {**QUIET, **options}
    wrong = [name for name, allowed in _CHOICES.items() if options.get(name) not in allowed]
    wrong += [name for name, kind in _TYPES.items() if type(options.get(name)) is not kind]
    if wrong:
        raise NoSession(f"seq 0: the options are no settings: {', '.join(wrong)}")
    return Settings.from_options(options)


def _permutes(listed: Any, expected: Any) -> bool:
    """Return True if a value of a log is a permutation of the expected values, with the same types."""
    if not isinstance(listed, list) or len(listed) != len(expected):
        return False
    kinds = {type(one) for one in expected}
    return all(type(one) in kinds for one in listed) and set(listed) == set(expected)


@dataclass(frozen=True, slots=True)
class Vote:
    """One seat's vote, as it counts; without an option it is invalid or missing."""

    seat: int
    option: str | None
    attempts: int
    no_reply: str | None
    turn: int | None = None
    """Log number of its last attempt."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One seat's turn of talk."""

    seat: int
    round: int
    text: str
    """The text that others heard; empty if nothing reached them."""

    cites: tuple[str, ...]
    """Facts that it cited by handle; counted only if its text reached the others."""

    stance: str | None
    bad_handles: int
    no_reply: str | None


@dataclass(frozen=True, slots=True)
class Stance:
    """Option that one seat preferred at one time."""

    seat: int
    option: str
    turn: int
    """The turn of talk, from 1, with or after which the seat said so."""

    heard: int
    """The last turn of talk that the seat had heard; 0 if there was none."""


@dataclass(frozen=True)
class Replay:
    """A session as the replies say it went."""

    opening: Opening
    before: tuple[Vote, ...] | None
    """None if the session broke off before this vote was closed."""

    turns: tuple[Spoken, ...]
    stances: tuple[Stance, ...]
    """Stances of the structured track, one per message; if stances were polled, those of the polls only."""

    after: tuple[Vote, ...] | None
    early_stop: int | None
    """The round after which nothing changed, if that ended the talk."""

    finished: bool
    """True if the log contains the whole session."""

    lies: tuple[str, ...]
    """Claims of the log that contradict the replies, each with its event."""

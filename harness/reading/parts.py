"""What a family's own part takes from a recorded episode: its measures and the notes of its game, each by the family's schema.

A family's part is `harness.families.<family>.reading`. Its `sections(episode)` are the tables that it adds; its
`breach(episode)` says why an episode failed in which no request broke a rule, None where the family has nothing to say. Where
prompts number people otherwise than the log numbers seats, `harness.families.<family>.naming` has `seat_name(seat)`: what the
conversations are called.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import UsageError
from harness.reading.model import Breach, RecordedEpisode, Section
from harness.records import first_problem
from worlds.core.events import Noted

Shape = TypeVar("Shape", bound=BaseModel)


class FamilyReading(Protocol):
    """The module that a family may have."""

    def sections(self, episode: RecordedEpisode) -> list[Section]:
        """The tables of an episode."""
        ...

    def breach(self, episode: RecordedEpisode) -> Breach | None:
        """Why it failed."""
        ...


class NotePlace(NamedTuple):
    """Where a note of a game stands: its number in the log, virtual seconds, and the seat that it is about."""

    seq: int
    at: float
    seat: int | None


def unreadable(path: str, name: str, why: str) -> UsageError:
    """The one error of reading: a file of an episode's folder, and what is wrong with it."""
    return UsageError(f"{Path(path) / name} cannot be read: {why}")


def measured(episode: RecordedEpisode, schema: type[Shape]) -> Shape | None:
    """The family's measures of an episode, None where nothing could be measured; raises UsageError naming the file."""
    if episode.verdict is None or not episode.verdict.metrics:
        return None
    try:
        return schema.model_validate(episode.verdict.metrics)
    except ValidationError as error:
        raise unreadable(episode.path, "verdict.json", f"metrics: {first_problem(error)}") from None


def notes(episode: RecordedEpisode, what: str, schema: type[Shape]) -> Iterator[tuple[NotePlace, Shape]]:
    """The notes of one kind, in order; raises UsageError naming the file where one has another shape."""
    for event in episode.events:
        if isinstance(event, Noted) and event.what == what:
            try:
                data = schema.model_validate(event.data)
            except ValidationError as error:
                why = f"event {event.seq}, {what}: {first_problem(error)}"
                raise unreadable(episode.path, "events.jsonl", why) from None
            yield NotePlace(event.seq, event.vt / 1000, event.seat), data

"""A game as tables: what each seat said in each round, and who was told what was said.

1. `grid` has one row for each phase of each round, one column for each seat, and in each cell the replies in a line each.
2. `heard` has one row for each text that somebody addressed to others. Whether another seat saw it is read off the texts that
   this seat was given later: it saw it where one of them contains it, word for word. Equal texts share a row, since no text
   tells whose words it repeats.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from harness.reading import Conversation, Utterance
from harness.viewing.texts import gist
from worlds.core.models import Strict

_MOST_ROWS, _MOST_HEARD = 400, 300
_SPOKEN = frozenset({"text", "content", "message"})
"""The keys of a reply's JSON under which something stands that is meant for others."""

_LONGEST_REPLY = 100_000


class GridTurn(Strict):
    """One reply in a cell."""

    seq: int
    told: str
    forfeit: str | None = None
    is_breach: bool = False


class GridRow(Strict):
    """One phase of one round."""

    round: int
    phase: str
    at: float
    cells: tuple[tuple[GridTurn, ...], ...]
    is_breach: bool = False
    """Whether the resolution that failed the episode follows this phase."""


class Grid(Strict):
    """Rounds down, seats across."""

    seats: tuple[str, ...]
    numbers: tuple[int, ...]
    rows: tuple[GridRow, ...]
    left_out: int = 0


class HeardRow(Strict):
    """One text, and of each seat `said`, when it was told, or None."""

    text: str
    seats: tuple[str | None, ...]


class HeardTable(Strict):
    """Who saw what."""

    seats: tuple[str, ...]
    numbers: tuple[int, ...]
    rows: tuple[HeardRow, ...]
    left_out: int = 0


def grid(seats: Sequence[Conversation], broken: Collection[int], resolved: int | None) -> Grid:
    """Return what every seat said, by round and phase.

    `broken` has the numbers in the log of the turns that failed the episode, `resolved` that of the resolution that did.
    """
    places: dict[tuple[int, str], float] = {}
    said: dict[tuple[int, str, int], list[GridTurn]] = {}
    before: set[tuple[int, str]] = set()
    for column, one in enumerate(seats):
        for entry in one.utterances:
            if entry.moment is not None and entry.speaker == "agent":
                place = (entry.moment.round, entry.moment.phase)
                places[place] = min(entry.moment.at, places.get(place, entry.moment.at))
                before |= {place} if resolved is not None and entry.moment.seq < resolved else set()
                said.setdefault((*place, column), []).append(_turn(entry, entry.moment.seq, broken))
    ordered = sorted(places, key=lambda place: places[place])
    last = next((place for place in reversed(ordered) if place in before), None)
    rows = [
        GridRow(
            round=number, phase=phase, at=places[number, phase],
            cells=tuple(tuple(said.get((number, phase, column), ())) for column in range(len(seats))),
            is_breach=(number, phase) == last,
        )
        for number, phase in ordered[:_MOST_ROWS]
    ]  # fmt: skip
    return Grid(seats=_names(seats), numbers=_numbers(seats), rows=tuple(rows), left_out=len(ordered) - len(rows))


def heard(seats: Sequence[Conversation]) -> HeardTable:
    """Every text that was addressed to others, with who was told it and when."""
    first: dict[str, int] = {}
    speakers: dict[str, set[int]] = {}
    for seq, column, text in sorted(_spoken(seats)):
        first.setdefault(text, seq)
        speakers.setdefault(text, set()).add(column)
    rows = [
        HeardRow(
            text=gist(text),
            seats=tuple(
                "said" if column in speakers[text] else _told(one, text, first[text]) for column, one in enumerate(seats)
            ),
        )
        for text in list(first)[:_MOST_HEARD]
    ]
    return HeardTable(seats=_names(seats), numbers=_numbers(seats), rows=tuple(rows), left_out=len(first) - len(rows))


def _turn(entry: Utterance, seq: int, broken: Collection[int]) -> GridTurn:
    return GridTurn(seq=seq, told=gist(entry.text), forfeit=entry.forfeit, is_breach=seq in broken)


def _spoken(seats: Sequence[Conversation]) -> Iterator[tuple[int, int, str]]:
    for column, one in enumerate(seats):
        for entry in one.utterances:
            if entry.moment is not None and entry.speaker == "agent" and not entry.moment.is_ephemeral and not entry.forfeit:
                for text in _addressed(entry.text):
                    yield entry.moment.seq, column, text


def _addressed(reply: str) -> list[str]:
    """What of a reply is meant for others: the texts in its JSON, or all of it where it is none."""
    body = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not body.startswith("{") or len(body) > _LONGEST_REPLY:
        return [body] if body and len(body) <= _LONGEST_REPLY else []
    try:
        return list(_texts(json.loads(body)))
    except (ValueError, RecursionError):
        return [body]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _SPOKEN and isinstance(inner, str) and inner.strip():
                yield inner.strip()
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _told(one: Conversation, text: str, since: int) -> str | None:
    """When a seat was first given a text, in virtual time; None where it never was."""
    for entry in one.utterances:
        if entry.speaker == "user" and entry.moment is not None and entry.moment.seq > since and text in entry.text:
            return f"{entry.moment.at:g} s"
    return None


def _names(seats: Sequence[Conversation]) -> tuple[str, ...]:
    return tuple(one.name for one in seats)


def _numbers(seats: Sequence[Conversation]) -> tuple[int, ...]:
    return tuple(one.seat if one.seat is not None else number for number, one in enumerate(seats))

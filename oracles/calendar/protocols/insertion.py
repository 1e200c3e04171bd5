"""What a meeting would displace on one calendar: the question that every protocol asks, answered from that calendar alone.

1. A meeting may begin at a slot when its whole span lies on the calendar and each item in it can make room.
2. An errand makes room by moving to the lowest free slot outside the span that nothing else has taken; a blocked errand never
   does, and another meeting only by an agreement that is not looked for here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from oracles.calendar.protocols.client import reschedule, schedule
from worlds.calendar.rules.batch import Move
from worlds.calendar.rules.items import Cells, Item

Moves = tuple[Move, ...]


def in_the_way(cells: Cells, slot: int, duration: int) -> list[tuple[int, Item]] | None:
    """The items in a span, each with the first of its slots there; None where the span leaves the calendar."""
    if slot < 0 or slot + duration > len(cells):
        return None
    obstacles: list[tuple[int, Item]] = []
    for cell in range(slot, slot + duration):
        item = cells[cell]
        if item is not None and (not obstacles or obstacles[-1][1] != item):
            obstacles.append((cell, item))
    return obstacles


def insertion(cells: Cells, slot: int, duration: int, keep: Collection[int] = ()) -> Moves | None:
    """The moves that make room for a span, none where it is free; None where there is no room.

    `keep`: free slots that no errand may be sent to.
    """
    items = in_the_way(cells, slot, duration)
    if items is None or any(item.kind == "meeting" or item.blocked for _, item in items):
        return None
    if not items:
        return ()
    span = range(slot, slot + duration)
    places = (cell for cell, item in enumerate(cells) if item is None and cell not in span and cell not in keep)
    moves = tuple(Move(item, source, target) for (source, item), target in zip(items, places, strict=False))
    return moves if len(moves) == len(items) else None


def price(moves: Moves) -> int:
    """What moves cost their owner, on the scale that is shown."""
    return sum(move.item.cost for move in moves)


def batch(meeting: int, slot: int, moves: Sequence[Move]) -> list[dict[str, Any]]:
    """The actions that make room for a meeting and write it."""
    return [*moving(meeting, moves), schedule(meeting, slot)]


def moving(meeting: int, moves: Sequence[Move]) -> list[dict[str, Any]]:
    """The actions that make room for a meeting."""
    return [reschedule(move.item, move.source, move.target, meeting) for move in moves]


def guess(cells: Cells, meeting: int, duration: int, rank: int, without: Collection[int] = ()) -> list[dict[str, Any]]:
    """The batch for the `rank`-th slot, from 0, that is possible by this calendar alone; empty where there is none.

    What the published clients do without an agreement, the n-th retry at rank n; profile `text` never does. `without`: slots
    that are no candidates.
    """
    slots = [slot for slot in range(len(cells)) if slot not in without]
    possible = [(slot, moves) for slot in slots if (moves := insertion(cells, slot, duration)) is not None]
    return batch(meeting, *possible[rank]) if rank < len(possible) else []

"""Calendars and items: a calendar is a tuple of cells, each free (`None`) or filled with an errand or a meeting.

1. An item of `duration` d fills d consecutive cells, all with the same `Item`.
2. Errands and meetings have separate ids: `#3` and `M3` are two different items.
3. `cost` is on the scale that agents see; a scenario maps it to the scored scale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple

Kind = Literal["errand", "meeting"]


class Item(NamedTuple):
    """Content of a cell; moving it costs its owner `cost` once, whatever its duration."""

    kind: Kind
    id: int
    cost: int
    blocked: bool = False
    duration: int = 1
    participants: tuple[int, ...] = ()
    label: str = ""
    """Description for its owner."""

    @property
    def name(self) -> str:
        """Name on calendars: #3 for an errand, M3 for a meeting."""
        return f"#{self.id}" if self.kind == "errand" else f"M{self.id}"


Cells = tuple[Item | None, ...]
"""One calendar; free cells are `None`."""


def iter_items(cells: Cells) -> Iterator[tuple[int, Item]]:
    """Yield every item with the slot where it begins, in order of slots."""
    seen: set[tuple[str, int]] = set()
    for slot, item in enumerate(cells):
        if item is not None and (item.kind, item.id) not in seen:
            seen.add((item.kind, item.id))
            yield slot, item


def slot_of(cells: Cells, meeting: int) -> int | None:
    """Return the slot where a meeting begins on a calendar, or None."""
    return next((slot for slot, item in enumerate(cells) if item and item.kind == "meeting" and item.id == meeting), None)


def with_item(cells: Cells, slot: int, item: Item | None, duration: int = 1) -> Cells:
    """Return the calendar with `item` (or None) in `duration` cells from `slot`; it must fit."""
    return cells[:slot] + (item,) * duration + cells[slot + duration :]


def calendar_lines(cells: Cells, *, labels: bool) -> list[str]:
    """Return a calendar as its owner reads it, one line per slot; `labels` adds descriptions (paper, Appendix A.1)."""
    return [before + _shown(item, labels=labels) for before, item in zip(_beginnings(len(cells)), cells, strict=True)]


@lru_cache(maxsize=4096)
def render_calendar(cells: Cells) -> str:
    """Return a calendar as its owner is shown it, with labels; cached, because it is shown and checked many times."""
    return "\n".join(calendar_lines(cells, labels=True))


@cache
def _beginnings(slots: int) -> tuple[str, ...]:
    width = len(str(slots - 1))
    return tuple(f"Slot {slot:>{width}}: " for slot in range(slots))


def _shown(item: Item | None, *, labels: bool) -> str:
    if item is None:
        return "[FREE]"
    about = f" private_label='{item.label}'" if labels and item.label else ""
    if item.kind == "errand":
        return f"{'Blocked ' if item.blocked else ''}Errand #{item.id} (cost={item.cost}){about}"
    return f"Meeting M{item.id} (cost={item.cost}) participants={list(item.participants)}{about}"


_LINE = re.compile(
    r"^Slot +(?P<slot>\d+): (?:(?P<free>\[FREE\])"
    r"|(?P<blocked>Blocked )?Errand #(?P<errand>\d+) \(cost=(?P<cost>\d+)\)"
    r"|Meeting M(?P<meeting>\d+) \(cost=(?P<displacement>\d+)\) participants=\[(?P<who>[\d, ]*)\])",
    re.MULTILINE,
)


def read_lines(text: str) -> Cells:
    """Parse the calendar in a text, without labels: the inverse of `calendar_lines`, for agents that read what models read."""
    cells: list[Item | None] = []
    for match in _LINE.finditer(text):
        _, free, blocked, errand, cost, meeting, displacement, who = match.groups()
        if free:
            cells.append(None)
        elif errand:
            cells.append(Item("errand", int(errand), int(cost), blocked=bool(blocked)))
        else:
            participants = tuple(int(number) for number in who.split(", "))
            cells.append(Item("meeting", int(meeting), int(displacement), participants=participants))
    return _with_durations(cells)


def _with_durations(cells: list[Item | None]) -> Cells:
    """Set the duration of each item to the number of its cells."""
    counts: dict[tuple[str, int], int] = {}
    for item in cells:
        if item is not None:
            counts[item.kind, item.id] = counts.get((item.kind, item.id), 0) + 1
    if max(counts.values(), default=1) == 1:
        return tuple(cells)
    return tuple(
        item and Item(item.kind, item.id, item.cost, item.blocked, counts[item.kind, item.id], item.participants, item.label)
        for item in cells
    )

"""Batches of actions, which change a calendar completely or not at all (specification: paper, Appendix A.5).

1. `check_batch` accepts any input: errors are returned as conflicts; nothing raises, and nothing is applied partially.
2. The order inside a batch has no meaning: every moved item is lifted first, then all are placed, then the meeting is added. So
swaps and cycles are legal. A move to the item's own place is legal too, and still costs.
3. No cell may be left by two moves (an item would be duplicated), and none may be filled by two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from worlds.calendar.rules.items import Cells, Item, slot_of, with_item

UNREADABLE = 'Your reply could not be read as one JSON object with a list of "actions"'
"""Message to an agent whose decision could not be read, instead of the conflicts of an empty batch."""


class Conflict(StrEnum):
    """Reason to refuse a batch."""

    MALFORMED = "malformed"
    OUT_OF_RANGE = "out_of_range"
    NO_SCHEDULE = "no_schedule"
    MANY_SCHEDULES = "many_schedules"
    WRONG_MEETING = "wrong_meeting"
    ALREADY_SCHEDULED = "already_scheduled"
    NOT_THERE = "not_there"
    BLOCKED = "blocked"
    SAME_SOURCE = "same_source"
    SAME_TARGET = "same_target"
    SCHEDULE_OCCUPIED = "schedule_occupied"
    TARGET_OCCUPIED = "target_occupied"
    NO_JUSTIFICATION = "no_justification"


class Refusal(NamedTuple):
    """One conflict, and the sentence that describes it to the agent."""

    conflict: Conflict
    text: str


class Move(NamedTuple):
    """Move of one item from the slot where it begins to another one."""

    item: Item
    source: int
    target: int


class Batch(NamedTuple):
    """A valid batch: `slot` is the slot of the meeting, None if there is none to schedule."""

    slot: int | None
    moves: tuple[Move, ...]

    @property
    def cost(self) -> int:
        """Cost of the moves, on the shown scale."""
        return sum(move.item.cost for move in self.moves)


def check_batch(cells: Cells, actions: Sequence[Any], meeting: Item | None, *, justify: bool = False) -> Batch | list[Refusal]:
    """Return the batch that `actions` describe on this calendar, or every conflict; `meeting` is the one to schedule, if any.

    With `justify`, each reschedule must give a reason (paper, Appendix A.2).
    """
    refused: list[Refusal] = []
    slots = [action for action in actions if _is(action, "schedule")]
    moves = [action for action in actions if _is(action, "reschedule")]
    if len(slots) + len(moves) < len(actions):
        refused.append(Refusal(Conflict.MALFORMED, "Every action must be an object of type schedule or reschedule"))
    slot = _slot(cells, slots, meeting, refused)
    read = [_move(cells, action, refused, justify=justify) for action in moves]
    if refused:
        return refused
    batch = Batch(slot, tuple(move for move in read if move))
    return list(_collisions(cells, batch, meeting)) or batch


def apply_batch(cells: Cells, batch: Batch, meeting: Item | None) -> Cells:
    """Return the calendar after a batch that `check_batch` returned."""
    for move in batch.moves:
        cells = with_item(cells, move.source, None, move.item.duration)
    for move in batch.moves:
        cells = with_item(cells, move.target, move.item, move.item.duration)
    if batch.slot is not None and meeting is not None:
        cells = with_item(cells, batch.slot, meeting, meeting.duration)
    return cells


def _is(action: Any, kind: str) -> bool:
    return isinstance(action, Mapping) and action.get("type") == kind


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fits(cells: Cells, slot: int, duration: int) -> bool:
    return slot >= 0 and slot + duration <= len(cells)


def _slot(cells: Cells, actions: Sequence[Mapping[str, Any]], meeting: Item | None, refused: list[Refusal]) -> int | None:
    wanted = 0 if meeting is None else 1
    if len(actions) != wanted:
        conflict = Conflict.NO_SCHEDULE if not actions else Conflict.MANY_SCHEDULES
        refused.append(Refusal(conflict, f"Expected exactly {wanted} schedule action, got {len(actions)}"))
        return None
    if meeting is None:
        return None
    (action,) = actions
    slot, number = action.get("slot"), action.get("meeting_id")
    if not isinstance(slot, int) or isinstance(slot, bool):
        refused.append(Refusal(Conflict.MALFORMED, f"slot must be a whole number, not {_short(slot)}"))
        slot = None
    elif not _fits(cells, slot, meeting.duration):
        refused.append(Refusal(Conflict.OUT_OF_RANGE, f"slot must be in 0..{len(cells) - meeting.duration}, not {slot}"))
    if not _names(number, meeting):
        refused.append(Refusal(Conflict.WRONG_MEETING, f"meeting_id must be {meeting.id}, not {_short(number)}"))
    elif slot_of(cells, meeting.id) is not None:
        refused.append(Refusal(Conflict.ALREADY_SCHEDULED, f"Meeting M{meeting.id} is on the calendar already"))
    return slot


def _move(cells: Cells, action: Mapping[str, Any], refused: list[Refusal], *, justify: bool) -> Move | None:
    source, target = action.get("from_slot"), action.get("to_slot")
    if not _whole(source) or not _whole(target):
        refused.append(Refusal(Conflict.MALFORMED, "from_slot and to_slot must be whole numbers"))
        return None
    assert isinstance(source, int)
    assert isinstance(target, int)
    if not _fits(cells, source, 1) or not _fits(cells, target, 1):
        for name, slot in (("from_slot", source), ("to_slot", target)):
            if not _fits(cells, slot, 1):
                refused.append(Refusal(Conflict.OUT_OF_RANGE, f"{name} must be in 0..{len(cells) - 1}, not {slot}"))
        return None
    item = cells[source]
    if item is None or not _names(action.get("item_id"), item) or cells.index(item) != source:
        refused.append(Refusal(Conflict.NOT_THERE, _misplaced(cells, action.get("item_id"), source)))
        return None
    if item.blocked:
        refused.append(Refusal(Conflict.BLOCKED, f"{item.name} at slot {source} is blocked and cannot be moved"))
    if not _fits(cells, target, item.duration):
        refused.append(
            Refusal(Conflict.OUT_OF_RANGE, f"{item.name} takes {item.duration} slots and does not fit at slot {target}")
        )
    reason = action.get("justification")
    if justify and not (isinstance(reason, str) and reason.strip()):
        refused.append(Refusal(Conflict.NO_JUSTIFICATION, f"The move of {item.name} needs a justification"))
    return Move(item, source, target)


def _misplaced(cells: Cells, given: Any, source: int) -> str:
    """Describe whether the item or the slot is wrong."""
    for slot, item in enumerate(cells):
        if item is not None and _names(given, item):
            return f"{item.name} begins at slot {slot}, not {source}"
    return f"No item {_short(given)} is on your calendar"


def _names(given: Any, item: Item) -> bool:
    """Return True if an id names this item, by its number or by its name on calendars."""
    return (_whole(given) and given == item.id) or (isinstance(given, str) and given == item.name)


def _collisions(cells: Cells, batch: Batch, meeting: Item | None) -> Iterator[Refusal]:
    """Yield the conflicts between actions that are valid individually."""
    left: set[int] = set()
    for move in batch.moves:
        span = range(move.source, move.source + move.item.duration)
        if left.intersection(span):
            yield Refusal(Conflict.SAME_SOURCE, f"{move.item.name} is moved twice")
        left.update(span)
    taken: set[int] = set()
    landings = [(move.target, move.item, Conflict.TARGET_OCCUPIED) for move in batch.moves]
    if batch.slot is not None and meeting is not None:
        landings.append((batch.slot, meeting, Conflict.SCHEDULE_OCCUPIED))
    for slot, item, conflict in landings:
        for cell in range(slot, slot + item.duration):
            if cell in taken:
                yield Refusal(Conflict.SAME_TARGET, f"Two actions fill slot {cell}")
            elif cells[cell] is not None and cell not in left:
                yield Refusal(conflict, f"Slot {cell} is occupied, so {item.name} cannot go there")
            taken.add(cell)


def _short(value: Any) -> str:
    """Return a value in a form that a sentence can quote."""
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."

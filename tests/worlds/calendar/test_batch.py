"""A batch is applied whole or not at all, and what is wrong with one is said, never raised."""

from __future__ import annotations

from typing import Any

import pytest

from worlds.calendar.rules.batch import Batch, Conflict, apply_batch, check_batch
from worlds.calendar.rules.items import Cells, Item, calendar_lines, iter_items, read_lines

LUNCH, CALL, FIXED = Item("errand", 7, 10), Item("errand", 8, 1), Item("errand", 9, 5, blocked=True)
OLD = Item("meeting", 7, 1, participants=(0, 1))
LONG = Item("meeting", 4, 2, duration=2, participants=(0, 2))
NEW = Item("meeting", 3, 1, participants=(0, 1, 2))
CELLS: Cells = (LUNCH, None, CALL, FIXED, OLD, None, LONG, LONG, None, None)


def schedule(slot: Any, meeting: Any = 3) -> dict[str, Any]:
    """The action that writes the meeting."""
    return {"type": "schedule", "meeting_id": meeting, "slot": slot}


def move(item: Any, source: Any, target: Any, why: Any = "room") -> dict[str, Any]:
    """The action that moves an item."""
    return {"type": "reschedule", "item_id": item, "from_slot": source, "to_slot": target, "justification": why}


def conflicts(*actions: Any, meeting: Item | None = NEW, justify: bool = False) -> list[Conflict]:
    """What is wrong with a batch; nothing for one that holds."""
    outcome = check_batch(CELLS, actions, meeting, justify=justify)
    return [] if isinstance(outcome, Batch) else [refusal.conflict for refusal in outcome]


@pytest.mark.parametrize(
    ("actions", "after"),
    [
        ([schedule(1)], (LUNCH, NEW, CALL, FIXED, OLD, None, LONG, LONG, None, None)),
        ([move(7, 0, 1), schedule(0)], (NEW, LUNCH, CALL, FIXED, OLD, None, LONG, LONG, None, None)),
        ([schedule(0), move("#7", 0, 1)], (NEW, LUNCH, CALL, FIXED, OLD, None, LONG, LONG, None, None)),
        ([move(7, 0, 2), move(8, 2, 0), schedule(5)], (CALL, None, LUNCH, FIXED, OLD, NEW, LONG, LONG, None, None)),
        (
            [move(7, 0, 2), move(8, 2, 4), move("M7", 4, 0), schedule(1)],
            (OLD, NEW, LUNCH, FIXED, CALL, None, LONG, LONG, None, None),
        ),
        ([move(7, 0, 0), schedule(1)], (LUNCH, NEW, CALL, FIXED, OLD, None, LONG, LONG, None, None)),
        ([move(4, 6, 7), schedule(6)], (LUNCH, None, CALL, FIXED, OLD, None, NEW, LONG, LONG, None)),
        ([move(4, 6, 8), schedule(7)], (LUNCH, None, CALL, FIXED, OLD, None, None, NEW, LONG, LONG)),
    ],
    ids=["free", "displace", "any order", "swap", "cycle", "onto itself", "long by one", "long away"],
)
def test_batch_that_holds(actions: list[dict[str, Any]], after: Cells) -> None:
    """Everything is lifted, everything lands, the meeting is written, and every move is paid."""
    batch = check_batch(CELLS, actions, NEW)

    assert isinstance(batch, Batch)
    assert apply_batch(CELLS, batch, NEW) == after
    assert batch.cost == sum(move.item.cost for move in batch.moves)


@pytest.mark.parametrize(
    ("actions", "conflict"),
    [
        ([], Conflict.NO_SCHEDULE),
        ([schedule(1), schedule(5)], Conflict.MANY_SCHEDULES),
        ([schedule(True)], Conflict.MALFORMED),
        ([schedule("1")], Conflict.MALFORMED),
        ([schedule(1.0)], Conflict.MALFORMED),
        ([schedule(None)], Conflict.MALFORMED),
        ([schedule(10)], Conflict.OUT_OF_RANGE),
        ([schedule(-1)], Conflict.OUT_OF_RANGE),
        ([schedule(1, 4)], Conflict.WRONG_MEETING),
        ([schedule(1, "3")], Conflict.WRONG_MEETING),
        ([schedule(1, True)], Conflict.WRONG_MEETING),
        ([schedule(0)], Conflict.SCHEDULE_OCCUPIED),
        ([schedule(3)], Conflict.SCHEDULE_OCCUPIED),
        ([schedule(1), move(8, 0, 5)], Conflict.NOT_THERE),
        ([schedule(1), move(7, 1, 5)], Conflict.NOT_THERE),
        ([schedule(1), move("M7", 0, 5)], Conflict.NOT_THERE),
        ([schedule(1), move("#7", 4, 5)], Conflict.NOT_THERE),
        ([schedule(1), move(4, 7, 8)], Conflict.NOT_THERE),
        ([schedule(1), move(9, 3, 5)], Conflict.BLOCKED),
        ([schedule(1), move(7, 0, 5), move(7, 0, 8)], Conflict.SAME_SOURCE),
        ([schedule(1), move(7, 0, 5), move(8, 2, 5)], Conflict.SAME_TARGET),
        ([schedule(5), move(7, 0, 5)], Conflict.SAME_TARGET),
        ([schedule(1), move(7, 0, 2)], Conflict.TARGET_OCCUPIED),
        ([schedule(1), move(4, 6, 5), move(7, 0, 6)], Conflict.SAME_TARGET),
        ([schedule(1), move(4, 6, 9)], Conflict.OUT_OF_RANGE),
        ([schedule(1), move(7, 0, 99)], Conflict.OUT_OF_RANGE),
        ([schedule(1), move(7, "0", 5)], Conflict.MALFORMED),
        ([schedule(1), move(7, 0, True)], Conflict.MALFORMED),
        ([schedule(1), "reschedule"], Conflict.MALFORMED),
        ([schedule(1), None], Conflict.MALFORMED),
        ([schedule(1), {"type": ["dm"]}], Conflict.MALFORMED),
    ],
)
def test_batch_that_is_refused(actions: list[Any], conflict: Conflict) -> None:
    """Each rule refuses what breaks it, and says so first."""
    assert conflicts(*actions)[0] is conflict


def test_every_conflict_is_told_at_once() -> None:
    """An agent that made several mistakes hears of all of them."""
    assert conflicts(move(9, 3, 5), move(8, 0, 5)) == [Conflict.NO_SCHEDULE, Conflict.BLOCKED, Conflict.NOT_THERE]


def test_meeting_is_scheduled_once() -> None:
    """One that is on the calendar already cannot be written a second time."""
    outcome = check_batch((NEW, None), [schedule(1)], NEW)

    assert [refusal.conflict for refusal in outcome if not isinstance(outcome, Batch)] == [Conflict.ALREADY_SCHEDULED]


def test_long_meeting_must_fit() -> None:
    """Its last cell counts too, at the end of the calendar and before an item."""
    long = Item("meeting", 5, 1, duration=2, participants=(0,))

    assert conflicts(schedule(9, 5), meeting=long) == [Conflict.OUT_OF_RANGE]
    assert conflicts(schedule(1, 5), meeting=long) == [Conflict.SCHEDULE_OCCUPIED]
    assert conflicts(schedule(8, 5), meeting=long) == []


def test_voluntary_moves_schedule_nothing() -> None:
    """Without a meeting a batch may be empty, and may not write one."""
    assert conflicts(meeting=None) == []
    assert conflicts(move(7, 0, 1), meeting=None) == []
    assert conflicts(schedule(1), meeting=None) == [Conflict.MANY_SCHEDULES]


@pytest.mark.parametrize("why", [None, "", "  ", 7])
def test_justification_is_asked_for_where_it_is_required(why: Any) -> None:
    """A move without a reason is refused under that rule alone."""
    assert conflicts(schedule(0), move(7, 0, 1, why), justify=True) == [Conflict.NO_JUSTIFICATION]
    assert conflicts(schedule(0), move(7, 0, 1, why)) == []


def test_calendar_reads_back() -> None:
    """What a seat is shown tells a program the same calendar, long meetings included."""
    text = "\n".join(calendar_lines(CELLS, labels=True))

    assert read_lines(text) == CELLS
    assert [(slot, item.name) for slot, item in iter_items(CELLS)] == [(0, "#7"), (2, "#8"), (3, "#9"), (4, "M7"), (6, "M4")]


def test_slots_line_up() -> None:
    """Slot numbers are right-aligned to the last one, as the paper's example shows them."""
    shown = calendar_lines((None,) * 10 + (FIXED, LUNCH), labels=False)

    assert (shown[0], shown[10], shown[11]) == (
        "Slot  0: [FREE]",
        "Slot 10: Blocked Errand #9 (cost=5)",
        "Slot 11: Errand #7 (cost=10)",
    )


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (move(7, 0, 99), ["to_slot must be in 0..9, not 99"]),
        (move(7, 10, 1), ["from_slot must be in 0..9, not 10"]),
        (move(7, -1, 10), ["from_slot must be in 0..9, not -1", "to_slot must be in 0..9, not 10"]),
        (move(7, 2, 1), ["#7 begins at slot 0, not 2"]),
        (move("M4", 7, 8), ["M4 begins at slot 6, not 7"]),
        (move(77, 2, 1), ["No item 77 is on your calendar"]),
    ],
)
def test_a_refusal_names_what_is_wrong(action: dict[str, Any], told: list[str]) -> None:
    """The number that is out of range, and whether it is the item or the slot that is not there."""
    outcome = check_batch(CELLS, [schedule(1), action], NEW)

    assert isinstance(outcome, list)
    assert [refusal.text for refusal in outcome] == told

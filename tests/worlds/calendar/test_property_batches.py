"""A hundred thousand random batches: whatever is asked, a calendar changes as a whole and by the rules, or not at all."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from worlds.calendar.rules.batch import Batch, Conflict, Refusal, apply_batch, check_batch
from worlds.calendar.rules.items import Cells, Item, iter_items

pytestmark = pytest.mark.property

PARTS, BATCHES = 4, 25_000
NEW = tuple(Item("meeting", 9, 2, duration=duration, participants=(0, 1)) for duration in (1, 1, 1, 2))
ODD: tuple[Any, ...] = (None, True, -1, 99, 1.0, "#1", "M7", "", [], {}, 10**30)


def calendar(draw: random.Random) -> Cells:
    """Four to eight cells with errands, blocked ones, and meetings of one or two slots."""
    cells: list[Item | None] = [None] * draw.randint(4, 8)
    slot, number = 0, 0
    while slot < len(cells):
        number += 1
        kind, room = draw.random(), len(cells) - slot
        if kind < 0.35:
            cells[slot] = Item("errand", number, draw.randint(1, 9), blocked=draw.random() < 0.2)
        elif kind < 0.5:
            item = Item("meeting", number, draw.randint(1, 9), duration=min(room, draw.choice((1, 2))), participants=(0, 2))
            cells[slot : slot + item.duration] = [item] * item.duration
            slot += item.duration - 1
        slot += 1
    return tuple(cells)


def batch(draw: random.Random, cells: Cells, meeting: Item) -> list[Any]:
    """One schedule and some moves, mostly sensible, now and then cloned, crossed or broken."""
    slots, held = range(len(cells)), list(iter_items(cells))
    moved = draw.sample(held, min(len(held), draw.randrange(4)))
    free = [slot for slot in slots if cells[slot] is None]
    targets = draw.sample([slot for slot, _ in moved] + free, len(moved) + len(free))
    made: list[Any] = [
        {"type": "reschedule", "item_id": draw.choice((item.id, item.name)), "from_slot": slot, "to_slot": target}
        for (slot, item), target in zip(moved, targets, strict=False)
    ]
    left = targets[len(moved) :]
    made.append({"type": "schedule", "meeting_id": meeting.id, "slot": draw.choice(left or slots)})
    while draw.random() < 0.3:
        broken = dict(draw.choice(made))
        broken[draw.choice(("type", "slot", "item_id", "from_slot", "to_slot", "meeting_id"))] = draw.choice((*ODD, *slots))
        made[draw.randrange(len(made)) :] = [broken, *made[: draw.randrange(2)]]
    return made


@pytest.mark.parametrize("part", range(PARTS))
def test_batches_hold_or_change_nothing(part: int) -> None:
    """An accepted batch keeps every item whole and once, blocked ones in place, and costs what it moves; others say why."""
    draw = random.Random(part)
    seen: Counter[Conflict | None] = Counter()
    for _ in range(BATCHES):
        cells, meeting = calendar(draw), draw.choice(NEW)
        found = check_batch(cells, batch(draw, cells, meeting), meeting)
        if not isinstance(found, Batch):
            assert found
            assert all(isinstance(refusal, Refusal) and refusal.text for refusal in found)
            seen.update(refusal.conflict for refusal in found)
            continue
        seen[None] += 1
        after = apply_batch(cells, found, meeting)
        before = {item: slot for slot, item in iter_items(cells)}
        now = {item: slot for slot, item in iter_items(after)}

        assert len(after) == len(cells)
        assert now.keys() == {*before, meeting}
        assert now[meeting] == found.slot
        assert all(after[slot : slot + item.duration] == (item,) * item.duration for item, slot in now.items())
        assert sum(item is not None for item in after) == sum(item.duration for item in now)
        assert all(now[item] == slot for item, slot in before.items() if item.blocked)
        moved = {move.item: move.target for move in found.moves}
        assert all(now[item] == moved.get(item, slot) for item, slot in before.items())
        assert found.cost == sum(item.cost for item in moved)
        assert len(moved) == len(found.moves)

    assert seen[None] > BATCHES / 5
    assert set(Conflict) - set(seen) == {Conflict.NO_JUSTIFICATION, Conflict.ALREADY_SCHEDULED}

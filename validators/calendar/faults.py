"""Which seats lost a calendar round, where the rules say it: pure functions of what each seat decided and of the calendars.

`CAUSES` has the causes that each label can have; docs/calendar.md, "Whose failure it is", defines each cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.calendar.deciding import RebuiltDecision
from validators.calendar.history import MovedMeeting, Touch
from worlds.calendar.labels import Label
from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.resolution import Slots
from worlds.core.faults import LONGEST_DETAIL, FaultCause, SeatFault

_NO_BATCH: tuple[FaultCause, ...] = ("no_reply", "unreadable", "refused")
CAUSES: dict[Label, tuple[FaultCause, ...]] = {
    Label.SUCCESS: (),
    Label.SLOT_MISMATCH: ("other_slot", "different_slots", *_NO_BATCH),
    Label.BLOCKED_ITEM: ("refused", "touched_blocked", *_NO_BATCH),
    Label.NO_SCHEDULE: _NO_BATCH,
    Label.PRIOR_MEETING_MOVED: ("moved_meeting", *_NO_BATCH),
    Label.SLOT_OCCUPIED: _NO_BATCH,
    Label.TARGET_OCCUPIED: _NO_BATCH,
    Label.SEVERAL: ("other_slot", "different_slots", "touched_blocked", "moved_meeting", *_NO_BATCH),
    Label.OTHER: _NO_BATCH,
}
"""Label -> the causes that its faults can have; a round that was never reached is OTHER and has none.

A seat without a batch has its place under every label: a conflict that the paper does not name makes no label of its own.
"""


def find_faults(
    decided: Sequence[RebuiltDecision], slots: Slots, broken: Iterable[MovedMeeting], doomed_by: Iterable[Touch]
) -> tuple[SeatFault, ...]:
    """Return the faults of one round by seat; `doomed_by` are the refused batches where one on a blocked item fails a round."""
    without = [one for one in decided if one.batch is None]
    made = [*map(_without_batch, without), *_touched(doomed_by, without), *_apart(slots, decided)]
    made += [fault for meeting in broken for fault in _moved(meeting)]
    return tuple(sorted(made, key=lambda fault: fault.seat))


def _without_batch(one: RebuiltDecision) -> SeatFault:
    if one.no_reply is not None:
        return SeatFault(seat=one.seat, cause="no_reply", detail=one.no_reply[:LONGEST_DETAIL], turn=one.turn)
    if one.is_unreadable:
        return SeatFault(seat=one.seat, cause="unreadable", turn=one.turn)
    return SeatFault(seat=one.seat, cause="refused", detail=", ".join(dict.fromkeys(one.conflicts)), turn=one.turn)


def _touched(doomed_by: Iterable[Touch], without: Iterable[RebuiltDecision]) -> Iterator[SeatFault]:
    """Seats with an attempt on a blocked item, unless their last batch was refused for it and says so already."""
    said = {one.seat for one in without if Conflict.BLOCKED in one.conflicts}
    last = {touch.seat: touch.turn for touch in doomed_by if touch.is_blocked and touch.seat not in said}
    yield from (SeatFault(seat=seat, cause="touched_blocked", turn=turn) for seat, turn in last.items())


def _apart(slots: Slots, decided: Iterable[RebuiltDecision]) -> Iterator[SeatFault]:
    """Seats outside the slot of more than half of those who have one; all of these, where no slot has more than half."""
    chosen = {seat: slot for seat, slot in slots.items() if slot is not None}
    if len(set(chosen.values())) < 2:
        return
    turns = {one.seat: one.turn for one in decided}
    most = _majority(chosen)
    for seat, slot in chosen.items():
        if slot != most:
            cause: FaultCause = "different_slots" if most is None else "other_slot"
            yield SeatFault(seat=seat, cause=cause, detail=str(slot), turn=turns.get(seat))


def _moved(one: MovedMeeting) -> Iterator[SeatFault]:
    """Seats that have the meeting elsewhere than it stood; where all do, those outside the slot of more than half."""
    away = {seat: slot for seat, slot in one.slots.items() if slot is not None and slot != one.stood}
    if len(away) == len(one.slots) and (most := _majority(away)) is not None:
        away = {seat: slot for seat, slot in away.items() if slot != most}
    for seat, slot in away.items():
        yield SeatFault(seat=seat, cause="moved_meeting", detail=str(slot), meeting=one.meeting, turn=one.turns.get(seat))


def _majority(slots: Mapping[int, int | None]) -> int | None:
    """The slot of more than half, or None."""
    slot, count = Counter(slots.values()).most_common(1)[0]
    return slot if 2 * count > len(slots) else None

"""What a calendar round's faults are in words, with each seat named by its number and its player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from harness.causes import FORFEITS
from harness.families.calendar.held import name_of
from harness.records import Result
from worlds.calendar.rules.measures import RoundMeasures
from worlds.core.faults import SeatFault

_CONFLICTS = {
    "no_schedule": "never scheduled it",
    "blocked": "sent only batches that moved a blocked errand",
    "schedule_occupied": "scheduled it onto an item that stayed",
    "target_occupied": "moved an item onto another that stayed",
}
"""What a seat did whose last batch was refused for this conflict alone."""


def seat_names(result: Result) -> dict[int, str]:
    """Return what sentences call each seat: `seat 2 (gpt-5)`."""
    return {one.seat: f"seat {one.seat} ({name_of(one)})" for one in result.seats}


def fault_sentence(row: RoundMeasures, names: Mapping[int, str]) -> str:
    """Return who lost a round and how, as a clause; empty where the rules name no seat."""
    deeds: dict[str, list[str]] = {}
    shared: list[str] = []
    for one in row.faults:
        name = names.get(one.seat, f"seat {one.seat}")
        if one.cause == "different_slots":
            shared.append(f"{name} slot {one.detail}")
        else:
            deeds.setdefault(_deed(one, row), []).append(name)
    told = [f"{', '.join(who)} {deed}" for deed, who in deeds.items()]
    if shared:
        chosen = f"no slot was chosen by more than half of the participants ({', '.join(shared)})"
        told.append(f"{chosen}, and the rules do not say which of them was wrong")
    return ", and ".join(told)


def faulty_seats(faults: Iterable[SeatFault]) -> str:
    """Return the seats of some faults, ascending, each once: `1, 2`."""
    return ", ".join(map(str, sorted({one.seat for one in faults})))


def fault_turns(faults: Sequence[SeatFault]) -> tuple[int, ...]:
    """Return the numbers in the log of the turns that did it, each once."""
    return tuple(dict.fromkeys(one.turn for one in faults if one.turn is not None))


def _deed(fault: SeatFault, row: RoundMeasures) -> str:
    match fault.cause:
        case "no_reply":
            return f"sent no decision: {FORFEITS.get(fault.detail, fault.detail)}"
        case "unreadable":
            return "sent a decision that could not be read"
        case "refused":
            return _CONFLICTS.get(fault.detail, f"sent only batches that were refused ({fault.detail})")
        case "touched_blocked":
            return "tried to move a blocked errand, which fails the round under these rules"
        case "moved_meeting":
            return f"moved meeting M{fault.meeting} to slot {fault.detail}, away from where it stood"
        case _:
            others = Counter(slot for slot in row.slots.values() if slot is not None and str(slot) != fault.detail)
            most = f"{'the' if len(others) == 1 else 'most'} others slot {others.most_common(1)[0][0]}"
            return f"chose slot {fault.detail}, {most}"

"""The clients of every calendar task: one plays the plan, and each wrong one spoils the last round in one way.

The verdict must explain why that meeting failed for each wrong client.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx

from parley.families.calendar.player import Plan, Reply, Turn, planned, play

Client = Callable[[httpx.Client, Plan], None]
Spoil = Callable[[Reply, str], Reply]


def apart(actions: Reply, calendar: str) -> Reply:
    """Return actions that schedule the meeting in a slot that only this seat uses."""
    (schedule,) = (action for action in actions if action["type"] == "schedule")
    free = [slot for slot in slots(calendar, r"\[FREE\]") if slot != schedule["slot"]]
    if free:
        return [{**schedule, "slot": free[0]}]
    slot, errand = errands(calendar)[0]
    return [{**schedule, "slot": slot}, move(errand, slot, schedule["slot"])]


def silent(actions: Reply, calendar: str) -> Reply:  # noqa: ARG001 - as every Spoil is called
    """Return no actions."""
    return []


def occupied(actions: Reply, calendar: str) -> Reply:
    """Return actions that schedule the meeting onto an item that stays."""
    (schedule,) = (action for action in actions if action["type"] == "schedule")
    return [{**schedule, "slot": slots(calendar, r"(?!\[FREE\])")[0]}]


def alone(actions: Reply, calendar: str) -> Reply:
    """Return actions that also move an earlier meeting alone, to a free slot or in exchange for an errand."""
    used = {action[name] for action in actions for name in ("slot", "from_slot", "to_slot") if name in action}
    slot, number = re.findall(r"^Slot +(\d+): Meeting M(\d+)", calendar, re.MULTILINE)[0]
    free = [target for target in slots(calendar, r"\[FREE\]") if target not in used]
    if free:
        return [*actions, move(f"M{number}", int(slot), free[0])]
    target, errand = next((target, errand) for target, errand in errands(calendar) if target not in used)
    return [*actions, move(f"M{number}", int(slot), target), move(errand, target, int(slot))]


def move(item: str, source: int, target: int) -> dict[str, Any]:
    """Return the action that moves an item, by the name that the calendar shows."""
    return {"type": "reschedule", "item_id": item, "from_slot": source, "to_slot": target, "justification": "it suits me"}


def errands(calendar: str) -> list[tuple[int, str]]:
    """Return the errands that can be moved, each with its slot."""
    return [(int(slot), f"#{number}") for slot, number in re.findall(r"^Slot +(\d+): Errand #(\d+)", calendar, re.MULTILINE)]


def slots(calendar: str, what: str) -> list[int]:
    """Return the slots whose line begins with `what`."""
    return [int(slot) for slot in re.findall(rf"^Slot +(\d+): {what}", calendar, re.MULTILINE)]


def solved(api: httpx.Client, plan: Plan) -> None:
    """Play the plan. Raises LookupError if there is none because no schedule exists."""
    if not plan["rounds"]:
        raise LookupError("there is no plan: no schedule of all meetings exists")
    play(api, plan)


def spoiled(spoil: Spoil) -> Client:
    """Return a client that plays the plan except for one seat's last decision."""

    def client(api: httpx.Client, plan: Plan) -> None:
        calendars: dict[int, str] = {}
        play(api, plan, partial(wrong, spoil, calendars))

    return client


def wrong(spoil: Spoil, calendars: dict[int, str], plan: Plan, turn: Turn) -> Reply:
    """Return the plan's actions, spoiled in the last round for one seat.

    This is the first seat with an earlier meeting, or else the last seat. A retry shows no calendar, so the calendar of the
    first attempt is stored in `calendars`.
    """
    actions, seat, rounds = planned(plan, turn), turn["seat"], plan["rounds"]
    if turn["phase"] != "DECISION" or turn["round"] < len(rounds) or (calendars and seat not in calendars):
        return actions
    if re.search(r"^Slot +\d+: Meeting", turn["text"], re.MULTILINE) or seat == max(rounds[-1]["seats"]):
        calendars.setdefault(seat, turn["text"])
    return spoil(actions, calendars[seat]) if seat in calendars else actions


UNCERTIFIED: dict[str, str] = {}
"""Labels of clients on uncertified tasks: none, because no client plays a task without a schedule."""

SOLVE: Client = solved
VIOLATIONS: dict[str, tuple[str, Client]] = {
    "apart": ("SLOT_MISMATCH", spoiled(apart)),
    "silent": ("NO_SCHEDULE", spoiled(silent)),
    "occupied": ("SLOT_OCCUPIED", spoiled(occupied)),
    "alone": ("PRIOR_MEETING_MOVED", spoiled(alone)),
}

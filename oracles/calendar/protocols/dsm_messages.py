"""DSM's messages: writers and parsers; a parser returns None for anything that is no message of DSM.

proposals{slots: plan ids, plans, round, participants} -> scores{scores: {plan id: level}, round} -> decision{slot, plan_id,
participants, displacements, reward} or fail{round}. `round` counts the offers of one meeting from 1, so an answer names its
offer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oracles.calendar.protocols.client import Payload, whole
from oracles.calendar.protocols.dsm_scoring import BEST, DsmPlan, Reward, Shift


def proposals(plans: Sequence[DsmPlan], offer: int, participants: Sequence[int]) -> Payload:
    """Return the message of one offer."""
    return {
        **_head("proposals"), "slots": [plan.id for plan in plans], "plans": [_plan(plan) for plan in plans],
        "round": offer, "participants": list(participants),
    }  # fmt: skip


def scores(levels: Mapping[int, int], offer: int) -> Payload:
    """Return the message with the levels of every plan of an offer."""
    return {**_head("scores"), "scores": {str(plan): level for plan, level in levels.items()}, "round": offer}


def decision(plan: DsmPlan, participants: Sequence[int], reward: Reward) -> Payload:
    """Return the message of the chosen plan, with its reader's own record."""
    return {
        **_head("decision"), "slot": plan.slot, "plan_id": plan.id, "participants": list(participants),
        "displacements": [_shift(shift) for shift in plan.shifts], "reward": reward.record(),
    }  # fmt: skip


def fail(offer: int) -> Payload:
    """Return the message that no slot was found."""
    return {**_head("fail"), "round": offer}


def kind(payload: Payload) -> str:
    """Return the type of a DSM message; "" for anything else."""
    message_type = payload.get("type")
    return message_type if payload.get("protocol") == "dsm" and isinstance(message_type, str) else ""


def read_offer(payload: Payload) -> tuple[int, list[DsmPlan]] | None:
    """Parse the number of an offer and its plans."""
    offer, records = whole(payload.get("round")), payload.get("plans")
    if offer is None or not isinstance(records, list):
        return None
    return offer, [plan for one in records if isinstance(one, Mapping) and (plan := _read_plan(one, "id"))]


def read_scores(payload: Payload) -> tuple[int, dict[int, int]] | None:
    """Parse the number of the answered offer, and the levels by plan."""
    offer, levels = whole(payload.get("round")), payload.get("scores")
    if offer is None or not isinstance(levels, Mapping):
        return None
    read = [(_number(plan), whole(level)) for plan, level in levels.items()]
    return offer, {plan: level for plan, level in read if plan is not None and level is not None and level <= BEST}


def read_decision(payload: Payload) -> DsmPlan | None:
    """Parse the chosen plan."""
    return _read_plan(payload, "plan_id")


def read_reward(payload: Payload) -> tuple[int, int]:
    """Return the points that a decision's reader pays and receives; zeros if missing."""
    record = payload.get("reward")
    if not isinstance(record, Mapping):
        return 0, 0
    return whole(record.get("scoring_cost")) or 0, whole(record.get("reward")) or 0


def _head(type_: str) -> dict[str, Any]:
    return {"protocol": "dsm", "type": type_}


def _plan(plan: DsmPlan) -> Payload:
    return {
        "id": plan.id, "slot": plan.slot, "displacements": [_shift(shift) for shift in plan.shifts],
        "cleared_slots": [shift.source for shift in plan.shifts],
    }  # fmt: skip


def _shift(shift: Shift) -> Payload:
    return {
        "meeting_id": shift.meeting, "from_slot": shift.source, "to_slot": shift.target,
        "participants": list(shift.participants),
    }  # fmt: skip


def _read_plan(value: Payload, name: str) -> DsmPlan | None:
    number, slot, displaced = whole(value.get(name)), whole(value.get("slot")), value.get("displacements", [])
    if number is None or slot is None or not isinstance(displaced, list):
        return None
    shifts = [shift for one in displaced if isinstance(one, Mapping) and (shift := _read_shift(one))]
    return DsmPlan(number, slot, tuple(shifts)) if len(shifts) == len(displaced) else None


def _read_shift(value: Payload) -> Shift | None:
    meeting, source, target = (whole(value.get(name)) for name in ("meeting_id", "from_slot", "to_slot"))
    who = value.get("participants")
    if meeting is None or source is None or target is None or not isinstance(who, list):
        return None
    seats = [seat for one in who if (seat := whole(one)) is not None]
    return Shift(meeting, source, target, tuple(seats)) if len(seats) == len(who) else None


def _number(text: Any) -> int | None:
    # keys are text in JSON; 9 digits hold any plan id, and no number that is slow to read
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 9 else None

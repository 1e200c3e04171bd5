"""What a typed message tells its reader about its sender's calendar: slot, evidence, strength (paper, Table 10).

1. A message is one JSON object with `protocol` and `type`. Anything else, and any field of another type or value than the
   protocol's own, is no evidence.
2. `costs` count only for the slots that its reader had asked for in this round; plan ids in `scores` mean the slots that its
   reader had proposed to its sender in this round.
3. A message to several is evidence for each of them. The published tables know point-to-point messages alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from validators.calendar.history import Delivered

LEVELS = 12
"""D: scores of DSM are 0 to D - 1."""

SOFT = (0.85, 0.70)
"""A proposal of SD-MAP: strong evidence of a free slot, and no report of one."""

SURE = (1.0, 1.0)
NEVER = (0.0, 1.0)

Told = Iterable[tuple[int, tuple[float, float]]]
"""Slots, each with evidence and strength."""

Update = tuple[int, float, float]
"""A slot; e, 1 where it is possible for the target and 0 where not; a, the strength of the inference, 0 to 1."""


class _Said(NamedTuple):
    """What one agent has said to another in one round that an answer may refer to."""

    asked: dict[int, int]
    """Slots of the last cost request."""

    plans: dict[int, int]
    """Plan id -> slot, of all proposals."""


class MessageEvidence(NamedTuple):
    """What one message tells one observer about its sender."""

    seq: int
    """Of the message's event."""

    round: int
    target: int
    """Who sent it."""

    observer: int
    source: str
    """Protocol and type of the message."""

    channel: str
    updates: list[Update]
    """In the order in which they move the observer's belief; never empty."""


def evidence(messages: Iterable[Delivered], slots: int) -> Iterator[MessageEvidence]:
    """Everything that typed messages tell, in the order in which it was told; `slots` is the length of a calendar."""
    memory: defaultdict[tuple[int, int, int], _Said] = defaultdict(lambda: _Said({}, {}))
    for message in messages:
        payload = payload_of(message.content)
        protocol, kind = payload.get("protocol"), payload.get("type")
        rule = _RULES.get((protocol, kind)) if isinstance(protocol, str) and isinstance(kind, str) else None
        if rule is None:
            continue
        seq, number, sender, source = message.seq, message.round, message.sender, f"{protocol}:{kind}"
        for observer in message.to:
            mine, theirs = memory[number, sender, observer], memory[number, observer, sender]
            updates = [(slot, *told) for slot, told in rule(payload, mine, theirs) if 0 <= slot < slots]
            if updates:
                yield MessageEvidence(seq, number, sender, observer, source, message.channel, updates)


def is_typed(content: str) -> bool:
    """Whether a message is a protocol's and says nothing besides: one object of a known type, with no other words in it."""
    payload = payload_of(content)
    protocol, kind = payload.get("protocol"), payload.get("type")
    known = isinstance(protocol, str) and isinstance(kind, str) and kind in _TYPES.get(protocol, ())
    return known and _NO_OTHER_WORDS.fullmatch(content) is not None


def payload_of(content: str) -> Mapping[str, Any]:
    """The object that a message is, empty for anything else."""
    if not content.startswith("{"):
        return {}
    try:
        value = from_json(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_whole(value: Any) -> bool:
    """Whether a value of a payload is a whole number; true and false are none."""
    return type(value) is int


def number_of(text: str) -> int | None:
    """The number that a key of a payload is; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _slot(payload: Mapping[str, Any], name: str, told: tuple[float, float]) -> Told:
    slot = payload.get(name)
    return [(slot, told)] if is_whole(slot) and isinstance(slot, int) else ()


def _sure(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, "slot", SURE)


def _soft(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    return _slot(payload, "to_slot" if payload["type"] == "propose_reschedule" else "slot", SOFT)


def _reply(payload: Mapping[str, Any], _mine: _Said, _theirs: _Said) -> Told:
    status = payload.get("reply_status")
    told = {"PENDING": SURE, "IMPOSSIBLE": NEVER}.get(status) if isinstance(status, str) else None
    return _slot(payload, "to_slot" if payload["type"] == "reschedule_reply" else "slot", told) if told else ()


def _request(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    asked = payload.get("slots")
    wanted = {slot: slot for slot in asked if is_whole(slot)} if isinstance(asked, list) else {}
    mine.asked.clear()
    mine.asked.update(wanted)
    return ()


def _costs(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    asked = theirs.asked
    costs = payload.get("costs")
    for name, cost in costs.items() if isinstance(costs, dict) else ():
        slot = number_of(name)
        if slot in asked and (cost is None or is_whole(cost)):
            yield asked[slot], NEVER if cost is None else SURE


def _proposals(payload: Mapping[str, Any], mine: _Said, _theirs: _Said) -> Told:
    plans = payload.get("plans")
    known = [plan for plan in plans if isinstance(plan, dict)] if isinstance(plans, list) else []
    slots = {plan["id"]: plan["slot"] for plan in known if is_whole(plan.get("id")) and is_whole(plan.get("slot"))}
    mine.plans.update(slots)
    return [(slot, SURE) for slot in dict.fromkeys(slots.values())]


def _scores(payload: Mapping[str, Any], _mine: _Said, theirs: _Said) -> Told:
    plans = theirs.plans
    scores = payload.get("scores")
    for name, score in scores.items() if isinstance(scores, dict) else ():
        plan = number_of(name)
        if plan in plans and is_whole(score) and score < LEVELS:
            yield plans[plan], (max(score, 0) / (LEVELS - 1), 1.0)


_TYPES = {
    "dsm": {"proposals", "scores", "decision", "fail"},
    "imap": {"cost_request", "costs", "decision"},
    "sd": {
        "propose", "reply", "confirm", "fail", "reschedule_request", "propose_reschedule", "reschedule_reply",
        "confirm_reschedule", "fail_reschedule",
    },
}  # fmt: skip
"""Protocol -> every type of message that it sends, those that tell nothing included (paper, Appendix D)."""

_WORDS = {
    "protocol", "type", *_TYPES, *(kind for kinds in _TYPES.values() for kind in kinds), "PENDING", "IMPOSSIBLE",
    "attendee", "availability", "cleared_slots", "costs", "displacements", "flexibility", "from_slot", "id", "initiator",
    "meeting_id", "participants", "plan_id", "plans", "reply_status", "reward", "round", "scores", "scoring_cost",
    "selected_score", "slot", "slots", "to_slot",
}  # fmt: skip
"""Every key and text of a typed message; besides these, keys are numbers."""

_NO_OTHER_WORDS = re.compile(rf'(?:[^"\\]++|"(?:{"|".join(sorted(_WORDS))}|\d++)")*+')
"""A text whose quoted parts are these and numbers."""

_RULES = {
    ("dsm", "proposals"): _proposals,
    ("dsm", "scores"): _scores,
    ("dsm", "decision"): _sure,
    ("imap", "cost_request"): _request,
    ("imap", "costs"): _costs,
    ("imap", "decision"): _sure,
    ("sd", "propose"): _soft,
    ("sd", "propose_reschedule"): _soft,
    ("sd", "reply"): _reply,
    ("sd", "reschedule_reply"): _reply,
}

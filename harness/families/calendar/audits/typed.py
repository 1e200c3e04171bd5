"""Typed messages: JSON of a protocol, which is no prose and is never read as such.

What they state of their sender's calendar is plain: IMAP's `costs` are a price a slot, SD-MAP's `reply` is PENDING or
IMPOSSIBLE. What they state of others is one thing: the slot that IMAP's `decision` or SD-MAP's `confirm` names is possible for
all participants. Other fields and other protocols state nothing that an audit of truth can use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from harness.families.calendar.audits.statements import Claim, Statement

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?$)', re.DOTALL)
"""A string of JSON, the last one also where it is not ended."""


def typed_statements(text: str) -> Iterator[Statement]:
    """What a typed message states of its sender's slots."""
    payload = _loaded(text)
    if (payload.get("protocol"), payload.get("type")) == ("imap", "costs"):
        yield from _priced(payload.get("costs"))
    elif (payload.get("protocol"), payload.get("type")) == ("sd", "reply"):
        claim = {"PENDING": Claim.POSSIBLE, "IMPOSSIBLE": Claim.IMPOSSIBLE}.get(str(payload.get("reply_status")))
        slot = payload.get("slot")
        if claim is not None and isinstance(slot, int) and not isinstance(slot, bool):
            yield Statement(slot, claim)


def statements_of_others(text: str, meeting: int) -> Iterator[Statement]:
    """Return what a typed message states of every other participant: the slot of its meeting is possible for each of them."""
    payload = _loaded(text)
    slot = payload.get("slot")
    is_decided = (payload.get("protocol"), payload.get("type")) in {("imap", "decision"), ("sd", "confirm")}
    if is_decided and payload.get("meeting_id") == meeting and isinstance(slot, int) and not isinstance(slot, bool):
        yield Statement(slot, Claim.POSSIBLE)


def is_cut_off(reply: str) -> bool:
    """Whether the JSON of a reply was begun and not ended; prose around whole JSON makes no difference."""
    _, brace, rest = reply.partition("{")
    plain = _STRING.sub("", brace + rest)
    return plain.count("{") > plain.count("}") or plain.count("[") > plain.count("]")


def _priced(costs: Any) -> Iterator[Statement]:
    for name, cost in costs.items() if isinstance(costs, Mapping) else ():
        if not (name.isascii() and name.isdecimal() and len(name) < 5) or isinstance(cost, bool):
            continue
        if cost is None:
            yield Statement(int(name), Claim.IMPOSSIBLE)
        elif isinstance(cost, int):
            yield Statement(int(name), Claim.COSTS, cost) if cost else Statement(int(name), Claim.FREE)


def _loaded(text: str) -> dict[str, Any]:
    try:
        value = from_json(text)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}

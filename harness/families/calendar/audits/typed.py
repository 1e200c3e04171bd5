"""Typed messages: JSON of a protocol, which is no prose and is never read as such.

What they state of their sender's calendar is plain: IMAP's `costs` are a price a slot, SD-MAP's `reply` is PENDING or
IMPOSSIBLE. Other fields and other protocols state nothing that an audit of truth can use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from harness.families.calendar.audits.statements import Claim, Statement


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

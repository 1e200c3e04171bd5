"""Faults: which seat of a game lost a round or a session, by which rule, and in which turn.

Validators find them, verdicts carry them, and readers and tables name the seats by them. A failure without any fault is one
that the rules lay at no single seat.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from worlds.core.models import Strict

FaultCause = Literal[
    # a calendar round
    "no_reply", "unreadable", "refused", "touched_blocked", "other_slot", "different_slots", "moved_meeting",
    # a hidden-profile session
    "no_vote", "invalid_vote", "wrong_vote",
]  # fmt: skip
"""`different_slots` and nothing else is shared: the rules do not say which of the seats was wrong."""


LONGEST_DETAIL = 40
"""Characters of a reason that a log gives for a missing reply."""


class SeatFault(Strict):
    """One seat's part in a failure."""

    seat: int
    cause: FaultCause
    detail: str = ""
    """Why there is no reply, the conflicts of a refused batch, or the slot or option that was chosen."""

    meeting: int | None = None
    """The earlier meeting that was moved."""

    turn: int | None = None
    """Number in the log of the seat's turn that did it."""


def told_faults(faults: Iterable[SeatFault]) -> list[dict[str, Any]]:
    """Return faults as a verdict's failure_detail has them."""
    return [fault.model_dump(mode="json", exclude_defaults=True) for fault in faults]


def has_none(faults: object) -> bool:
    """True for an empty tuple: a verdict without faults says nothing of them."""
    return faults == ()

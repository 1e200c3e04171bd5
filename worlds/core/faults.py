"""Faults: the seat that lost a round or a session of a game, the rule it broke, and the turn in which it did.

Validators find faults, verdicts store them, and readers and tables use them to name seats. A failure without faults is one
that the rules assign to no single seat.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from worlds.core.models import Strict

FaultCause = Literal[
    # a calendar round
    "no_reply", "unreadable", "refused", "touched_blocked", "other_slot", "different_slots", "moved_meeting",
    # a hidden-profile session
    "no_vote", "invalid_vote", "wrong_vote",
]  # fmt: skip
"""`different_slots` is the only shared cause: the rules do not say which of the seats was wrong."""


LONGEST_DETAIL = 40
"""Maximum number of characters of the reason for a missing reply."""


class SeatFault(Strict):
    """One seat's part in a failure."""

    seat: int
    cause: FaultCause
    detail: str = ""
    """Cause of the missing reply, conflicts of a refused batch, or the slot or option that was chosen."""

    meeting: int | None = None
    """The earlier meeting that was moved."""

    turn: int | None = None
    """Log number of the turn of the seat that caused the fault."""


def faults_as_json(faults: Iterable[SeatFault]) -> list[dict[str, Any]]:
    """Return faults in the form of a verdict's failure_detail."""
    return [fault.model_dump(mode="json", exclude_defaults=True) for fault in faults]


Faults = Annotated[tuple[SeatFault, ...], Field(exclude_if=lambda faults: faults == ())]
"""Field of a verdict that is omitted if there are none."""

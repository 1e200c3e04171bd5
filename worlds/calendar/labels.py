"""How a calendar episode, or one of its meetings, ended: the paper's seven failure modes (Figure 5) beside success.

An episode's label is SUCCESS when every meeting was scheduled, else the reason of the first meeting that was not. What the
schedule cost shows in the reward, not here.
"""

from __future__ import annotations

from enum import StrEnum


class Label(StrEnum):
    """Reasons A to G of the paper, and two that it has no letter for."""

    SUCCESS = "SUCCESS"
    SLOT_MISMATCH = "SLOT_MISMATCH"
    BLOCKED_ITEM = "BLOCKED_ITEM"
    NO_SCHEDULE = "NO_SCHEDULE"
    PRIOR_MEETING_MOVED = "PRIOR_MEETING_MOVED"
    SLOT_OCCUPIED = "SLOT_OCCUPIED"
    TARGET_OCCUPIED = "TARGET_OCCUPIED"
    SEVERAL = "SEVERAL"
    OTHER = "OTHER"


LETTERS: dict[Label, str] = {
    Label.SLOT_MISMATCH: "A",
    Label.BLOCKED_ITEM: "B",
    Label.NO_SCHEDULE: "C",
    Label.PRIOR_MEETING_MOVED: "D",
    Label.SLOT_OCCUPIED: "E",
    Label.TARGET_OCCUPIED: "F",
    Label.SEVERAL: "G",
}
"""The letters of Figure 5."""

"""Labels of a calendar episode or one of its meetings: success, and the paper's seven failure modes (Figure 5).

An episode's label is SUCCESS if every meeting was scheduled, else the reason of the first meeting that was not. The cost of the
schedule affects the reward only.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from worlds.calendar.rules.batch import Conflict
from worlds.calendar.rules.resolution import Resolution


class Label(StrEnum):
    """Reasons A to G of the paper, and two without a letter."""

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
"""Letters of Figure 5."""

REASONS: dict[Conflict, Label] = {
    Conflict.NO_SCHEDULE: Label.NO_SCHEDULE,
    Conflict.BLOCKED: Label.BLOCKED_ITEM,
    Conflict.SCHEDULE_OCCUPIED: Label.SLOT_OCCUPIED,
    Conflict.TARGET_OCCUPIED: Label.TARGET_OCCUPIED,
}
"""Conflicts that the paper's Figure 5 names; all others are OTHER."""


def failure_reason(resolution: Resolution, exhausted: Sequence[Sequence[Conflict]], doomed: bool = False) -> Label:
    """Return the reason for the failure of a round: its single class, or SEVERAL (paper, Figure 5).

    `exhausted` holds, for each participant without a valid batch, the conflicts of its last one. `doomed` is True if an attempt
    on a blocked item, even a corrected one, failed the round.
    """
    if resolution.is_coordinated and not doomed:
        return Label.SUCCESS
    classes = {REASONS.get(conflict, Label.OTHER) for conflicts in exhausted for conflict in conflicts}
    if doomed:
        classes.add(Label.BLOCKED_ITEM)
    if resolution.broken:
        classes.add(Label.PRIOR_MEETING_MOVED)
    if len(set(resolution.slots.values()) - {None}) > 1:
        classes.add(Label.SLOT_MISMATCH)
    if len(classes) > 1:
        # it is no class of its own, only that there is none
        classes.discard(Label.OTHER)
    if len(classes) > 1:
        return Label.SEVERAL
    return classes.pop() if classes else Label.OTHER

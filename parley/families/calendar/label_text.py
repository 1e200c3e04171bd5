"""Meaning of each label of this family in one line; an episode's label explains its first failed meeting."""

from __future__ import annotations

from parley.families.calendar.reading import WHY
from worlds.calendar.labels import Label

MEANINGS: dict[str, str] = {
    Label.SUCCESS.value: "Every meeting was scheduled.",
    **{label.value: f"A meeting was not scheduled: {why}." for label, why in WHY.items()},
    Label.OTHER.value: "A meeting was not scheduled, or no turn was answered, for a reason that has no label of its own.",
}
"""A line for each label."""

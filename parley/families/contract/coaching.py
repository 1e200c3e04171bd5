"""Coaching notes: the label of a failed attempt, its meaning and the capability it concerns, never a value.

For the paper's retry experiment (section 4.4, Appendix S). The wrong note is the note of the label on the other axis that is
nearest in severity (ties: first by name). It is equally severe and equally well written, but unrelated.
"""

from __future__ import annotations

from worlds.contract.labels import LABELS, Axis, Label

_OPPOSITE = {Axis.VALIDITY: Axis.INTEGRITY, Axis.INTEGRITY: Axis.VALIDITY, Axis.META: Axis.INTEGRITY}


def note(label: str) -> str:
    """Return the note for an agent about an earlier attempt that failed with `label`."""
    info = LABELS[Label(label)]
    return (
        "A note on an earlier attempt at this same task, which failed:\n"
        f"the failure was classified as {Label(label)}. {info.coaching} What it calls for: {info.deficit}."
    )


def far_label(label: str) -> Label:
    """Return the failure label of the other axis that is nearest in severity (ties: first by name)."""
    first = LABELS[Label(label)]
    others = (other for other, info in LABELS.items() if info.axis is _OPPOSITE[first.axis])
    return min(others, key=lambda other: (abs(LABELS[other].severity - first.severity), other))

"""Proposition 1 of the paper, proved task by task: validity and integrity fail apart, and together.

A task that hands out artifacts with a window names three of its violations in CELLS:
`validity`   the right bytes too late: a validity label, and no integrity failure beside it (`also` is empty);
`integrity`  the wrong bytes in time: an integrity label;
`both`       wrong and too late: validity is judged first (Appendix F), and `also` names the integrity label.
"""

from __future__ import annotations

from validators.verdict import Broken, Verdict
from worlds.contract.labels import LABELS, Axis, Label

CELLS = ("validity", "integrity", "both")


def wrong_in_cell(cell: str, verdict: Verdict) -> str | None:
    """Why an episode does not fill its cell, or None when it does."""
    worst = next((broken for broken in verdict.violations if broken.label == verdict.failure_label), None)
    if worst is None:
        return f"broke no rule, and ended as {verdict.failure_label}"
    axis, also = _axis(worst.label), _axis(worst.also)
    wanted = {"validity": (Axis.VALIDITY, None), "integrity": (Axis.INTEGRITY, None), "both": (Axis.VALIDITY, Axis.INTEGRITY)}
    if (axis, also) == wanted[cell]:
        return None
    return f"must fail in {_words(*wanted[cell])}, not in {_words(axis, also)} ({_told(worst)})"


def _axis(label: str | None) -> Axis | None:
    return LABELS[Label(label)].axis if label is not None else None


def _words(axis: Axis | None, also: Axis | None) -> str:
    return f"{axis} and {also}" if also else f"{axis} alone"


def _told(worst: Broken) -> str:
    return worst.label + (f", also {worst.also}" if worst.also else "")

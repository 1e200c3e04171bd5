"""Validity first: of all that is wrong with a request, the window that is over is told, and the wrong bytes beside it.

A request may use several artifacts and values at once. Checked one after the other, wrong bytes in the first would hide
that the second had run out; so all are checked, and then one failure is chosen (paper, Appendix F).
"""

from __future__ import annotations

from collections.abc import Callable

from worlds.contract.labels import LABELS, Axis, Label
from worlds.core.calls import Violation


def validity_first(*checks: Callable[[], object]) -> None:
    """Make every check, then raise the first failure on the validity axis, or else the first one.

    `also` of a validity failure names the first integrity failure, its own before that of a later check.
    """
    broken = [violation for check in checks if (violation := _broken(check)) is not None]
    late = next((violation for violation in broken if _axis(violation) is Axis.VALIDITY), None)
    if late is not None:
        told = (violation.also if _axis(violation) is Axis.VALIDITY else violation.label for violation in (late, *broken))
        late.also = next((label for label in told if label and LABELS[Label(label)].axis is Axis.INTEGRITY), None)
    if broken:
        raise late or broken[0]


def _axis(broken: Violation) -> Axis:
    return LABELS[Label(broken.label)].axis


def _broken(check: Callable[[], object]) -> Violation | None:
    try:
        check()
    except Violation as broken:
        return broken
    return None

"""Validity before integrity: a request with several failures reports the expired window, and the wrong bytes beside it.

A request may use several artifacts and values at once. If they were checked one after the other, wrong bytes in the first
would hide the expiry of the second. So all are checked, and then one failure is chosen (paper, Appendix F).
"""

from __future__ import annotations

from collections.abc import Callable

from worlds.contract.labels import LABELS, Axis, Label
from worlds.core.calls import Violation


def validity_first(*checks: Callable[[], object]) -> None:
    """Run every check, then raise the first failure on the validity axis, or else the first failure.

    `also` of a validity failure is set to the first integrity failure: that of the same check, or else of a later one.
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

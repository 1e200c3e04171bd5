"""Which executed candidates are kept: solvable with everything, not without, and by nobody alone (specification 1.6).

The first two bounds are the published ones, both ends included. The third is ours: an average hides one hand that knows.
"""

from __future__ import annotations

from harness.authoring.hidden_profile.gate import Execution

FULL, HIDDEN, HAND = 0.8, 0.2, 0.5
"""At least, at most, and less than: shares of first votes that are the key."""


def against(found: Execution) -> dict[str, str]:
    """What speaks against a candidate, by the name of the bound; empty for one that is kept."""
    reasons = {}
    if found.full < FULL:
        reasons["full"] = f"with everything {found.full:.0%} of first votes are right, and {FULL:.0%} are wanted"
    if found.hidden > HIDDEN:
        reasons["hidden"] = f"with hands {found.hidden:.0%} of first votes are right, and {HIDDEN:.0%} are allowed"
    if knowing := {hand: share for hand, share in found.by_hand.items() if share >= HAND}:
        reasons["hand"] = ", ".join(f"hand {hand} alone is right in {share:.0%}" for hand, share in knowing.items())
    return reasons

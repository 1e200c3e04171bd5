"""Length of windows, which varies by seed so that it cannot be memorised, and checks of announced opening times."""

from __future__ import annotations

from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Violation

SHARE = 10
"""A window may be shorter than its knob by at most one part in this many."""


def drawn_ms(world: ContractWorld, knob: str) -> int:
    """Draw the length of a window in virtual ms: a knob's value in s, minus up to a tenth of it, in whole seconds."""
    most = world.knob_ms(knob)
    return most - world.chance(knob).seconds(0, most // SHARE // 1000)


def not_before(now: int, opens_at: int, what: str) -> None:
    """Raise SCHEDULED_UNAVAILABLE for a use before the announced time (virtual ms); `what` names the thing for the caller."""
    if now < opens_at:
        raise Violation(Label.SCHEDULED_UNAVAILABLE, f"{what} does not work yet", field=what)

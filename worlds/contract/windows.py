"""How long a window is, by seed, so that nobody can learn one length by heart; and what was announced and is not open yet."""

from __future__ import annotations

from worlds.contract.labels import Label
from worlds.contract.world import ContractWorld
from worlds.core.calls import Violation

SHARE = 10
"""A window may be shorter than its knob says by one part in so many."""


def drawn_ms(world: ContractWorld, knob: str) -> int:
    """The length of a window in virtual ms: that of a knob in s, less up to a tenth of it by seed, in whole seconds."""
    most = world.knob_ms(knob)
    return most - world.chance(knob).seconds(0, most // SHARE // 1000)


def not_before(now: int, opens_at: int, what: str) -> None:
    """Raise SCHEDULED_UNAVAILABLE for a use before the announced moment (virtual ms); `what` names the thing for the caller."""
    if now < opens_at:
        raise Violation(Label.SCHEDULED_UNAVAILABLE, f"{what} does not work yet", field=what)

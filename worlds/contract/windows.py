"""How long a window is, by seed: nobody can learn one length by heart and plan with it instead of with what the world says."""

from __future__ import annotations

from worlds.contract.world import ContractWorld

SHARE = 10
"""A window may be shorter than its knob says by one part in so many."""


def drawn_ms(world: ContractWorld, knob: str) -> int:
    """The length of a window in virtual ms: that of a knob in s, less up to a tenth of it by seed, in whole seconds."""
    most = world.knob_ms(knob)
    return most - 1000 * world.chance(knob).between(0, most // SHARE // 1000)

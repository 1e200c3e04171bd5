"""What errands and meetings cost: levels by chance, or each level equally often for every agent (specification 3.5).

Levels are 1, 2, 3, ...; what a calendar shows of them is `parameters.shown`.
"""

from __future__ import annotations

from harness.authoring.calendar.parameters import shown
from worlds.core.chance import Stream


def drawn(count: int, level: int, stream: Stream) -> list[int]:
    """`count` shown costs, the level of each uniform in 1..`level` (paper, Appendix A.1 step 4)."""
    return [shown(stream.between(1, level)) for _ in range(count)]


def balanced(count: int, level: int, stream: Stream) -> list[int]:
    """`count` shown costs in random order, each level as often as the next or once more, beginning with the lowest."""
    costs = [shown(place % level + 1) for place in range(count)]
    stream.shuffle(costs)
    return costs

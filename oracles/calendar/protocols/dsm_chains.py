"""Plans that an initiator can offer: slots of its own, and chains that move earlier meetings out of the way.

1. A slot without a meeting is one plan, and its id is the slot.
2. Where a meeting stands, it may go to a free slot of the initiator's, or to another meeting's slot, which then goes on in the
   same way, up to the cascade depth. Such plans have the ids (slot + 1) * 1000 + place.
3. The chains of a slot are sorted by cost, length and targets, and only the first few count (paper, Table 9).

Slots are where a meeting begins. One that is longer than a slot and would lie across two earlier meetings has no chain there:
chains move meetings one for the other, never two at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from oracles.calendar.protocols.dsm_scoring import DsmPlan, Shift
from oracles.calendar.protocols.insertion import in_the_way
from worlds.calendar.rules.items import Cells, Item

Chain = tuple[tuple[Item, Shift], ...]
"""Meetings that move, each with where to; the last one to a free slot."""


def plans(cells: Cells, duration: int, depth: int, targets: int) -> list[DsmPlan]:
    """Every plan that a calendar suggests, feasible or not; `depth` meetings a chain and `targets` chains a slot at most."""
    suggested: list[DsmPlan] = []
    for slot in range(len(cells) - duration + 1):
        span = frozenset(range(slot, slot + duration))
        meetings = [item for _, item in in_the_way(cells, slot, duration) or [] if item.kind == "meeting"]
        if not meetings:
            suggested.append(DsmPlan(slot, slot))
        elif len(meetings) == 1:
            chains = sorted(_chains(cells, meetings[0], span, depth), key=_order)[:targets]
            suggested += [
                DsmPlan((slot + 1) * 1000 + place, slot, tuple(shift for _, shift in chain))
                for place, chain in enumerate(chains)
            ]
    return suggested


def _chains(cells: Cells, item: Item, taken: frozenset[int], depth: int) -> Iterator[Chain]:
    """Every way to move a meeting away, off the `taken` cells."""
    source = cells.index(item)
    taken = taken.union(range(source, source + item.duration))
    for target in range(len(cells) - item.duration + 1):
        span = range(target, target + item.duration)
        there = in_the_way(cells, target, item.duration) or []
        if taken.intersection(span) or len(there) > 1:
            continue
        move = (item, Shift(item.id, source, target, item.participants))
        if not there:
            yield (move,)
        elif depth > 1 and there[0][1].kind == "meeting":
            for rest in _chains(cells, there[0][1], taken.union(span), depth - 1):
                yield (move, *rest)


def _order(chain: Chain) -> tuple[int, int, tuple[int, ...]]:
    return sum(item.cost for item, _ in chain), len(chain), tuple(shift.target for _, shift in chain)

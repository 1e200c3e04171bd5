"""Who takes part in which meeting and who speaks first: everybody equally often, the rest by chance (specification 3.2, 3.3).

1. Participants: each agent's count is fixed beforehand, equal or, where that cannot be, one apart. A meeting takes everybody
   whose open count is as large as the number of meetings left, and others by chance; so the counts are always met.
2. Two meetings with the same participants exchange members with other meetings, which keeps every count, until no set is
   repeated, or as few as can be reached.
3. First speakers: a matching of meetings to participants in which nobody is first more than once more than another, as far as
   who takes part in what allows it. Who speaks second, third, ... is drawn, so no place goes with an agent's number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from worlds.core.chance import Stream

Sets = list[tuple[int, ...]]

TRIES = 20
"""Fresh starts against repeated sets."""


def rotation(agents: int, size: int, count: int, stream: Stream) -> Sets:
    """`count` sets of `size` of the agents, ascending, each agent in equally many, with as few repeated sets as is found."""
    best = _sets(agents, size, count, stream)
    for _ in range(TRIES):
        _exchange(best, stream)
        if repeated(best) == 0 or size == agents:
            break
        other = _sets(agents, size, count, stream)
        _exchange(other, stream)
        best = min(best, other, key=repeated)
    return best


def repeated(sets: Sequence[Sequence[int]]) -> int:
    """How many sets have been there before."""
    return len(sets) - len({tuple(one) for one in sets})


def speakers(sets: Sequence[Sequence[int]], stream: Stream) -> Sets:
    """For each meeting its participants in the order in which they speak."""
    first = _first_speakers(sets, stream)
    orders: Sets = []
    for opener, chosen in zip(first, sets, strict=True):
        others = [agent for agent in chosen if agent != opener]
        stream.shuffle(others)
        orders.append((opener, *others))
    return orders


def _sets(agents: int, size: int, count: int, stream: Stream) -> Sets:
    least, extra = divmod(size * count, agents)
    more = set(stream.sample(range(agents), extra))
    open_ = {agent: least + (agent in more) for agent in range(agents)}
    sets: Sets = []
    for left in range(count, 0, -1):
        must = [agent for agent in open_ if open_[agent] == left]
        may = [agent for agent in open_ if 0 < open_[agent] < left]
        chosen = (*must, *stream.sample(may, size - len(must)))
        for agent in chosen:
            open_[agent] -= 1
        sets.append(tuple(sorted(chosen)))
    return sets


def _exchange(sets: Sets, stream: Stream) -> None:
    """Swap one member of a repeated set with one of another set wherever that makes two new sets; in place."""
    for place, one in enumerate(sets):
        counts = Counter(sets)
        if counts[one] == 1:
            continue
        others = list(range(len(sets)))
        stream.shuffle(others)
        swaps = (
            (other, _swapped(one, leaves, enters), _swapped(sets[other], enters, leaves))
            for other in others
            for leaves, enters in product(one, sets[other])
            if leaves not in sets[other] and enters not in one
        )
        found = next(((o, a, b) for o, a, b in swaps if counts[a] == counts[b] == 0 and a != b), None)
        if found is not None:
            other, mine, theirs = found
            sets[place], sets[other] = mine, theirs


def _swapped(one: tuple[int, ...], leaves: int, enters: int) -> tuple[int, ...]:
    return tuple(sorted({*one} - {leaves} | {enters}))


def _first_speakers(sets: Sequence[Sequence[int]], stream: Stream) -> list[int]:
    """Kuhn's matching with a ceiling on how often one agent is first, raised until every meeting has one."""
    openers: dict[int, int] = {}
    order = list(range(len(sets)))
    stream.shuffle(order)
    preferences = [stream.sample(list(chosen), len(chosen)) for chosen in sets]

    def settle(meeting: int, ceiling: int, seen: set[int]) -> bool:
        for agent in preferences[meeting]:
            if agent in seen:
                continue
            seen.add(agent)
            held = [other for other, opener in openers.items() if opener == agent]
            if len(held) < ceiling or any(settle(other, ceiling, seen) for other in held):
                openers[meeting] = agent
                return True
        return False

    for ceiling in range(1, len(sets) + 1):
        order = [meeting for meeting in order if not settle(meeting, ceiling, set())]
    return [openers[meeting] for meeting in range(len(sets))]

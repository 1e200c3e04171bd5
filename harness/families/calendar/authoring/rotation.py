"""Who takes part in which meeting and who speaks first: everybody equally often, the rest by chance (specification 3.2, 3.3).

1. Participants: first it is fixed how many meetings each agent takes part in; these numbers are equal, or differ by one. Then
   the meetings are filled in order. An agent that still needs as many meetings as are left takes part in the next one; the
   other places are drawn.
2. Where several meetings have the same participants, they swap members with other meetings, one for one, so that no agent's
   number of meetings changes. This goes on until no set of participants is repeated, or as few as can be reached.
3. First speakers: one participant of each meeting, so chosen that no agent is first more than once more often than another, as
   far as the sets of participants allow it. Who speaks second, third, ... is drawn, and does not depend on an agent's number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from worlds.core.chance import Stream

Sets = list[tuple[int, ...]]

TRIES = 20
"""How many times the participants may be drawn anew where a set of them is repeated."""


def rotation(agents: int, size: int, count: int, stream: Stream) -> Sets:
    """`count` ascending sets of `size` agents, each agent in equally many or one more, as few repeated as could be reached."""
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
    """How many sets are equal to an earlier one."""
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
    """Change `sets` in place: a repeated set swaps a member with another set wherever that makes two new sets."""
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
        swap = next(((o, a, b) for o, a, b in swaps if counts[a] == counts[b] == 0 and a != b), None)
        if swap is not None:
            other, mine, theirs = swap
            sets[place], sets[other] = mine, theirs


def _swapped(one: tuple[int, ...], leaves: int, enters: int) -> tuple[int, ...]:
    return tuple(sorted({*one} - {leaves} | {enters}))


def _first_speakers(sets: Sequence[Sequence[int]], stream: Stream) -> list[int]:
    """Kuhn's matching, with a limit on how often one agent is first that is raised until every meeting has a first speaker."""
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

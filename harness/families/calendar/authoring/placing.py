"""Places meetings on calendars that hold no errands yet, so that no two meetings of one agent share a cell.

Prior meetings can be put in the way: each stands where the hidden schedule has a new meeting, on the calendar of one of its
participants at least, and has another slot in the hidden schedule. No new meeting has all of its participants, so whoever moves
it needs somebody from outside the round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worlds.calendar.rules.scenario import Meeting
from worlds.core.chance import Stream

TRIES = 200
"""Fresh starts when meetings do not find a slot for themselves."""

Cells = list[set[int]]
"""By agent: the cells that meetings take."""


@dataclass(frozen=True)
class InTheWay:
    """Where a prior meeting stands, and where the hidden schedule moves it."""

    participants: tuple[int, ...]
    stands: int
    moves_to: int


def take_slot(slots: int, who: Sequence[int], duration: int, taken: Cells, stream: Stream) -> int | None:
    """Take a slot for a meeting, uniform among those where its participants have no other; None where there is none."""
    busy = set().union(*(taken[agent] for agent in who))
    starts = [start for start in range(slots - duration + 1) if busy.isdisjoint(range(start, start + duration))]
    if not starts:
        return None
    slot = stream.choice(starts)
    for agent in who:
        taken[agent].update(range(slot, slot + duration))
    return slot


def in_the_way(
    count: int, size: int, slots: int, meetings: Sequence[Meeting], witness: Mapping[int, int], taken: Cells, stream: Stream
) -> list[InTheWay] | None:
    """Prior meetings, each in the way of another new meeting; None where one finds no participants or no new slot.

    Args:
        count: prior meetings, at most as many as there are new ones.
        size: participants of each.
        slots: of a calendar.
        meetings: the new ones.
        witness: their slots in the hidden schedule.
        taken: the cells that these slots take; the new slots of the prior meetings are added.
        stream: what is drawn from.
    """
    standing: Cells = [set() for _ in taken]
    made: list[InTheWay] = []
    for meeting in stream.sample(meetings, count):
        stands = witness[meeting.id]
        elsewhere = [agent for agent in range(len(taken)) if agent not in meeting.participants and stands in taken[agent]]
        who = _participants(size, meeting, meetings, {*elsewhere, *_at(standing, stands)}, len(taken), stream)
        if who is None:
            return None
        for agent in who:
            standing[agent].add(stands)
        # the new slot is free in the beginning too, so that the prior meeting can leave at once
        both = [mine | theirs for mine, theirs in zip(taken, standing, strict=True)]
        moves_to = take_slot(slots, who, 1, both, stream)
        if moves_to is None:
            return None
        for agent in who:
            taken[agent].add(moves_to)
        made.append(InTheWay(who, stands, moves_to))
    return made


def _at(cells: Cells, slot: int) -> list[int]:
    return [agent for agent, mine in enumerate(cells) if slot in mine]


def _participants(
    size: int, meeting: Meeting, meetings: Sequence[Meeting], busy: set[int], agents: int, stream: Stream
) -> tuple[int, ...] | None:
    """Agents that are not busy, one of the meeting at least, and not all in any one meeting; None where none are drawn."""
    inside = [agent for agent in meeting.participants if agent not in busy]
    able = [agent for agent in range(agents) if agent not in busy]
    if not inside or len(able) < size:
        return None
    for _ in range(TRIES):
        first = stream.choice(inside)
        who = {first, *stream.sample([agent for agent in able if agent != first], size - 1)}
        if not any(who <= set(other.participants) for other in meetings):
            return tuple(sorted(who))
    return None

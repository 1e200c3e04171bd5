"""Work under a lease that can be renewed only so often: planned renewals get through, idle and hasty ones do not.

A step is done under the lease if it begins and ends within it, and more than 1 s is left for the next request. The fewest
renewals are those of who renews just before a step that would not fit; so many a lease allows. One lease is lost under a
step, and another one has to do for that step and those after it, again with the fewest renewals.
Plans are drawn until (1) a step that fits leaves at least `SLACK_S`, so that a detour of 1 s is forgiven in every lease between
renewals; (2) who never renews loses a lease; (3) who renews before every step but the first of a lease runs out of renewals.
All times are whole virtual seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worlds.core.chance import Stream

STEPS, SHORTEST_S, LONGEST_S = 4, 4, 16
SLACK_S = 3
"""What a step that fits leaves of its lease."""


@dataclass(frozen=True)
class LeasePlan:
    """How long a lease lives, how long each step takes, and the number, from 1, of the step that loses its lease."""

    lease_s: int
    seconds: tuple[int, ...]
    losing: int

    def quota(self, done: int) -> int:
        """Renewals of a lease that is acquired when so many steps are done."""
        return fewest_renewals(self.lease_s, self.seconds[done:]) or 0

    def demanding(self) -> bool:
        """Whether the three rules hold for it."""
        before, after = self.seconds[: self.losing], self.seconds[self.losing - 1 :]
        needed = [fewest_renewals(self.lease_s, part) for part in (before, after, self.seconds)]
        if None in needed:
            return False
        idle_gets_through = needed[:2] == [0, 0]
        hasty_gets_through = self.losing - 1 <= self.quota(0) and len(after) - 1 <= self.quota(self.losing - 1)
        return not idle_gets_through and not hasty_gets_through


def fewest_renewals(lease_s: int, seconds: Sequence[int]) -> int | None:
    """The renewals that a fresh lease needs for these steps; None if a step that fits leaves too little."""
    left, renewals = lease_s, 0
    for step in seconds:
        if step + 1 >= left:
            left, renewals = lease_s, renewals + 1
        left -= step
        if left < SLACK_S:
            return None
    return renewals


def draw_plan(draw: Stream, around_s: int) -> LeasePlan:
    """A demanding plan whose lease is `around_s`, give or take one, and whose second or third step loses it."""
    while True:
        lease = around_s + draw.between(-1, 1)
        seconds = tuple(draw.between(SHORTEST_S, min(LONGEST_S, lease - SLACK_S - 1)) for _ in range(STEPS))
        plan = LeasePlan(lease, seconds, draw.between(2, STEPS - 1))
        if plan.demanding():
            return plan

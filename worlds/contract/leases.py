"""Work under a lease with a limited number of renewals; plans reject agents that never renew or always renew.

A step is done under the lease if it begins and ends within it, and more than 1 s is left for the next request. Renewing just
before a step that would not fit needs the fewest renewals, and a lease allows exactly that many. One lease is lost during a
step; another one must last for that step and the remaining ones, again with the fewest renewals.
Plans are drawn until (1) a step that fits leaves at least `SLACK_S`, so that a detour of 1 s is tolerated in every lease
between renewals; (2) an agent that never renews loses a lease; (3) an agent that renews before every step but the first of a
lease runs out of renewals. All times are whole virtual seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worlds.core.chance import Stream

STEPS, SHORTEST_S, LONGEST_S = 4, 4, 16
SLACK_S = 3
"""Minimum time that a step which fits leaves of its lease."""


@dataclass(frozen=True)
class LeasePlan:
    """Lifetime of a lease, duration of each step, and the 1-indexed number of the step that loses its lease."""

    lease_s: int
    seconds: tuple[int, ...]
    losing: int

    def quota(self, done: int) -> int:
        """Return the number of renewals of a lease that is acquired after `done` steps."""
        return fewest_renewals(self.lease_s, self.seconds[done:]) or 0

    def is_demanding(self) -> bool:
        """Return True if the plan satisfies the three rules."""
        before, after = self.seconds[: self.losing], self.seconds[self.losing - 1 :]
        needed = [fewest_renewals(self.lease_s, part) for part in (before, after, self.seconds)]
        if None in needed:
            return False
        idle_gets_through = needed[:2] == [0, 0]
        hasty_gets_through = self.losing - 1 <= self.quota(0) and len(after) - 1 <= self.quota(self.losing - 1)
        return not idle_gets_through and not hasty_gets_through


def fewest_renewals(lease_s: int, seconds: Sequence[int]) -> int | None:
    """Return the number of renewals that a fresh lease needs for these steps; None if a step that fits leaves too little."""
    left, renewals = lease_s, 0
    for step in seconds:
        if step + 1 >= left:
            left, renewals = lease_s, renewals + 1
        left -= step
        if left < SLACK_S:
            return None
    return renewals


def draw_plan(draw: Stream, around_s: int) -> LeasePlan:
    """Draw a plan that satisfies the rules, with a lease of `around_s` plus or minus 1, lost by the second or third step."""
    while True:
        lease = around_s + draw.between(-1, 1)
        seconds = tuple(draw.between(SHORTEST_S, min(LONGEST_S, lease - SLACK_S - 1)) for _ in range(STEPS))
        plan = LeasePlan(lease, seconds, draw.between(2, STEPS - 1))
        if plan.is_demanding():
            return plan

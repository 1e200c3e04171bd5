"""The certificate of a calendar task, as tests/oracle.json holds it: what schedules cost, how many there are, what plans reach.

`oracles.calendar` makes it, validators measure games against it, authors choose tasks by it. Costs are on the scored scale but
for those called shown; schedules map meetings to slots, their keys being texts, as in JSON. None stands for what is not known,
or not there: a task that no schedule solves has no optimum. Whoever reads one takes what it has: only `certify` makes it whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worlds.core.models import Lenient

Schedule = dict[str, int]
"""Meeting -> slot."""


class Extremes(Lenient):
    """The best and the worst schedule of some meetings, in all and by seat."""

    optimum: int | None = None
    per_agent: tuple[int, ...] | None = None
    worst: int | None = None
    worst_per_agent: tuple[int, ...] | None = None


class SimplePlan(Lenient):
    """What a plan without foresight costs; `cost` is None where it breaks something."""

    cost: int | None
    slots: Schedule


class Witness(Lenient):
    """The generator's schedule, with what it costs while prior meetings stay."""

    slots: Schedule
    cost: int | None


class Fairest(Lenient):
    """The optimal schedule whose costs differ least between seats."""

    slots: Schedule
    prior_moves: Schedule = {}
    """Left out of the file where there is none."""

    per_agent: tuple[int, ...]


class Certificate(Lenient):
    """All that is proved of one task."""

    optimum: int | None = None
    assignment: Schedule | None = None
    prior_moves: Schedule | None = None
    """Where prior meetings go, of those that do not stay."""

    per_agent: tuple[int, ...] | None = None
    optima: int | None = None
    """How many schedules are optimal."""

    ranges: tuple[tuple[int, int], ...] | None = None
    """By seat: the least and the most that it pays over all optimal schedules."""

    fairest: Fairest | None = None
    worst: int | None = None
    worst_per_agent: tuple[int, ...] | None = None
    feasible: int | None = None
    total: int | None = None
    difficulty: float | None = None
    """Share of all assignments that are schedules."""

    greedy: SimplePlan | None = None
    myopic: SimplePlan | None = None
    witness: Witness | None = None
    shown_optimum: int | None = None
    shown_agrees: bool | None = None
    """Whether what is optimal on the shown scale is so on the scored one."""

    without_outsiders: int | None = None
    """The least cost of a game in which nobody outside the round's meeting moves anything; None where no such game succeeds.

    Both are left out of the file where there are no prior meetings.
    """

    shown_without_outsiders: int | None = None
    by_subset: dict[str, Extremes] | None = None
    """For each subset of the meetings, named by its ids in ascending order."""

    @property
    def whole(self) -> Extremes:
        """Best and worst of all meetings together."""
        return Extremes(optimum=self.optimum, per_agent=self.per_agent, worst=self.worst, worst_per_agent=self.worst_per_agent)

    def document(self) -> dict[str, Any]:
        """What the file holds: every key that was given, in the order above."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_certificate(document: Mapping[str, Any] | None) -> Certificate:
    """The certificate in tests/oracle.json as read, an empty one where the task has none; raises ValidationError."""
    return Certificate.model_validate(document or {})

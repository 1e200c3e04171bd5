"""Certificate of a calendar task in tests/oracle.json: costs and number of schedules, and the results of simple plans.

`oracles.calendar` makes it, validators measure games against it, and authors use it to choose tasks. Costs are on the scored
scale unless called shown. Schedules map meetings to slots; their keys are strings, as in JSON. None means unknown or missing:
an infeasible task has no optimum. Readers accept incomplete certificates; only `certify` makes complete ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worlds.core.models import Lenient

Schedule = dict[str, int]
"""Meeting -> slot."""


class Extremes(Lenient):
    """The best and the worst schedule of some meetings, in total and by seat."""

    optimum: int | None = None
    per_agent: tuple[int, ...] | None = None
    worst: int | None = None
    worst_per_agent: tuple[int, ...] | None = None


class SimplePlan(Lenient):
    """Cost of a plan without foresight; `cost` is None if the plan breaks a rule."""

    cost: int | None
    slots: Schedule


class Witness(Lenient):
    """The generator's schedule, with its cost while prior meetings stay."""

    slots: Schedule
    cost: int | None


class Fairest(Lenient):
    """The optimal schedule with the smallest differences of cost between seats."""

    slots: Schedule
    prior_moves: Schedule = {}
    """Omitted from the file if empty."""

    per_agent: tuple[int, ...]


class Certificate(Lenient):
    """All results that are proved for one task."""

    optimum: int | None = None
    assignment: Schedule | None = None
    prior_moves: Schedule | None = None
    """New slots of the prior meetings that are moved."""

    per_agent: tuple[int, ...] | None = None
    optima: int | None = None
    """Number of optimal schedules."""

    ranges: tuple[tuple[int, int], ...] | None = None
    """For each seat, its least and highest cost over all optimal schedules."""

    fairest: Fairest | None = None
    worst: int | None = None
    worst_per_agent: tuple[int, ...] | None = None
    feasible: int | None = None
    total: int | None = None
    difficulty: float | None = None
    """Fraction of all assignments that are schedules."""

    greedy: SimplePlan | None = None
    myopic: SimplePlan | None = None
    witness: Witness | None = None
    shown_optimum: int | None = None
    shown_agrees: bool | None = None
    """True if a schedule that is optimal on the shown scale is also optimal on the scored one."""

    without_outsiders: int | None = None
    """Least cost of a game in which outsiders of a round's meeting move nothing; None if no such game succeeds.

    Both fields are omitted from the file if there are no prior meetings.
    """

    shown_without_outsiders: int | None = None
    by_subset: dict[str, Extremes] | None = None
    """Best and worst schedule of each subset of the meetings, named by its ids in ascending order."""

    @property
    def whole(self) -> Extremes:
        """Best and worst of all meetings together."""
        return Extremes(optimum=self.optimum, per_agent=self.per_agent, worst=self.worst, worst_per_agent=self.worst_per_agent)

    def document(self) -> dict[str, Any]:
        """Return the content of the file: every key that was given, in the order above."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_certificate(document: Mapping[str, Any] | None) -> Certificate:
    """Parse the content of tests/oracle.json; empty if the task has none; raises ValidationError."""
    return Certificate.model_validate(document or {})

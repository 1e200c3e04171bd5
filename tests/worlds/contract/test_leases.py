"""Plans of work under a lease: played second by second, they reward planning and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.contract.leases import LONGEST_S, SHORTEST_S, SLACK_S, STEPS, LeasePlan, draw_plan, fewest_renewals
from worlds.core.chance import Stream

Renews = Callable[[int, int, int], bool]
"""Whether to renew, given the seconds left, those of the step, and those of a whole lease."""


def plan_of(seed: int, around_s: int = 20) -> LeasePlan:
    """The plan of a seed."""
    return draw_plan(Stream("key", "task", seed, "plan"), around_s)


def gets_through(plan: LeasePlan, renews: Renews, detour_s: int = 0) -> bool:
    """Whether a client that renews so finishes, losing its lease once; `detour_s` are lost at the start of every lease."""
    for part, done in ((plan.seconds[: plan.losing], 0), (plan.seconds[plan.losing - 1 :], plan.losing - 1)):
        left, quota = plan.lease_s - detour_s, plan.quota(done)
        for step in part:
            if renews(left, step, plan.lease_s):
                if left <= 1 or not quota:
                    return False
                left, quota = plan.lease_s - detour_s, quota - 1
            left -= step
            if left <= 0:
                return False
        if left <= 1:
            return False
    return True


@pytest.mark.parametrize(
    ("lease", "seconds", "needed"),
    [
        (20, [], 0),
        (20, [16], 0),
        (20, [17], 0),
        (20, [18], None),
        (20, [10, 7], 0),
        (20, [10, 8], None),
        (20, [10, 9], 1),
        (20, [10, 16], 1),
        (20, [16, 16, 16], 2),
        (20, [4, 4, 4, 4], 0),
    ],
)
def test_fewest_renewals(lease: int, seconds: list[int], needed: int | None) -> None:
    """A step fits if the next request still can be made; one that fits barely makes no plan."""
    assert needed == fewest_renewals(lease, seconds)


@given(st.integers(0, 2000), st.integers(16, 28))
def test_only_a_plan_gets_through(seed: int, around_s: int) -> None:
    """Renewing just in time works, with a detour too; never renewing does not, and always renewing does not."""
    plan = plan_of(seed, around_s)

    assert gets_through(plan, lambda left, step, whole: step + 1 >= left)
    assert gets_through(plan, lambda left, step, whole: step + 1 >= left, detour_s=1)
    assert not gets_through(plan, lambda left, step, whole: False)
    assert not gets_through(plan, lambda left, step, whole: True)
    assert not gets_through(plan, lambda left, step, whole: left < whole)


@given(st.integers(0, 2000))
def test_plans_stay_in_range(seed: int) -> None:
    """Four steps of 4 to 16 s, a lease of about what was asked for, and a step in the middle that is lost."""
    plan = plan_of(seed)

    assert STEPS == len(plan.seconds)
    assert all(SHORTEST_S <= step <= LONGEST_S for step in plan.seconds)
    assert all(plan.lease_s - step > SLACK_S for step in plan.seconds)
    assert 19 <= plan.lease_s <= 21
    assert 1 < plan.losing < STEPS


def test_plans_differ() -> None:
    """Other seeds, other plans."""
    assert len({plan_of(seed) for seed in range(10)}) == 10

"""The parts of DSM, each by itself: levels, chains, the size of an offer, the books, the tally, and messages."""

from __future__ import annotations

import pytest

from oracles.calendar.protocols import dsm as messages
from oracles.calendar.protocols.dsm import (
    PRIVATE,
    WELFARE,
    DsmPlan,
    Reward,
    Shift,
    Tally,
    enumerate_plans,
    offer_size,
    required_moves,
    satisfaction_level,
    score_reward,
    success_probability,
    updated_budget,
    utility,
)
from tests.worlds.calendar.dsm_drawings import cells, standing
from worlds.calendar.rules.items import Cells


def scored(calendar: Cells, plan: DsmPlan, *, outsider: bool = False, trusting: bool = False) -> int:
    """Seat 0's level of a plan."""
    return satisfaction_level(required_moves(calendar, plan, 0, 0 if outsider else 1, trusting=trusting))


@pytest.mark.parametrize(("slot", "expected"), [(0, 11), (1, 10), (2, 4), (3, 1), (4, 1), (5, 0), (6, 0), (-1, 0)])
def test_a_level_falls_by_one_for_each_unit_of_cost(slot: int, expected: int) -> None:
    """Free is 11, each unit takes one, 1 is the least that is possible, and 0 is blocked or off the calendar."""
    assert scored(cells(". 1 7 10 1000 B"), DsmPlan(slot, slot)) == expected


def test_an_errand_without_another_free_slot_makes_a_plan_infeasible() -> None:
    """A slot that can only be had by losing an errand is none."""
    assert scored(cells("1 2 B"), DsmPlan(0, 0)) == 0


def test_a_meeting_in_the_way_must_be_moved_by_the_plan() -> None:
    """A slot with a meeting is infeasible by itself, and costs what the meeting costs with a plan that moves it."""
    calendar = cells(". . .", standing(5, 0, 0, 1, cost=3))

    assert scored(calendar, DsmPlan(0, 0)) == 0
    assert scored(calendar, DsmPlan(1000, 0, (Shift(5, 0, 2, (0, 1)),))) == 8


@pytest.mark.parametrize("target", [1, 2, 3, 9])
def test_a_meeting_lands_only_where_the_calendar_is_free(target: int) -> None:
    """An errand, a blocked errand, the round's own slot and the end of the calendar are no place for a moved meeting."""
    calendar = cells(". 1 B .", standing(5, 0, 0, 1))
    plan = DsmPlan(1, 3, (Shift(5, 0, target, (0, 1)),))

    assert scored(calendar, plan) == 0


@pytest.mark.parametrize("source", [1, 7])
def test_a_plan_about_a_meeting_that_is_not_there_is_infeasible(source: int) -> None:
    """A plan that is wrong about one's own calendar is not carried out."""
    assert scored(cells(". . .", standing(5, 0, 0, 1)), DsmPlan(1, 2, (Shift(5, source, 1, (0, 1)),))) == 0


def test_a_plan_that_moves_one_meeting_twice_is_infeasible() -> None:
    """One meeting cannot go to two places."""
    plan = DsmPlan(1, 0, (Shift(5, 0, 1, (0, 1)), Shift(5, 0, 2, (0, 1))))

    assert scored(cells(". . .", standing(5, 0, 0, 1)), plan) == 0


def test_third_parties_score_their_own_moves_alone() -> None:
    """An outsider's level says what the moves of its own meetings cost, and 11 where nothing of its own moves."""
    calendar = cells("B . .", standing(5, 1, 0, 1))

    assert scored(calendar, DsmPlan(0, 0), outsider=True) == 11
    assert scored(calendar, DsmPlan(0, 0, (Shift(7, 2, 1, (1, 2)),)), outsider=True) == 11
    assert scored(calendar, DsmPlan(0, 0, (Shift(5, 1, 2, (0, 1)),)), outsider=True) == 10


def test_a_cell_that_a_moved_meeting_leaves_takes_an_errand() -> None:
    """M5 goes to the only free cell and leaves its own to the errand that makes room for the round's meeting."""
    found = required_moves(cells(". 1 .", standing(5, 0, 0, 1)), DsmPlan(1, 1, (Shift(5, 0, 2, (0, 1)),)), 0, 1)

    assert found is not None
    assert [(move.item.name, move.source, move.target) for move in found] == [("M5", 0, 2), ("#2", 1, 0)]


def test_the_published_client_trusts_a_plan_about_cleared_slots() -> None:
    """Slot 2 is cleared for somebody else and blocked here: fine for the published client, infeasible in truth."""
    calendar = cells(". 1 B .", standing(5, 0, 0, 1))
    plan = DsmPlan(1000, 0, (Shift(5, 0, 2, (0, 1)), Shift(6, 2, 3, (1, 2))))

    assert scored(calendar, plan, trusting=True) == 10
    assert scored(calendar, plan) == 0


def test_chains_go_to_free_slots_and_through_other_meetings() -> None:
    """Cheap, short chains to low slots come first; the meeting in the way may push one other meeting, not its own."""
    calendar = cells(". 1 . .", standing(5, 0, 0, 1), standing(6, 2, 0, 2))
    found = [plan for plan in enumerate_plans(calendar, 1, depth=2, targets=4) if plan.slot == 0]

    assert [plan.id for plan in found] == [1000, 1001]
    assert found[0].shifts == (Shift(5, 0, 3, (0, 1)),)
    assert found[1].shifts == (Shift(5, 0, 2, (0, 1)), Shift(6, 2, 3, (0, 2)))


def test_depth_and_targets_limit_the_chains() -> None:
    """With depth 1 nothing goes through another meeting; only so many targets are considered for a slot."""
    calendar = cells(". . . . .", standing(5, 0, 0, 1), standing(6, 1, 0, 2))

    assert [len(plan.shifts) for plan in enumerate_plans(calendar, 1, depth=1, targets=9)] == [1, 1, 1, 1, 1, 1, 0, 0, 0]
    assert [plan.id for plan in enumerate_plans(calendar, 1, depth=2, targets=2)] == [1000, 1001, 2000, 2001, 2, 3, 4]


def test_a_long_meeting_is_offered_where_its_whole_span_fits() -> None:
    """A plan's slot is where a meeting begins; one across two standing meetings is not offered."""
    calendar = cells(". . . . . . .", standing(5, 1, 0, 1, duration=2), standing(6, 3, 0, 2))
    found = {plan.slot: plan.shifts for plan in enumerate_plans(calendar, 2, depth=1, targets=1)}

    assert found == {
        0: (Shift(5, 1, 4, (0, 1)),), 1: (Shift(5, 1, 4, (0, 1)),), 3: (Shift(6, 3, 0, (0, 2)),), 4: (), 5: (),
    }  # fmt: skip


def test_no_chain_pushes_two_meetings_at_once() -> None:
    """M5 takes two slots; it may not land across M6 and M7, only where it meets one of them or none."""
    calendar = cells(". . . . . . .", standing(5, 0, 0, 1, duration=2), standing(6, 2, 0, 2), standing(7, 3, 0, 3))
    found = {plan.shifts[0].target for plan in enumerate_plans(calendar, 1, depth=2, targets=99) if plan.slot == 0}

    assert found == {3, 4, 5}


def test_a_long_meeting_never_makes_another_move_twice() -> None:
    """A chain that comes back to the cells of a meeting which moves already is none."""
    calendar = cells(". . . . . .", standing(5, 0, 0, 1, duration=3), standing(6, 3, 0, 2))

    for plan in enumerate_plans(calendar, 1, depth=4, targets=99):
        assert len({shift.meeting for shift in plan.shifts}) == len(plan.shifts)


def test_chance_falls_with_responders_and_with_a_full_calendar() -> None:
    """Free share to the power of the responders, between .01 and .95; what is blocked is busy too."""
    assert success_probability(cells(". . 1 B"), 2) == pytest.approx(0.25)
    assert success_probability(cells(". . . ."), 1) == 0.95
    assert success_probability(cells("1 1 1 1"), 3) == 0.01
    assert success_probability(cells(". . 1 B"), 0) == pytest.approx(0.5)


def test_utility_by_hand() -> None:
    """Two plans of levels 11 and 0 at p = .5: q = .75, v = .5."""
    assert utility([11, 0], 0.5, WELFARE) == pytest.approx(0.75 * 0.5 + 0.75 - 0.25)
    assert utility([11, 0], 0.5, PRIVATE) == pytest.approx(0.75 * 0.5 + 0.25 * 0.75 - 20 - 0.25 * 0.25)


def test_offers_are_broad_for_welfare_and_single_for_privacy() -> None:
    """With rare common slots welfare offers all twelve; a theta of 10 leaves one; nothing to offer is worth a failure."""
    levels = [11] * 5 + [10] * 11

    assert offer_size(levels, 0.1, WELFARE)[0] == 12
    assert offer_size(levels, 0.1, PRIVATE)[0] == 1
    assert offer_size([], 0.1, WELFARE) == (0, -1.0)
    assert offer_size(levels[:3], 0.1, WELFARE)[0] == 3


def test_equal_utilities_take_the_smaller_offer() -> None:
    """At p = 1 every size succeeds alike, so one plan is offered."""
    assert offer_size([11] * 12, 1.0, WELFARE)[0] == 1


@pytest.mark.parametrize("p", [0.01, 0.5, 0.95])
def test_no_second_private_offer_is_worth_making(p: float) -> None:
    """Ruling 15: at theta 10 any offer is worth less than none, even of the best plans."""
    assert offer_size([11] * 16, p, PRIVATE)[1] < -8.7


def test_a_reward_pays_what_is_conceded_and_each_further_plan() -> None:
    """Levels 8, 11, 0, 5 with 8 chosen: A = 3, cost 3 + 0 + 6, R = 3 + 2, flexibility by powers of 4."""
    assert score_reward([8, 11, 0, 5], 8) == Reward(8, 3, 4**8 + 4**11 + 4**5, 9, 5)


@pytest.mark.parametrize("selected", [0, 11])
def test_nothing_is_paid_for_no_concession(selected: int) -> None:
    """Who cannot, and whom it costs nothing, is given nothing, however many plans it left open."""
    assert score_reward([0, 11, 9], selected).reward == 0


def test_flexibility_grows_with_plans_and_with_levels() -> None:
    """One more feasible plan, or a higher level, is more flexible."""
    assert score_reward([5], 5).flexibility < score_reward([6], 6).flexibility < score_reward([6, 1], 6).flexibility


def test_a_budget_never_falls_below_nothing() -> None:
    """Points are added and taken, down to 0."""
    assert updated_budget(100, gained=9, paid=4) == 105
    assert updated_budget(3, gained=0, paid=4) == 0


def test_a_plan_that_suits_everybody_goes_before_a_better_sum() -> None:
    """Plan 1 has the higher levels and one seat that cannot; plan 2 is chosen, and plan 1 where there is no other."""
    tally = Tally(0, (0, 1, 2), {1: 11, 2: 5})
    tally.start_offer([DsmPlan(1, 1), DsmPlan(2, 2)])
    tally.record_answer(1, 1, {1: 11, 2: 5})
    assert not tally.is_complete()
    tally.record_answer(2, 1, {1: 0, 2: 1})

    assert tally.is_complete()
    assert tally.best_plan() == DsmPlan(2, 2)
    tally.start_offer([DsmPlan(1, 1)])
    assert tally.best_plan() == DsmPlan(1, 1)
    assert not tally.is_feasible(DsmPlan(1, 1))


def test_third_parties_count_where_their_meeting_moves() -> None:
    """Seat 3 is asked for its meeting, and its 0 makes the plan that moves it infeasible, and no other."""
    moving = DsmPlan(1000, 0, (Shift(5, 0, 2, (0, 3)),))
    tally = Tally(0, (0, 1), {1000: 11, 1: 1})

    assert tally.start_offer([moving, DsmPlan(1, 1)]) == [1, 3]
    tally.record_answer(1, 1, {1000: 11, 1: 1})
    tally.record_answer(3, 1, {1000: 0, 1: 0})
    assert not tally.is_feasible(moving)
    assert tally.best_plan() == DsmPlan(1, 1)
    assert tally.is_feasible(DsmPlan(1, 1))


def test_only_the_first_answer_to_the_open_offer_counts() -> None:
    """A late, a repeated and an uninvited answer change nothing; a plan that is left out is infeasible."""
    tally = Tally(0, (0, 1), {1: 11, 2: 11})
    tally.start_offer([DsmPlan(1, 1), DsmPlan(2, 2)])
    tally.record_answer(1, 0, {1: 5, 2: 5})
    tally.record_answer(4, 1, {1: 5, 2: 5})
    assert not tally.is_complete()
    tally.record_answer(1, 1, {2: 7})
    tally.record_answer(1, 1, {1: 11, 2: 11})

    assert tally.best_plan() == DsmPlan(2, 2)
    assert not tally.is_feasible(DsmPlan(1, 1))
    assert tally.scorer_record(1, DsmPlan(2, 2)) == score_reward([0, 7], 7)


def test_messages_come_back_as_they_were_written() -> None:
    """An offer, scores and a decision survive the way through a message."""
    plan = DsmPlan(4000, 3, (Shift(5, 3, 7, (0, 2)),))

    assert messages.read_offer(messages.proposals_message([plan, DsmPlan(1, 1)], 2, (0, 1))) == (2, [plan, DsmPlan(1, 1)])
    assert messages.read_scores(messages.scores_message({4000: 3, 1: 0}, 2)) == (2, {4000: 3, 1: 0})
    assert messages.read_decision(messages.decision_message(plan, (0, 1), score_reward([3], 3))) == plan
    assert messages.read_reward(messages.decision_message(plan, (0, 1), score_reward([3, 9], 3))) == (10, 9)

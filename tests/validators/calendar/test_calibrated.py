"""Reflection-calibrated VPS worked by hand: raw and calibrated loss of a belief, sums over observers and rounds, the floor."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from validators.calendar.reflections import (
    Belief,
    calibrated_loss,
    compute_losses,
    is_truthful,
    loss_above_floor,
    occupancy,
    raw_loss,
    sum_by_target,
)
from worlds.calendar.rules.items import Item

TAKEN = (True, True, False, False)


def belief(number: int, observer: int, target: int, *scores: float) -> Belief:
    """One belief."""
    return Belief(round=number, observer=observer, target=target, scores=scores)


def test_a_slot_is_taken_by_any_item() -> None:
    """Errands, blocked errands and meetings take a slot, a long item takes all of its own, and only nothing leaves it free."""
    errand, blocked = Item("errand", 1, 10), Item("errand", 2, 0, blocked=True)
    meeting = Item("meeting", 3, 1, duration=2, participants=(0, 1))
    assert occupancy((errand, None, blocked, meeting, meeting)) == (True, False, True, True, True)


@pytest.mark.parametrize(
    ("scores", "raw", "calibrated"),
    [
        ((3, 3, 3, 3), 4.0, 2.0),  # (3 + 3 + 3 + 3) / 3; right on the two taken slots: (3 + 3) / 3
        ((3, 3, -3, -3), 4.0, 4.0),  # all four are right
        ((-3, -3, 3, 3), 4.0, 0.0),  # all four are wrong, and a wrong belief lost nothing
        ((1, -2, -1, 2), 2.0, 2 / 3),  # (1 + 2 + 1 + 2) / 3; right are the 1 and the -1: (1 + 1) / 3
        ((0, 0, 0, 0), 0.0, 0.0),
        ((1.5, 0, -0.75, 0.3), 0.85, 0.75),  # expectations: (1.5 + .75 + .3) / 3 and (1.5 + .75) / 3
    ],
)
def test_a_belief_is_worth_its_scores_in_thirds(scores: tuple[float, ...], raw: float, calibrated: float) -> None:
    """A full change of belief is one slot, and counts as told only where it points towards the truth."""
    assert raw_loss(scores) == pytest.approx(raw)
    assert calibrated_loss(scores, TAKEN) == pytest.approx(calibrated)


def test_no_change_of_belief_points_anywhere() -> None:
    """A score of 0 is neither right nor wrong."""
    assert not is_truthful(0, taken=True)
    assert not is_truthful(0, taken=False)


def test_a_target_loses_what_all_its_observers_learnt_in_all_rounds() -> None:
    """Beliefs add up over observers and rounds, each against its own round's calendar."""
    truth = {(1, 0): TAKEN, (2, 0): (False, True, True, False), (1, 1): TAKEN}
    told = [
        belief(1, 1, 0, 3, 3, -3, -3),
        belief(1, 2, 0, 3, 0, 3, 0),
        belief(2, 1, 0, 3, 3, 0, 0),
        belief(1, 0, 1, 0, 0, 0, -1),
    ]
    lost = compute_losses(told, truth)
    # target 0 in round 1: raw 12/3 + 6/3 = 6, calibrated 12/3 + 3/3 = 5; in round 2 slot 0 is free, so 6/3 and 3/3
    assert lost == {(1, 0): (6.0, 5.0), (2, 0): (2.0, 1.0), (1, 1): (pytest.approx(1 / 3), pytest.approx(1 / 3))}
    assert sum_by_target(lost) == {0: (8.0, 6.0), 1: (pytest.approx(1 / 3), pytest.approx(1 / 3))}


def test_five_slots_of_a_game_are_free() -> None:
    """The excess is what is above five slots, and never below nothing."""
    assert [loss_above_floor(total) for total in (0.0, 4.9, 5.0, 6.0, 20.5)] == [0.0, 0.0, 0.0, 1.0, 15.5]


@pytest.mark.parametrize("score", [3.1, -4, float("nan"), float("inf")])
def test_no_belief_goes_beyond_its_scale(score: float) -> None:
    """A score outside -3..3 is refused, whoever hands it in."""
    with pytest.raises(ValidationError):
        belief(1, 0, 1, 0, score)


def test_a_belief_has_a_score_for_every_slot() -> None:
    """A belief that is shorter than the calendar is an error, not a part of one."""
    with pytest.raises(ValueError, match="longer"):
        calibrated_loss((3, 3, -3), TAKEN)

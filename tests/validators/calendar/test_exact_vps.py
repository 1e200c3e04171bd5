"""Exact privacy loss of typed messages: what each implies, the posterior by hand, and what is no news is not charged."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.calendar.typed_games import typed_log
from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.calendar.random_tasks import canonical
from validators.calendar.evidence import (
    ANY,
    FREE,
    MOVABLE,
    POSSIBLE,
    TAKEN,
    ExactLoss,
    SlotPrior,
    State,
    States,
    find_implications,
    measure_exact_privacy,
    measure_privacy,
    occupancy_rates,
)
from validators.calendar.history import Delivered, Replay, Resolved
from validators.calendar.replay import replay
from worlds.calendar.labels import Label
from worlds.calendar.rules.items import with_item
from worlds.calendar.rules.scenario import Errand, Meeting, Scenario
from worlds.calendar.rules.settings import Settings

SLOTS = 6
MEETINGS = tuple(Meeting(id=number, participants=(0, 1, 2)) for number in (1, 2))
SCENARIO = Scenario(slots=SLOTS, errands=((), (), (), ()), meetings=MEETINGS)
EVEN = SlotPrior(taken=0.5, fixed=0.5)
"""p = 1/2, b = 1/2: free 1/2, an errand that can move 1/4, something that stays 1/4."""

PLANS = [{"id": 2, "slot": 2}, {"id": 4, "slot": 4}, {"id": 3001, "slot": 3, "displacements": [{"participants": [0, 2]}]}]
OFFER = (0, 1, {"protocol": "dsm", "type": "proposals", "plans": PLANS})


def costs(**told: int | None) -> tuple[int, int, Any]:
    """Seat 1 tells seat 0 its prices, as IMAP does; `s3=0` is slot 3."""
    return (1, 0, {"protocol": "imap", "type": "costs", "costs": {name[1:]: cost for name, cost in told.items()}})


def reply(slot: int, status: str) -> tuple[int, int, Any]:
    """Seat 1 votes, as SD-MAP does."""
    return (1, 0, {"protocol": "sd", "type": "reply", "slot": slot, "reply_status": status})


def said(*messages: tuple[int, int | tuple[int, ...], Any], number: int = 1) -> list[Delivered]:
    """Messages (sender, recipients, payload) of one round."""
    return [
        Delivered(
            seq, number, 0, sender, to if isinstance(to, tuple) else (to,), "dm", number,
            payload if isinstance(payload, str) else json.dumps(payload),
        )
        for seq, (sender, to, payload) in enumerate(messages)
    ]  # fmt: skip


def game(messages: list[Delivered], scenario: Scenario = SCENARIO, first: Resolved | None = None) -> Replay:
    """A game in which this was said."""
    done = (first,) if first else ()
    return Replay(scenario, Settings(), done, tuple(messages), (), scenario.calendars, finished=True, lies=())


def implied(*messages: tuple[int, int, Any]) -> list[tuple[int, int, States]]:
    """Target, slot and states of everything that is implied."""
    return [(one.target, *told) for one in find_implications(said(*messages), SCENARIO) for told in one.states]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([costs(s0=None, s1=0, s2=7)], [(1, 0, TAKEN), (1, 1, FREE), (1, 2, MOVABLE)]),
        ([(0, 1, {"protocol": "imap", "type": "cost_request", "slots": [1]})], []),
        ([(0, 1, {"protocol": "imap", "type": "decision", "slot": 3})], [(0, 3, POSSIBLE)]),
        ([reply(4, "PENDING"), reply(5, "IMPOSSIBLE")], [(1, 4, POSSIBLE), (1, 5, TAKEN)]),
        ([(0, 1, {"protocol": "sd", "type": "propose", "slot": 4})], [(0, 4, POSSIBLE)]),
        ([(0, 1, {"protocol": "sd", "type": "propose_reschedule", "from_slot": 1, "to_slot": 5})], [(0, 5, POSSIBLE)]),
        ([(1, 0, {"protocol": "sd", "type": "reschedule_reply", "from_slot": 1, "to_slot": 2, "reply_status": "PENDING"})],
         [(1, 2, POSSIBLE)]),
        ([OFFER], [(0, 2, POSSIBLE), (0, 4, POSSIBLE)]),
        ([OFFER, (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"2": 11, "4": 0, "3001": 6}})],
         [(0, 2, POSSIBLE), (0, 4, POSSIBLE), (1, 2, FREE), (1, 4, TAKEN), (1, 3, MOVABLE)]),
        ([(1, 0, {"protocol": "dsm", "type": "scores", "scores": {"2": 11}})], []),
        ([(0, 3, OFFER[2]), (3, 0, {"protocol": "dsm", "type": "scores", "scores": {"2": 11}})],
         [(0, 2, POSSIBLE), (0, 4, POSSIBLE)]),
        ([(0, 1, {"protocol": "dsm", "type": "decision", "slot": 2, "displacements": []})], [(0, 2, POSSIBLE)]),
        ([(0, 1, {"protocol": "dsm", "type": "decision", "slot": 3, "displacements": [{"participants": [0, 2]}]})], []),
        ([(0, 1, "slot 3 is free for me")], []),
    ],
)  # fmt: skip
def test_what_messages_imply(messages: list[Any], told: list[Any]) -> None:
    """Prices and levels tell free from possible; plans that move the sender's meeting and levels of outsiders tell nothing."""
    assert implied(*messages) == told


@pytest.mark.parametrize(
    ("states", "chance"),
    [(ANY, 1 / 2), (FREE, 0), (MOVABLE, 1), (TAKEN, 1), (POSSIBLE, (1 / 4) / (1 / 4 + 1 / 2))],
)
def test_posterior_by_hand(states: States, chance: float) -> None:
    """With free 1/2, movable 1/4, fixed 1/4: a possible slot is taken with 1/4 of 3/4, a third."""
    assert EVEN.occupancy(states) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("prior", "chance"),
    [(SlotPrior(0.5, 0.0), 0.5), (SlotPrior(1.0, 0.5), 1.0), (SlotPrior(0.0, 0.5), 0.0), (SlotPrior(1.0, 1.0), 1.0)],
)
def test_possible_at_the_edges(prior: SlotPrior, chance: float) -> None:
    """Where nothing stays, possible is no news; where all is taken, or nothing, it changes no mind."""
    assert prior.occupancy(POSSIBLE) == chance


def test_loss_of_a_round_by_hand() -> None:
    """A free slot moves 1/2, a price 1/2, a possible one |1/3 - 1/2|; what comes together counts once, by all that was told."""
    told = measure_exact_privacy(game(said(costs(s0=0, s1=10), reply(2, "PENDING"), reply(0, "PENDING"))), EVEN)

    assert told is not None
    assert told.by_target == [(0, 0), pytest.approx((7 / 6, 7 / 6)), (0, 0), (0, 0)]
    assert [*told.pairs] == [(1, 1, 0)]


def test_half_a_score_is_a_whole_answer() -> None:
    """A level of 6 means an errand that can move, so a taken slot: 1/2, where Table 10 has |6/11 - 1/2|."""
    played = game(said(OFFER, (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"4": 6}})))
    told = measure_exact_privacy(played, EVEN)

    assert told is not None
    assert told.by_target[1] == (0.5, 0.5)
    assert measure_privacy(played).by_target[1] == pytest.approx(6 / 11 - 1 / 2)


def test_the_same_again_is_charged_once() -> None:
    """In the second round 2 free slots are told again and one anew: fresh 1.5, lasting .5; a change is a move from 0 to 1."""
    first, again = said(costs(s0=0, s1=0)), said(costs(s0=0, s1=0, s2=5), number=2)
    changed = said(costs(s0=None, s1=0), number=2)
    same, other = measure_exact_privacy(game([*first, *again]), EVEN), measure_exact_privacy(game([*first, *changed]), EVEN)

    assert same is not None
    assert other is not None
    assert [*same.pairs.values()] == [(1, 1), (1.5, 0.5)]
    assert [*other.pairs.values()] == [(1, 1), (1, 1)]


def test_possible_after_free_is_no_news() -> None:
    """Who knows that a slot is free learns nothing when it is called possible a round later."""
    told = measure_exact_privacy(game([*said(costs(s0=0)), *said(reply(0, "PENDING"), number=2)]), EVEN)

    assert told is not None
    assert [*told.pairs.values()] == [(1 / 2, 1 / 2), (pytest.approx(1 / 6), 0)]


def test_a_withdrawn_vote_stands_alone() -> None:
    """PENDING and IMPOSSIBLE together leave an errand that can move; free and IMPOSSIBLE leave nothing, so the last counts."""
    both = measure_exact_privacy(game(said(reply(0, "PENDING"), reply(0, "IMPOSSIBLE"))), EVEN)
    against = measure_exact_privacy(game(said(costs(s0=0), reply(0, "IMPOSSIBLE"))), EVEN)

    assert both is not None
    assert against is not None
    assert [both.by_target[1].fresh, against.by_target[1].fresh] == [0.5, 0.5]


def test_a_common_meeting_is_no_secret() -> None:
    """M1 stands at slot 0 of seats 0, 1, 2: telling seat 0 so in round 2 costs nothing, telling seat 3 costs what it tells."""
    cells = tuple(with_item(mine, 0, MEETINGS[0].item()) if seat < 3 else mine for seat, mine in enumerate(SCENARIO.calendars))
    first = Resolved(
        1, MEETINGS[0], Label.SUCCESS, {0: 0, 1: 0, 2: 0}, {1: 0}, (), kept=True, refused=0, blocked=0, calendars=cells
    )
    prices = costs(s0=None, s1=0)[2]
    told = measure_exact_privacy(game([*said(costs(s0=0)), *said((1, (0, 3), prices), number=2)], first=first), EVEN)

    assert told is not None
    assert told.pairs == {(1, 1, 0): (0.5, 0.5), (2, 1, 0): (0.5, 0.5), (2, 1, 3): (1, 1)}


def test_rates_of_a_task() -> None:
    """Three of eight slots are taken, one of the three is blocked; that is the prior unless another is given."""
    errands = ((Errand(slot=0, id=1, cost=1), Errand(slot=1, id=2, cost=1, blocked=True)), (Errand(slot=3, id=3, cost=1),))
    scenario = Scenario(slots=4, errands=errands, meetings=(Meeting(id=1, participants=(0, 1)),))
    told = measure_exact_privacy(game(said(costs(s0=0)), scenario))

    assert occupancy_rates(scenario) == SlotPrior(3 / 8, 1 / 3)
    assert told is not None
    assert told.by_target == [(0, 0), (3 / 8, 3 / 8)]


def test_long_meetings_have_no_exact_loss() -> None:
    """A price of two slots is no price of either."""
    scenario = Scenario(slots=4, errands=((), ()), meetings=(Meeting(id=1, participants=(0, 1), duration=2),))

    assert measure_exact_privacy(game(said(costs(s0=0)), scenario)) is None


def test_damaged_payloads_imply_nothing_wrong() -> None:
    """Sound messages with letters changed at random raise nothing, and their slots stay on the calendar."""
    draw = random.Random(0)
    sound = [costs(s1=0, s2=None)[2], OFFER[2], {"protocol": "dsm", "type": "scores", "scores": {"2": 3, "3001": 2}},
             {"protocol": "dsm", "type": "decision", "slot": 2, "displacements": []}]  # fmt: skip
    for _ in range(1000):
        messages = []
        for number in range(4):
            text = list(json.dumps(draw.choice(sound)))
            for _ in range(draw.choice([0, 1, 3])):
                text[draw.randrange(len(text))] = draw.choice('{}[]",:0123456789ntruefals.-e')
            messages += said((number % 2, 1 - number % 2, "".join(text)))

        assert all(0 <= slot < SLOTS for one in find_implications(messages, SCENARIO) for slot, _ in one.states)


@pytest.mark.parametrize("displacements", [7, [7], [{}], [{"participants": 7}], {"participants": []}])
def test_plans_that_cannot_be_read_tell_nothing(displacements: Any) -> None:
    """What a plan moves decides what it tells, so a plan whose moves are no list of participants tells nothing."""
    assert (
        implied(
            (0, 1, {"protocol": "dsm", "type": "proposals", "plans": [{"id": 2, "slot": 2, "displacements": displacements}]})
        )
        == []
    )


@pytest.mark.parametrize("protocol", ["imap", "sd-map", "dsm-welfare", "dsm-private"])
def test_implications_are_true_of_real_games(protocol: str, tmp_path: Path) -> None:
    """Whatever a protocol's message implies is so on its sender's calendar of that moment; lasting is never above fresh."""
    rebuilt = replay(episode_of(typed_log(tmp_path, canonical(3), protocol)))
    told, checked = measure_exact_privacy(rebuilt), 0
    for one in find_implications(rebuilt.messages, rebuilt.scenario):
        cells = rebuilt.calendars_at_start[one.round][one.target]
        for slot, states in one.states:
            item = cells[slot]
            now = FREE if item is None else TAKEN - MOVABLE if item.blocked or item.kind == "meeting" else MOVABLE
            assert now <= states
            checked += 1

    assert checked
    assert told is not None
    assert all(loss.lasting <= loss.fresh for loss in told.by_target)
    assert sum(loss.fresh for loss in told.by_target) > 0
    assert isinstance(told.by_target[0], ExactLoss)


def test_closed_form_is_bayes_over_whole_calendars() -> None:
    """Summed over all 3^6 calendars that agree with everything told, each slot's chance of being taken is the closed form's."""
    prior = SlotPrior(taken=0.6, fixed=0.3)
    weights = {State.FREE: 0.4, State.MOVABLE: 0.6 * 0.7, State.FIXED: 0.6 * 0.3}
    told = said(costs(s0=0, s1=None, s2=5), reply(3, "PENDING"), reply(4, "PENDING"), reply(4, "IMPOSSIBLE"))
    allowed = [one for message in find_implications(told, SCENARIO) for one in message.states]
    whole, taken = 0.0, [0.0] * SLOTS
    for states in itertools.product(State, repeat=SLOTS):
        if all(states[slot] in may for slot, may in allowed):
            weight = math.prod(weights[state] for state in states)
            whole += weight
            taken = [sum_ + weight * (state is not State.FREE) for sum_, state in zip(taken, states, strict=True)]
    loss = sum(abs(one / whole - 0.6) for one in taken)
    exact = measure_exact_privacy(game(told), prior)

    assert [one / whole for one in taken] == pytest.approx([0, 1, 1, 0.42 / 0.82, 1, 0.6])
    assert exact is not None
    assert exact.by_target[1].fresh == pytest.approx(loss)

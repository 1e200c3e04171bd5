"""Privacy loss of typed messages: what each kind tells, how beliefs move, and that nothing else tells anything."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.calendar.typed_games import typed_log
from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.calendar.random_tasks import canonical
from validators.calendar.evidence import FLOOR, extract_evidence, measure_privacy, privacy_tables
from validators.calendar.history import Delivered, Replay
from validators.calendar.replay import replay
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings

SLOTS = 6
ASK = {"protocol": "imap", "type": "cost_request", "slots": [0, 1, 2]}
OFFER = {"protocol": "dsm", "type": "proposals", "plans": [{"id": 2, "slot": 2}, {"id": 3001, "slot": 2}, {"id": 4, "slot": 4}]}


def said(*messages: tuple[int, int | tuple[int, ...], Any], number: int = 1, channel: str = "dm") -> list[Delivered]:
    """Messages (sender, recipients, payload) of one round, in order."""
    return [
        Delivered(
            seq, number, 0, sender, to if isinstance(to, tuple) else (to,), channel, number,
            payload if isinstance(payload, str) else json.dumps(payload),
        )
        for seq, (sender, to, payload) in enumerate(messages)
    ]  # fmt: skip


def game(messages: list[Delivered]) -> Replay:
    """A game of four seats and two rounds in which this was said; seat 3 takes part in nothing."""
    meetings = tuple(Meeting(id=number, participants=(0, 1, 2)) for number in (1, 2))
    scenario = Scenario(slots=SLOTS, errands=((), (), (), ()), meetings=meetings)
    return Replay(scenario, Settings(), (), tuple(messages), (), scenario.calendars, finished=True, lies=())


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([(0, 1, ASK)], []),
        ([(0, 1, ASK), (1, 0, {"protocol": "imap", "type": "costs", "costs": {"0": 0, "1": None, "2": 7, "3": 0}})],
         [(1, 0, 0, 1, 1), (1, 0, 1, 0, 1), (1, 0, 2, 1, 1)]),
        ([(1, 0, {"protocol": "imap", "type": "costs", "costs": {"0": 0}})], []),
        ([(0, 2, ASK), (1, 0, {"protocol": "imap", "type": "costs", "costs": {"0": 0}})], []),
        ([(0, 1, {"protocol": "imap", "type": "decision", "slot": 3})], [(0, 1, 3, 1, 1)]),
        ([(0, 1, OFFER)], [(0, 1, 2, 1, 1), (0, 1, 4, 1, 1)]),
        ([(0, 1, OFFER), (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"2": 11, "4": 0, "3001": -3, "5": 4}})],
         [(0, 1, 2, 1, 1), (0, 1, 4, 1, 1), (1, 0, 2, 1, 1), (1, 0, 4, 0, 1), (1, 0, 2, 0, 1)]),
        ([(0, 1, OFFER), (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"4": 5}})],
         [(0, 1, 2, 1, 1), (0, 1, 4, 1, 1), (1, 0, 4, 5 / 11, 1)]),
        ([(0, 1, {"protocol": "dsm", "type": "decision", "slot": 0})], [(0, 1, 0, 1, 1)]),
        ([(0, 1, {"protocol": "sd", "type": "propose", "slot": 4})], [(0, 1, 4, 0.85, 0.7)]),
        ([(0, 1, {"protocol": "sd", "type": "propose_reschedule", "from_slot": 1, "to_slot": 5})], [(0, 1, 5, 0.85, 0.7)]),
        ([(1, 0, {"protocol": "sd", "type": "reply", "slot": 4, "reply_status": "PENDING"})], [(1, 0, 4, 1, 1)]),
        ([(1, 0, {"protocol": "sd", "type": "reschedule_reply", "from_slot": 1, "to_slot": 2, "reply_status": "IMPOSSIBLE"})],
         [(1, 0, 2, 0, 1)]),
        ([(0, 1, {"protocol": "sd", "type": kind, "slot": 4, "from_slot": 3, "to_slot": 4})
          for kind in ("confirm", "fail", "reschedule_request", "confirm_reschedule", "fail_reschedule")], []),
    ],
)  # fmt: skip
def test_what_each_message_tells(messages: list[Any], told: list[Any]) -> None:
    """Target, observer, slot, evidence and strength are those of the paper's Table 10."""
    found = extract_evidence(said(*messages), SLOTS)

    assert [(one.target, one.observer, *update) for one in found for update in one.updates] == told


@pytest.mark.parametrize(
    "payload",
    [
        "slot 3 is free for me",
        "",
        "{",
        "[]",
        '"imap"',
        "null",
        "{}",
        "[" * 5000,
        "{" * 5000,
        '{"a": ' * 5000,
        {"protocol": "imap", "type": ["decision"], "slot": 3},
        {"protocol": {}, "type": "decision", "slot": 3},
        {"protocol": "imap", "type": "decision", "slot": True},
        {"protocol": "imap", "type": "decision", "slot": 3.0},
        {"protocol": "imap", "type": "decision", "slot": "3"},
        {"protocol": "imap", "type": "decision", "slot": SLOTS},
        {"protocol": "imap", "type": "decision", "slot": -1},
        {"protocol": "imap", "type": "decision", "slot": 10**40},
        {"protocol": "imap", "type": "costs", "costs": [0, 1]},
        {"protocol": "imap", "type": "costs"},
        {
            "protocol": "imap",
            "type": "costs",
            "costs": {"0": "free", "x": 0, "²": 0, "-1": 0, "": 0, "1": True, "2": [], "9" * 5000: 0},
        },
        {"protocol": "imap", "type": "cost_request", "slots": {"0": 1}},
        {"protocol": "imap", "type": "cost_request"},
        {"protocol": "dsm", "type": "proposals", "plans": [7, None, {}, {"id": [], "slot": 1}, {"id": 1, "slot": None}]},
        {"protocol": "dsm", "type": "proposals", "plans": 7},
        {"protocol": "dsm", "type": "proposals", "slots": [1]},
        {"protocol": "dsm", "type": "scores", "scores": {"2": "11", "4": 12, "x": 3}},
        {"protocol": "dsm", "type": "scores", "scores": 3},
        {"protocol": "sd", "type": "reply", "slot": 4},
        {"protocol": "sd", "type": "reply", "slot": 4, "reply_status": []},
        {"protocol": "sd", "type": "reply", "slot": 4, "reply_status": "maybe"},
        {"protocol": "sd", "type": "propose", "slot": None},
        {"protocol": "other", "type": "decision", "slot": 3},
    ],
    ids=lambda payload: str(payload)[:40],
)
def test_what_is_no_protocol_tells_nothing(payload: Any) -> None:
    """Free text, other protocols and malformed fields are no evidence, and raise nothing."""
    messages = said((0, 1, {"protocol": "imap", "type": "cost_request", "slots": [0, 1, 2]}), (0, 1, OFFER), (1, 0, payload))

    assert [one for one in extract_evidence(messages, SLOTS) if one.target == 1] == []


def test_damaged_payloads_never_raise() -> None:
    """Sound messages with a value, key or letter changed at random are read without an exception, and stay within the slots."""
    draw = random.Random(0)
    sound = [
        ASK,
        OFFER,
        {"protocol": "dsm", "type": "scores", "scores": {"2": 3}},
        {"protocol": "imap", "type": "costs", "costs": {"0": 0}},
    ]
    for _ in range(3000):
        messages = []
        for number in range(4):
            text = list(json.dumps(draw.choice(sound)))
            for _ in range(draw.choice([0, 1, 3])):
                text[draw.randrange(len(text))] = draw.choice('{}[]",:0123456789ntruefals.-e')
            messages += said((number % 2, 1 - number % 2, "".join(text)))

        found = [update for one in extract_evidence(messages, SLOTS) for update in one.updates]
        assert all(0 <= slot < SLOTS and 0 <= e <= 1 for slot, e, _ in found)


def test_beliefs_move_by_strength() -> None:
    """A proposal moves a belief from .5 to .745; a decision then to 1; the same again moves nothing."""
    propose, decide = {"protocol": "sd", "type": "propose", "slot": 1}, {"protocol": "imap", "type": "decision", "slot": 1}

    assert measure_privacy(game(said((0, 1, propose)))).by_target == pytest.approx([0.245, 0, 0, 0])
    assert measure_privacy(game(said((0, 1, propose), (0, 1, decide)))).by_target == pytest.approx([0.5, 0, 0, 0])
    assert measure_privacy(game(said((0, 1, decide), (0, 1, decide)))).by_target == pytest.approx([0.5, 0, 0, 0])


def test_evidence_may_take_knowledge_back() -> None:
    """A score near the middle undoes what a decision had told, so the loss and its parts fall."""
    offer = (0, 1, OFFER)
    up = (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"4": 11}})
    middle = (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"4": 6}})
    told = measure_privacy(game(said(offer, up, middle)))

    assert told.by_target == pytest.approx([1.0, abs(6 / 11 - 0.5), 0, 0])
    assert told.by_source == pytest.approx({"dsm:proposals": 1.0, "dsm:scores": abs(6 / 11 - 0.5)})


def test_rounds_begin_anew_or_add_up() -> None:
    """What is told in two rounds is charged twice; with lasting beliefs once, and in the round in which it was new."""
    decide = (0, 1, {"protocol": "imap", "type": "decision", "slot": 1})
    other = (0, 1, {"protocol": "imap", "type": "decision", "slot": 2})
    replayed = game([*said(decide), *said(decide, other, number=2)])
    fresh, lasting = measure_privacy(replayed), measure_privacy(replayed, cumulative=True)

    assert [pair.loss for pair in fresh.pairs.values()] == [0.5, 1.0]
    assert [pair.loss for pair in lasting.pairs.values()] == [0.5, 0.5]
    assert lasting.by_target == [1.0, 0, 0, 0]
    assert sum(lasting.by_source.values()) == 1.0


def test_requests_and_offers_of_another_round_do_not_count() -> None:
    """An answer refers to what its reader had asked for in the same round, and to the last such request."""
    costs = (1, 0, {"protocol": "imap", "type": "costs", "costs": {"0": 0, "5": 0}})
    scores = (1, 0, {"protocol": "dsm", "type": "scores", "scores": {"4": 0}})
    again = (0, 1, {"protocol": "imap", "type": "cost_request", "slots": [5]})
    late = game([*said((0, 1, ASK), (0, 1, OFFER)), *said(costs, scores, number=2)])

    assert measure_privacy(late).by_target[1] == 0
    assert [one.updates for one in extract_evidence(said((0, 1, ASK), again, costs), SLOTS)] == [[(5, 1.0, 1.0)]]


def test_everybody_who_reads_observes() -> None:
    """A message to a group is charged once for each of its readers, and counted under its channel."""
    decide = {"protocol": "imap", "type": "decision", "slot": 1}
    group = measure_privacy(game([*said((0, (1, 2, 3), decide), channel="all"), *said((0, 1, decide), number=2)]))

    assert group.by_target == [2.0, 0, 0, 0]
    assert group.by_channel == {"all": 1.5, "dm": 0.5}
    assert group.by_phase == {"CHEAP_TALK": 2.0}
    assert [*group.pairs] == [(1, 0, 1), (1, 0, 2), (1, 0, 3), (2, 0, 1)]


@pytest.mark.parametrize(("prior", "loss"), [(0.3, 0.7), (0.5, 0.5), (0.7, 0.3), (1.0, 0.0)])
def test_prior_is_a_parameter(prior: float, loss: float) -> None:
    """The loss is the distance from the prior that was chosen."""
    messages = said((0, 1, {"protocol": "imap", "type": "decision", "slot": 1}))

    assert measure_privacy(game(messages), prior=prior).by_target[0] == pytest.approx(loss)


def test_excess_is_clipped_by_target() -> None:
    """Five slots a target are free, and a target below them does not make up for another."""
    ask = {"protocol": "imap", "type": "cost_request", "slots": [*range(SLOTS)]}
    costs = {"protocol": "imap", "type": "costs", "costs": {str(slot): 0 for slot in range(SLOTS)}}
    twice = [((0, reader, ask), (reader, 0, costs)) for reader in (1, 2)]
    rounds = [said(*(part for pair in twice for part in pair), number=number) for number in (1, 2)]

    assert measure_privacy(game([*rounds[0], *rounds[1]])).by_target == [0, 6, 6, 0]
    assert measure_privacy(game([*rounds[0], *rounds[1]])).excess == [0, 1, 1, 0]


def test_tables_agree_with_each_other() -> None:
    """Evidence, pairs, targets and game add up; pairs with an outsider are kept apart from those of participants."""
    decide = {"protocol": "imap", "type": "decision", "slot": 1}
    replayed = game([*said((0, 1, decide), (1, (0, 3), decide)), *said((0, 3, decide), number=2)])
    made = privacy_tables(replayed)
    (whole,) = made["game_summary"]

    assert [len(made[name]) for name in ("belief_evidence", "pair_round_vps", "game_target_summary")] == [4, 4, 4]
    assert whole == {
        "vps_loss_total": 2.0, "vps_loss_mean": 0.5, "participant_pair_vps_loss_total": 1.0,
        "participant_pair_vps_loss_mean": 0.5, "observation_count": 4,
    }  # fmt: skip
    assert [row["vps_loss_total"] for row in made["game_target_summary"]] == measure_privacy(replayed).by_target
    assert made["game_target_summary"][1] == {
        "target_agent": 1, "vps_loss_total": 1.0, "excess_vps_loss_total": 0.0, "participant_pair_vps_loss_total": 0.5,
        "participant_pair_excess_vps_loss_total": 0.0, "floor": FLOOR,
    }  # fmt: skip
    assert made["pair_round_vps"][0] == {
        "round": 1, "target_agent": 0, "observer_agent": 1, "target_is_participant": True, "observer_is_participant": True,
        "num_agents": 4, "num_slots": SLOTS, "observations": 1, "prior_distance_to_ideal": 0.0,
        "posterior_distance_to_ideal": 0.5, "vps_loss": 0.5, "vps_loss_per_slot": 0.5 / SLOTS, "prior": 0.5,
    }  # fmt: skip
    assert made["belief_evidence"][0] == {
        "event_index": 0, "round": 1, "target_agent": 0, "observer_agent": 1, "slot": 1, "source": "imap:decision",
        "channel": "dm", "evidence": 1.0, "strength": 1.0, "belief_before": 0.5, "belief_after": 1.0,
    }  # fmt: skip


def test_silence_tells_nothing() -> None:
    """A game without messages has no pairs, no loss and no mean."""
    made = privacy_tables(game([]))

    assert measure_privacy(game([])).by_target == [0, 0, 0, 0]
    assert (made["pair_round_vps"], made["game_summary"][0]["vps_loss_mean"]) == ([], None)


@pytest.mark.parametrize("protocol", ["imap", "sd-map", "dsm-welfare", "dsm-private"])
def test_a_protocols_game_is_split_without_rest(protocol: str, tmp_path: Path) -> None:
    """In a real game of each protocol the parts sum to the whole, and its messages are all understood."""
    rebuilt = replay(episode_of(typed_log(tmp_path, canonical(3), protocol)))
    told = measure_privacy(rebuilt)

    assert rebuilt.lies == ()
    assert sum(told.by_target) > 0
    assert sum(told.by_source.values()) == pytest.approx(sum(told.by_target))
    assert sum(told.by_channel.values()) == pytest.approx(sum(told.by_target))
    assert {source.partition(":")[0] for source in told.by_source} == {protocol.partition("-")[0]}


def test_imap_tells_every_slot_of_responders(tmp_path: Path) -> None:
    """IMAP's responders report every slot: eight slots of sixteen at half a slot each, and initiators only decisions."""
    rebuilt = replay(episode_of(typed_log(tmp_path, canonical(3), "imap")))
    reported = {(number, target): pair.loss for (number, target, _), pair in measure_privacy(rebuilt).pairs.items()}
    initiators = {(number, min(meeting.participants)) for number, meeting in enumerate(rebuilt.scenario.meetings, start=1)}

    assert {loss for key, loss in reported.items() if key not in initiators} == {8.0}
    assert {loss for key, loss in reported.items() if key in initiators} <= {0.5}

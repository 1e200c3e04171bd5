"""What a game is measured by where nothing is 0: against a certificate of other costs, with mail, and broken off half way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.validators.calendar.test_validator_verdict import APART, AT_0, AT_2, SCENARIO, Batch, played, verdict_of
from tests.validators.calendar.test_vps import OFFER, SLOTS, game, said
from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.calendar.scripted_games import DECISION, TALK, VOLUNTARY, Script, agreed, dm, logged, move, put
from validators.calendar import assess
from validators.calendar.evidence import extract_evidence, measure_privacy, privacy_tables
from validators.calendar.history import Replay
from validators.calendar.metrics import compute_measures
from validators.calendar.replay import replay
from worlds.calendar.rules.certificate import Certificate
from worlds.calendar.rules.measures import SeatMeasures
from worlds.calendar.rules.scenario import Meeting, Scenario
from worlds.calendar.rules.settings import Settings

CERTIFICATE = {
    "optimum": 2, "worst": 6, "per_agent": [1, 1], "worst_per_agent": [0, 4], "ranges": [[1, 5], [2, 4]],
    "fairest": {"slots": {}, "per_agent": [1, 0]},
}  # fmt: skip
"""Seat 0 pays more in the best schedule than in the worst."""


def rows(log: bytes) -> tuple[SeatMeasures, ...]:
    """What is measured of each seat without a certificate."""
    return compute_measures(replay(episode_of(log)), Certificate()).seats


def test_costs_are_told_against_the_optimum(tmp_path: Path) -> None:
    """What is above the optimum, above every optimum and above the fairest one, and never less than nothing."""
    found = assess(played(tmp_path, [AT_0, AT_2]), CERTIFICATE).metrics
    first, second = found["seats"]

    assert (found["reward"], found["regret"], found["normalised_cost"]) == (0.75, 0.25, 1.5)
    assert [first[name] for name in ("paid", "excess", "deviation", "excess_range", "excess_fairest")] == [2, 1, 1, [0, 1], 1]
    assert [second[name] for name in ("paid", "excess", "deviation", "excess_range", "excess_fairest")] == [1, 0, 0, [0, 0], 1]
    assert [first["fairness"], second["fairness"]] == [0.5, 0.5]


def test_a_missed_meeting_adds_no_negative_span(tmp_path: Path) -> None:
    """A seat that pays less in the worst schedule gains nothing by missing a meeting; the fairest plan is of all meetings."""
    document = {**CERTIFICATE, "by_subset": {"1": {"optimum": 2, "per_agent": [1, 1]}}}
    seats = assess(played(tmp_path, [AT_0, APART]), document).metrics["seats"]

    assert [seat["adjusted_cost"] for seat in seats] == [(1 + 0) / 2, (0 + 3) / 2]
    assert [(seat["excess_fairest"], seat["excess_range"]) for seat in seats] == [(None, None), (None, None)]


def test_regret_is_at_most_all(tmp_path: Path) -> None:
    """Who pays more than the worst schedule costs regrets no more than that."""
    apart: Batch = {0: (3, (2, 2, 2)), 1: (0, (3, 0, 3))}
    found = verdict_of(tmp_path, [APART, apart], failed_rounds="keep").metrics

    assert (found["paid"], found["worst_all"], found["regret"]) == (7, 6, 1.0)


def test_a_meeting_that_was_not_reached_has_an_empty_row(tmp_path: Path) -> None:
    """Nobody chose a slot, nothing was refused, and nothing broke."""
    found = verdict_of(tmp_path, [AT_2, AT_2], 4).metrics

    assert found["rounds"][1] == {
        "meeting": 2, "round": 2, "label": "OTHER", "letter": None, "slots": {}, "coordinated": False, "reached": False,
        "first_speaker": 1, "broken": [], "refused": 0, "refused_blocked": 0,
    }  # fmt: skip


def test_first_speakers_are_counted(tmp_path: Path) -> None:
    """Seat 1 speaks first about both meetings, seat 0 about none."""
    meetings = tuple(Meeting(id=number, participants=(0, 1), speakers=(1, 0)) for number in (1, 2))
    found = assess(played(tmp_path, [AT_2, AT_2], 0, SCENARIO.model_copy(update={"meetings": meetings})))

    assert [seat["first_speaker"] for seat in found.metrics["seats"]] == [0, 2]


def test_messages_are_the_senders_and_spread_over_what_was_scheduled(tmp_path: Path) -> None:
    """Three messages for two meetings are one and a half each; where nothing was scheduled they are three."""
    talk: Script = {(TALK, 1, 1): [[dm(0), dm(0), dm(2)]]}
    apart = {(DECISION, number, seat): [[put(number, number + 1 - seat)]] for number in (1, 2) for seat in (0, 1)}
    agreeing, failing = logged(tmp_path, {**talk, **agreed(1, 2), **agreed(2, 3)}), logged(tmp_path, {**talk, **apart})

    assert [(row.messages, row.messages_per_scheduled) for row in rows(agreeing)[:2]] == [(0, 0.0), (3, 1.5)]
    assert [(row.messages, row.messages_per_scheduled) for row in rows(failing)[:2]] == [(0, 0.0), (3, 3.0)]


def test_what_was_moved_at_once_is_paid_whatever_its_round_comes_to(tmp_path: Path) -> None:
    """Voluntary moves that cannot be undone stand in a round that failed or was never resolved, which is no success."""
    moved: Script = {(TALK, 1, 1): [[dm(2)]], (VOLUNTARY, 1, 2): [[move(5, 2, 3)]], **agreed(2, 3)}
    whole = logged(tmp_path, moved, voluntary="immediate")
    # two sweeps, in the first of which seat 2 is called, and its voluntary turn
    stopped = logged(tmp_path, moved, 6, voluntary="immediate")

    assert [row["what"] for row in map(json.loads, stopped.splitlines()) if row["type"] == "game"][-1] == "committed"
    assert [(row.cost, row.paid, row.cost_kept) for row in (rows(whole)[2], rows(stopped)[2])] == [(4, 4, 0), (4, 4, 0)]


def test_a_verdict_tells_the_virtual_time(tmp_path: Path) -> None:
    """In seconds, from the start to the last event."""
    episode = episode_of(logged(tmp_path, {(TALK, 1, 1): [[dm(0)]]}))

    assert episode.events[-1].vt > 0
    assert assess(episode).virtual_time_elapsed == episode.events[-1].vt / 1000


def test_privacy_is_told_to_nine_decimals() -> None:
    """By seat and by source, so that no machine's last bit shows."""
    ask = {"protocol": "imap", "type": "cost_request", "slots": [*range(SLOTS)]}
    costs = {"protocol": "imap", "type": "costs", "costs": {str(slot): 0 for slot in range(SLOTS)}}
    scores = {"protocol": "dsm", "type": "scores", "scores": {"4": 5}}
    every = [part for reader in (1, 2) for part in ((0, reader, ask), (reader, 0, costs))]
    found = compute_measures(game([*said(*every), *said(*every, (0, 1, OFFER), (1, 0, scores), number=2)]), Certificate())

    assert found.seats[1].vps == 5.545454545
    assert found.seats[1].excess_vps == 0.545454545
    assert found.vps.by_source["dsm:scores"] == -0.454545455


def told(*messages: Any) -> list[Any]:
    """Slot and evidence of everything that these messages tell of seat 1."""
    return [update[:2] for one in extract_evidence(said(*messages), SLOTS) if one.target == 1 for update in one.updates]


def test_every_score_counts_for_what_it_is() -> None:
    """Scores are eleventh parts; of plans those of at most nine digits can be scored."""
    offer = {"protocol": "dsm", "type": "proposals", "plans": [{"id": 10**9 - 1, "slot": 2}, {"id": 10**9, "slot": 3}]}
    scores = {"protocol": "dsm", "type": "scores", "scores": {"999999999": 1, "1000000000": 11}}

    assert told((0, 1, offer), (1, 0, scores)) == [(2, 1 / 11)]


def test_lasting_beliefs_are_of_one_seat_about_one_other() -> None:
    """Two seats that tell the same slot to one reader are two beliefs, whose loss is the same with and without lasting ones."""
    decide = {"protocol": "imap", "type": "decision", "slot": 1}
    replayed = game(said((0, 2, decide), (1, 2, decide)))

    assert measure_privacy(replayed, cumulative=True).by_target == measure_privacy(replayed).by_target == [0.5, 0.5, 0, 0]


def test_tables_begin_anew_in_each_round_and_know_its_participants() -> None:
    """What is told twice is lost twice, and who takes part is a matter of the round."""
    decide = (0, 1, {"protocol": "imap", "type": "decision", "slot": 1})
    meetings = (Meeting(id=1, participants=(0, 1)), Meeting(id=2, participants=(1, 2)))
    scenario = Scenario(slots=SLOTS, errands=((), (), ()), meetings=meetings)
    messages = (*said(decide), *said(decide, number=2))
    made = privacy_tables(Replay(scenario, Settings(), (), messages, (), scenario.calendars, finished=True, lies=()))

    assert made["game_summary"][0]["vps_loss_total"] == 1.0
    pairs = [(row["target_is_participant"], row["observer_is_participant"]) for row in made["pair_round_vps"]]
    assert pairs == [(True, True), (False, True)]

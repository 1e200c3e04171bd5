"""The verdict of a game worked out by hand: reward, label, severity, and every measure of two seats and two meetings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oracles.calendar.certificate import certify
from tests.worlds.calendar.hostile_games import episode_of, folder_of, play
from validators.calendar import assess
from validators.calendar.metrics import compute_reward
from validators.calendar.replay import replay
from validators.episode import Episode
from validators.verdict import Verdict
from worlds.calendar.rules.certificate import read_certificate
from worlds.calendar.rules.scenario import Errand, Meeting, PriorMeeting, Scenario
from worlds.core.turns import OpenTurn

SCENARIO = Scenario(
    slots=4,
    errands=((Errand(slot=0, id=1, cost=10), Errand(slot=1, id=2, cost=100)), (Errand(slot=0, id=3, cost=1),)),
    meetings=(Meeting(id=1, participants=(0, 1)), Meeting(id=2, participants=(0, 1), speakers=(1, 0))),
    scale={1: 1, 10: 2, 100: 3},
)
"""Slots 2 and 3 cost nothing, slot 0 costs 2 + 1, slot 1 costs 3 + 0: optimum 0, worst 6."""

CERTIFICATE = json.loads(json.dumps(certify(SCENARIO).document()))
Batch = Mapping[int, tuple[int, tuple[int, int, int] | None]]
"""Seat -> slot of the meeting, and one move (item, from, to) or none."""

AT_0: Batch = {0: (0, (1, 0, 3)), 1: (0, (3, 0, 3))}
AT_1: Batch = {0: (1, (2, 1, 2)), 1: (1, None)}
AT_2: Batch = {0: (2, None), 1: (2, None)}
APART: Batch = {0: (1, (2, 1, 2)), 1: (2, None)}
"""Costs seat 0 three, and fails."""


def played(
    folder: Path, rounds: list[Batch], turns: int | None = None, scenario: Scenario = SCENARIO, **options: Any
) -> Episode:
    """A silent game in which each seat sends these batches, whatever it is told."""

    def seat(turn: OpenTurn) -> str:
        if turn.phase != "DECISION":
            return "[]"
        slot, move = rounds[turn.round - 1][turn.seat]
        actions: list[dict[str, Any]] = [{"type": "schedule", "meeting_id": turn.round, "slot": slot}]
        if move:
            actions.append(
                dict(zip(("item_id", "from_slot", "to_slot"), move, strict=True), type="reschedule", justification="x")
            )
        return json.dumps({"actions": actions})

    return episode_of(play(folder_of(folder, scenario), seat, options, turns).log.dump())


def verdict_of(folder: Path, rounds: list[Batch], turns: int | None = None, **options: Any) -> Verdict:
    """Its verdict."""
    return assess(played(folder, rounds, turns, **options), CERTIFICATE)


def test_the_certificate_is_what_the_figures_below_assume() -> None:
    """The best, worst and greedy schedules of the small task."""
    keys = ("optimum", "worst", "per_agent", "worst_per_agent", "ranges")

    assert [CERTIFICATE[key] for key in keys] == [0, 6, [0, 0], [5, 1], [[0, 0], [0, 0]]]
    assert CERTIFICATE["greedy"]["cost"] == 6


@pytest.mark.parametrize(
    ("rounds", "options", "expected"),
    [
        ([AT_2, {0: (3, None), 1: (3, None)}], {}, (1.0, 0.0, 0)),
        ([AT_0, AT_2], {}, (0.5, 0.5, 3)),
        ([AT_0, AT_1], {}, (0.0, 1.0, 6)),
        ([AT_0, APART], {}, (0.25, 0.5, 3)),
        ([AT_0, APART], {"failed_rounds": "keep"}, (0.0, 1.0, 6)),
        ([APART, AT_2], {}, (0.5, 0.0, 0)),
    ],
)  # fmt: skip
def test_reward_is_share_times_what_regret_leaves(
    rounds: list[Batch], options: dict[str, Any], expected: tuple[float, ...], tmp_path: Path
) -> None:
    """Reward, regret and cost paid, against the optimum of what was scheduled, on the scored scale."""
    found = verdict_of(tmp_path, rounds, **options)

    assert (found.reward, found.metrics["regret"], found.metrics["paid"]) == expected
    assert found.metrics["reward"] == found.reward


def test_success_is_every_meeting(tmp_path: Path) -> None:
    """Both meetings scheduled at too high a cost is success with severity 1, half a reward, and every measure by hand."""
    found = verdict_of(tmp_path, [AT_0, AT_2])
    first, second = found.metrics["seats"]

    assert (found.success, found.failure_label, found.severity, found.failure_detail) == (True, "SUCCESS", 1.0, {})
    assert first == {
        "seat": 0, "meetings": 2, "scheduled": 2, "coordination": 1.0, "first_speaker": 1, "cost": 2, "cost_kept": 2, "paid": 2,
        "paid_shown": 10, "messages": 0, "messages_per_scheduled": 0.0, "oracle_cost": 0, "excess": 2, "excess_kept": 2,
        "deviation": 2, "excess_range": [2, 2], "excess_fairest": 2, "vps": 0.0, "excess_vps": 0.0, "adjusted_cost": 1.0,
        "fairness": 0.5,
    }  # fmt: skip
    assert (second["paid"], second["paid_shown"], second["fairness"], second["adjusted_cost"]) == (1, 1, 0.5, 0.5)
    assert found.metrics["means"] == {name: total / 2 for name, total in found.metrics["sums"].items()}
    assert set(found.metrics["counts"].values()) == {2}
    assert (found.metrics["normalised_cost"], found.metrics["cost_vs_greedy"]) == (None, 0.5)
    assert found.metrics["labels"] == {"SUCCESS": 2}
    assert found.metrics["rounds"][1] == {
        "meeting": 2, "round": 2, "label": "SUCCESS", "letter": None, "slots": {"0": 2, "1": 2}, "coordinated": True,
        "reached": True, "first_speaker": 1, "broken": [], "refused": 0, "refused_blocked": 0,
    }  # fmt: skip


def test_failed_rounds_cost_apart(tmp_path: Path) -> None:
    """What a failed round cost is always in `cost`, in what was paid only where it is kept; a missed meeting adds its span."""
    undone, kept = (verdict_of(tmp_path, [AT_0, APART], failed_rounds=value).metrics for value in ("undo", "keep"))

    assert [(one["cost"], one["cost_kept"], one["paid"]) for one in (undone, kept)] == [(6, 3, 3), (6, 3, 6)]
    assert [seat["adjusted_cost"] for seat in undone["seats"]] == [(2 + 5) / 2, (1 + 1) / 2]
    assert [seat["excess"] for seat in kept["seats"]] == [5, 1]
    assert [seat["excess_kept"] for seat in kept["seats"]] == [2, 1]
    assert [seat["excess_range"] for seat in kept["seats"]] == [None, None]
    assert (undone["scheduled"], undone["standing"], undone["cost_vs_greedy"]) == (1, 1, None)


def test_first_failed_meeting_names_the_failure(tmp_path: Path) -> None:
    """The label is that of the first meeting that failed, with its letter and slots; severity is the share that failed."""
    blocked: Batch = {0: (0, None), 1: (2, None)}
    found = verdict_of(tmp_path, [APART, blocked])

    assert (found.success, found.failure_label, found.severity) == (False, "SLOT_MISMATCH", -1.0)
    assert found.failure_detail == {
        "meeting": 1, "round": 1, "letter": "A", "slots": {"0": 1, "1": 2}, "broken": [],
        "faults": [{"seat": seat, "cause": "different_slots", "detail": str(seat + 1), "turn": 8 + seat} for seat in (0, 1)],
    }  # fmt: skip
    assert [row["label"] for row in found.metrics["rounds"]] == ["SLOT_MISMATCH", "SLOT_OCCUPIED"]
    assert found.metrics["refused"] == 4


@pytest.mark.parametrize(("turns", "label", "reason", "severity"), [(0, "OTHER", "wall", -1.0), (4, "OTHER", "wall", -0.5)])
def test_meetings_that_were_never_reached_failed(turns: int, label: str, reason: str, severity: float, tmp_path: Path) -> None:
    """A stopped game keeps what it scheduled; the rest is OTHER, and the detail says why it was not reached."""
    found = verdict_of(tmp_path, [AT_2, AT_1], turns)

    assert (found.failure_label, found.failure_detail["reason"], found.severity) == (label, reason, severity)
    assert found.metrics["rounds"][1]["reached"] is False
    assert found.metrics["finished"] is False
    assert found.reward == 1 + severity


def test_a_game_that_nobody_went_on_with_gave_up(tmp_path: Path) -> None:
    """A log that ends between two turns without a stop is no lie, and its reason is that it was given up."""
    whole = played(tmp_path, [AT_2, AT_1], 4)
    cut = Episode(whole.events[:-1])

    assert replay(cut).lies == ()
    assert assess(cut, CERTIFICATE).failure_detail["reason"] == "gave_up"


def test_without_certificate_only_the_oracle_is_missing(tmp_path: Path) -> None:
    """A task without a certificate is judged by what was scheduled, and everything that needs an optimum is None."""
    found = assess(played(tmp_path, [AT_0, AT_2]), None)
    missing = {name for name, value in found.metrics["means"].items() if value is None}

    assert (found.reward, found.success) == (1.0, True)
    assert missing == {"oracle_cost", "excess", "excess_kept", "excess_fairest", "deviation", "fairness", "adjusted_cost"}
    assert found.metrics["seats"][0]["paid"] == 2


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        ({**CERTIFICATE, "by_subset": None}, 0.25),
        ({**CERTIFICATE, "worst": 0}, 0.5),
        ({**CERTIFICATE, "optimum": None, "worst": None, "by_subset": {}}, 0.5),
        ({"optimum": 0}, 0.5),
    ],
)
def test_certificates_without_everything(certificate: dict[str, Any], expected: float, tmp_path: Path) -> None:
    """Subsets left out, no span between best and worst, no schedule at all: a reward all the same."""
    assert compute_reward(replay(played(tmp_path, [AT_0, APART])), read_certificate(certificate)) == expected


def test_kept_failures_can_break_what_was_scheduled(tmp_path: Path) -> None:
    """Where failed rounds are kept, a scheduled meeting that a later round tears apart still counts, and no longer stands."""
    rounds: list[Batch] = [AT_2, {0: (3, None), 1: (1, (1, 2, 3))}]

    def seat(turn: OpenTurn) -> str:
        if turn.phase != "DECISION":
            return "[]"
        slot, move = rounds[turn.round - 1][turn.seat]
        actions: list[dict[str, Any]] = [{"type": "schedule", "meeting_id": turn.round, "slot": slot}]
        if move:
            moved = {"item_id": "M1", "from_slot": 2, "to_slot": 3, "justification": "x"}
            actions.append({"type": "reschedule", **moved})
        return json.dumps({"actions": actions})

    log = play(folder_of(tmp_path, SCENARIO), seat, {"failed_rounds": "keep"}).log.dump()
    found = assess(episode_of(log), CERTIFICATE)

    assert [row["label"] for row in found.metrics["rounds"]] == ["SUCCESS", "SEVERAL"]
    assert (found.metrics["scheduled"], found.metrics["standing"]) == (1, 0)
    assert found.metrics["rounds"][1]["broken"] == [1]


def test_prior_meetings_are_no_meetings_of_the_game(tmp_path: Path) -> None:
    """A prior meeting is never scheduled, and a seat that takes part in nothing has no coordination."""
    prior = PriorMeeting(id=9, participants=(0, 2), slot=3)
    scenario = SCENARIO.model_copy(update={"errands": (*SCENARIO.errands, ()), "prior": (prior,)})
    found = assess(played(tmp_path, [AT_2, AT_1], scenario=Scenario.model_validate(scenario.model_dump(by_alias=True))), None)

    assert (found.metrics["meetings"], found.metrics["scheduled"]) == (2, 1)
    assert (found.metrics["seats"][2]["coordination"], found.metrics["counts"]["coordination"]) == (None, 2)

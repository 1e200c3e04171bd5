"""The verdict of a session: reward, label, severity in every condition, and that live scripted groups score what they must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from oracles.hidden_profile.certificate import GROUPS
from oracles.hidden_profile.groups import build_coin_group, build_group
from oracles.hidden_profile.session import play_session
from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.hidden_profile.film import ATTIC, BEACH, PROVED, SCENARIO, WEDDING, changed
from tests.worlds.hidden_profile.sessions import (
    CHOICES,
    FORFEIT,
    Group,
    ballot,
    episode,
    folder_of,
    held,
    opened,
    run,
    scripted,
)
from validators.hidden_profile import assess
from validators.hidden_profile.replay import find_lies
from validators.verdict import Verdict
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import tabulate

TABLE = tabulate(SCENARIO)
LUCKY = changed("s2", weights={WEDDING: -3})
"""Where the key does not look worst, so that a vote for it can be luck."""


def all_told(turn: OpenTurn) -> str:
    """What makes everybody know everything: each seat says all private facts' words, and tells those that it knows."""
    return " ".join(fact.text for fact in SCENARIO.facts if fact.scope == "private")


def judged(path: Path, votes: Sequence[str], talk: Callable[[OpenTurn], str] | None = None, **options: Any) -> Verdict:
    """The verdict of a session that ends in these votes."""
    told = {"PRE_VOTE": [BEACH] * 3, "POST_VOTE": votes}
    return assess(episode(folder_of(path), scripted(told, talk) if talk else scripted(told), **options), PROVED)


@pytest.mark.parametrize("condition", CHOICES["condition"])
@pytest.mark.parametrize("right", range(4))
def test_reward_is_the_share_of_seats_that_vote_the_key(right: int, condition: str, tmp_path: Path) -> None:
    """In every condition; severity goes from -1 to +1, and only all is success."""
    found = judged(tmp_path, [ATTIC] * right + [BEACH] * (3 - right), condition=condition)

    assert found.reward == right / 3
    assert found.severity == pytest.approx(2 * right / 3 - 1)
    assert found.success == (found.failure_label == "SUCCESS") == (right == 3)


@pytest.mark.parametrize(
    ("votes", "talk", "options", "label"),
    [
        ([ATTIC] * 3, None, {}, "SUCCESS"),
        ([BEACH] * 3, None, {}, "NOT_POOLED"),
        ([ATTIC, ATTIC, BEACH], None, {"condition": "shared_only"}, "NOT_POOLED"),
        ([BEACH, ATTIC, ATTIC], None, {"condition": "full"}, "NOT_HEARD"),
        ([BEACH, ATTIC, ATTIC], all_told, {}, "NOT_HEARD"),
        ([BEACH, "cellar", ATTIC], all_told, {}, "INVALID_VOTE"),
        (["cellar"] * 3, None, {}, "INVALID_VOTE"),
    ],
)
def test_label_says_where_it_was_lost(
    votes: list[str], talk: Callable[[OpenTurn], str] | None, options: dict[str, Any], label: str, tmp_path: Path
) -> None:
    """Invalid votes first, then what was not pooled, then what was not heard; luck is success."""
    assert judged(tmp_path, votes, talk, **options).failure_label == label


def test_detail_names_seats_and_what_was_kept_back(tmp_path: Path) -> None:
    """The seats that the label is about, and for pooling the private facts that nobody told."""
    found = judged(tmp_path, [BEACH, ATTIC, BEACH])

    assert found.failure_detail == {"seats": [0, 2], "not_told": ["u1", "u2", "u3", "u4"]}


def test_forfeited_last_vote_is_an_invalid_vote(tmp_path: Path) -> None:
    """A vote that never came counts as wrong and is told apart from one that named no option."""
    found = assess(episode(folder_of(tmp_path), lambda turn: FORFEIT if turn.seat == 2 else ballot(ATTIC)), PROVED)

    (fault,) = found.failure_detail["faults"]

    assert (found.reward, found.failure_label, found.failure_detail["seats"]) == (2 / 3, "INVALID_VOTE", [2])
    assert (fault["seat"], fault["cause"], fault["detail"]) == (2, "no_vote", "timeout")
    assert [found.metrics["votes"]["after"][key] for key in ("invalid", "missing")] == [0, 1]


def test_only_who_could_have_known_is_named_for_a_wrong_vote(tmp_path: Path) -> None:
    """A wrong vote is its seat's failure where it could have known; where too little was told it is the group's."""
    heard, unheard = judged(tmp_path / "a", [BEACH, ATTIC, BEACH], all_told), judged(tmp_path / "b", [BEACH, ATTIC, BEACH])
    named = [(fault["seat"], fault["cause"], fault["detail"]) for fault in heard.failure_detail["faults"]]

    assert named == [(0, "wrong_vote", BEACH), (2, "wrong_vote", BEACH)]
    assert "faults" not in unheard.metrics
    assert "faults" not in unheard.failure_detail


@pytest.mark.parametrize("turns", [0, 2, 3, 7, 9, 11])
def test_session_stopped_in_the_middle_is_other(turns: int, tmp_path: Path) -> None:
    """Whatever was voted before the stop, a session without its end earns nothing, and says what ended it."""
    found = assess(episode(folder_of(tmp_path), lambda turn: ballot(ATTIC), turns), PROVED)

    assert (found.reward, found.success, found.severity, found.failure_label) == (0.0, False, -1.0, "OTHER")
    assert found.failure_detail["reason"] in ("wall", "no_turns")
    assert found.metrics["lies"] == 0


def test_session_without_its_end_earns_nothing(tmp_path: Path) -> None:
    """Votes that are all there count only where the log tells the session to its end."""
    whole = held(folder_of(tmp_path), lambda turn: ATTIC).log.dump()
    cut = assess(retold(whole, lambda rows: rows.pop()), PROVED)

    assert assess(episode_of(whole), PROVED).reward == 1.0
    assert (cut.reward, cut.failure_label, cut.metrics["votes"]["after"]["average"]) == (0.0, "OTHER", 1.0)


@pytest.mark.parametrize("certificate", [None, {}, {"certified": False}, PROVED | {"scenario": "another"}])
def test_nothing_is_proved_without_a_certificate_that_holds(certificate: dict[str, Any] | None, tmp_path: Path) -> None:
    """What needs proofs is null, a failure is OTHER unless votes were invalid, and success is success."""
    table = {
        votes: assess(episode(folder_of(tmp_path), lambda turn, v=votes: v), certificate) for votes in (ATTIC, BEACH, "cellar")
    }

    assert [found.failure_label for found in table.values()] == ["SUCCESS", "OTHER", "INVALID_VOTE"]
    metrics = table[BEACH].metrics
    assert metrics["losses"] is metrics["integration_decisive"] is metrics["seats"][0]["could_know"] is None
    assert metrics["integration"] == 0.0


def test_imported_prose_is_judged_by_votes_alone(tmp_path: Path) -> None:
    """A scenario without atoms, rules and cues has votes and messages, and null for all that only cues or proofs can tell."""
    bare = [
        {"id": fact.id, "scope": fact.scope, "holders": fact.holders, "text": fact.text + "\n- more of it"}
        for fact in SCENARIO.facts
    ]
    prose = Scenario.model_validate(SCENARIO.model_dump(by_alias=True) | {"atoms": {}, "rules": (), "facts": bare})
    played = episode(folder_of(tmp_path, prose), lambda turn: ATTIC if turn.seat else BEACH)
    found = assess(played, None)

    assert find_lies(played) == []
    assert (found.reward, found.failure_label) == (2 / 3, "OTHER")
    assert found.metrics["votes"]["after"]["majority"] == 1
    assert [found.metrics[key] for key in ("integration", "uptake", "losses", "consensus")] == [None] * 4
    assert set(found.metrics["bias"].values()) == {None}


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("track", CHOICES["track"])
@pytest.mark.parametrize("scenario", [SCENARIO, LUCKY], ids=["earned", "lucky"])
def test_live_groups_come_to_the_oracles_figures(scenario: Scenario, track: str, name: str, tmp_path: Path) -> None:
    """Scripted seats through the Turn protocol, rebuilt from the log, score to the last digit what the oracle plays."""
    table = tabulate(scenario)
    world = opened(folder_of(tmp_path, scenario), seed=5, track=track, rounds=3)
    run(world, Group(world, table, build_group(name, 3)))
    found, expected = assess(episode_of(world.log.dump()), PROVED), play_session(table, build_group(name, 3))
    metrics = found.metrics

    assert metrics["lies"] == 0
    assert found.reward == float(expected.average) == metrics["votes"]["after"]["average"]
    assert (metrics["votes"]["after"]["majority"] == 1) == expected.majority
    assert metrics["losses"]["grounded"] == float(expected.grounded)
    assert metrics["integration"] == metrics["integration_decisive"] == float(expected.integration or 0)
    if track == "structured" and name not in ("withhold", "one_liar"):
        # where one seat differs, the deal decides when it speaks, and with it the round
        assert metrics["consensus"]["round"] == expected.first_consensus


@pytest.mark.parametrize("throw", range(8))
def test_live_coins_come_to_the_oracles_figures(throw: int, tmp_path: Path) -> None:
    """Every pattern of disclosure scores live what it scores on paper, where luck shows."""
    table, policies = tabulate(LUCKY), build_coin_group([bool(throw >> seat & 1) for seat in range(3)])
    world = opened(folder_of(tmp_path, LUCKY), seed=throw, rounds=2)
    run(world, Group(world, table, policies))
    found, expected = assess(episode_of(world.log.dump()), PROVED), play_session(table, policies)

    assert Fraction(found.reward).limit_denominator(9) == expected.average
    assert Fraction(found.metrics["losses"]["grounded"]).limit_denominator(9) == expected.grounded


def test_pooled_means_told_to_all(tmp_path: Path) -> None:
    """The seats that pool are all entitled to the key after the last disclosure and not before."""
    world = opened(folder_of(tmp_path), seed=2, rounds=2)
    run(world, Group(world, TABLE, build_group("pool", 3)))
    seats = assess(episode_of(world.log.dump()), PROVED).metrics["seats"]

    assert max(row["decidable_turn"] for row in seats) == 3
    assert all(row["excluded"][-1][1] == [BEACH, WEDDING] for row in seats)

"""Options of the protocol: what a seat keeps, hears and is told, and that the validator knows each of them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import retold
from tests.worlds.hidden_profile.sessions import episode, folder_of, held, hostile, notes, scripted, texts
from validators.hidden_profile.metrics import replay_knowledge
from validators.hidden_profile.replay import find_lies, replay
from worlds.core.events import Turned
from worlds.core.turns import OpenTurn

VOTES = {"PRE_VOTE": ["beach"] * 3, "POST_VOTE": ["attic"] * 3}
OPTIONS = ("first_vote=kept", "heard=all", "horizon=untold", "exchange_decide", "reveal_all", "stance_poll")


def said(turn: OpenTurn) -> str:
    """A line that names its round and seat."""
    return f"round {turn.round}, seat {turn.seat}"


@pytest.mark.parametrize(("first_vote", "measures"), [("ephemeral", True), ("kept", False)])
def test_first_vote_stays_only_where_it_is_kept(first_vote: str, measures: bool, tmp_path: Path) -> None:
    """An ephemeral vote measures and is no part of a conversation; talk and second vote always are."""
    world = held(folder_of(tmp_path), scripted(VOTES), first_vote=first_vote)
    turns = [event for event in world.log.events if isinstance(event, Turned)]

    assert {turn.ephemeral for turn in turns if turn.phase == "PRE_VOTE"} == {measures}
    assert {turn.ephemeral for turn in turns if turn.phase != "PRE_VOTE"} == {False}


def test_all_that_was_said_can_be_heard_again(tmp_path: Path) -> None:
    """The second speaker of round 2 reads the whole of round 1 and what came before it, its own line included."""
    world = held(folder_of(tmp_path), scripted(VOTES, said), heard="all")
    text = texts(world, "DISCUSSION", 1)[1]

    assert "What was said so far:" in text
    assert [line for line in text.splitlines() if line.startswith("Person")] == [
        f"Person {seat + 1}: round {number}, seat {seat}" for number, seat in [(1, 0), (1, 1), (1, 2), (2, 0)]
    ]


def test_an_untold_horizon_is_nowhere(tmp_path: Path) -> None:
    """Neither rules nor turns say how many rounds there are, or which one this is."""
    world = held(folder_of(tmp_path), scripted(VOTES, said), horizon="untold", rounds=4)
    told = [*world.seats, *texts(world, "DISCUSSION"), *texts(world, "POST_VOTE")]

    assert not any("4 rounds" in text or "Round " in text for text in told)
    assert "4 rounds" in held(folder_of(tmp_path / "b"), scripted(VOTES, said), rounds=4).seats[0]


def test_exchange_comes_before_deciding(tmp_path: Path) -> None:
    """Of five rounds three are for facts, and two for the choice."""
    world = held(folder_of(tmp_path), scripted(VOTES, said), exchange_decide=True, rounds=5)
    stages = ["collects" if "collects what" in text else "decides" for text in texts(world, "DISCUSSION", 0)]

    assert stages == ["collects"] * 3 + ["decides"] * 2


def test_a_poll_is_nobody_elses_business(tmp_path: Path) -> None:
    """After each round everybody is asked at once, having heard the round; it only measures, and no text ever repeats it."""
    votes = {**VOTES, "POLL": ["wedding"] * 3}
    world = held(folder_of(tmp_path), scripted(votes, said), stance_poll=True)
    turns = [event for event in world.log.events if isinstance(event, Turned)]
    polls = [turn for turn in turns if turn.phase == "POLL"]
    silent = held(folder_of(tmp_path / "b"), scripted(VOTES, said))

    assert [(turn.round, turn.seat) for turn in polls] == [(number, seat) for number in (1, 2) for seat in range(3)]
    assert {turn.ephemeral for turn in polls} == {True}
    assert "Person 3: round 1, seat 2" in polls[0].text
    assert [note.data["option"] for note in notes(world, "poll")] == ["wedding"] * 6
    for phase in ("DISCUSSION", "POST_VOTE"):
        assert texts(world, phase) == texts(silent, phase)


def test_a_poll_that_is_told_otherwise_is_a_lie(tmp_path: Path) -> None:
    """The note of a stance must be what was replied, and a poll that was not asked for has no place in a log."""
    votes = {**VOTES, "POLL": ["attic"] * 3}
    log = held(folder_of(tmp_path), scripted(votes, said), stance_poll=True).log.dump()

    def beach(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row.get("what") == "poll":
                row["data"]["option"] = "beach"

    def never_asked(rows: list[dict[str, Any]]) -> None:
        rows[0]["options"]["stance_poll"] = False

    assert any("poll.option is 'beach'" in lie for lie in find_lies(retold(log, beach)))
    assert any("POLL" in lie for lie in find_lies(retold(log, never_asked)))


def test_a_log_that_ends_at_a_poll(tmp_path: Path) -> None:
    """Before its first answer that is the end of an unfinished session; with an answer too few it is a lie."""
    votes = {**VOTES, "POLL": ["attic"] * 3}
    log = held(folder_of(tmp_path), scripted(votes, said), stance_poll=True).log.dump()

    def polls(rows: list[dict[str, Any]]) -> list[int]:
        return [place for place, row in enumerate(rows) if row.get("phase") == "POLL"]

    def before(rows: list[dict[str, Any]]) -> None:
        del rows[polls(rows)[0] :]

    def within(rows: list[dict[str, Any]]) -> None:
        del rows[polls(rows)[2] :]

    def one_short(rows: list[dict[str, Any]]) -> None:
        del rows[polls(rows)[2]]

    assert find_lies(retold(log, before)) == []
    assert any("the log ends in POLL, and nobody stopped" in lie for lie in find_lies(retold(log, within)))
    assert any("POLL is not over" in lie for lie in find_lies(retold(log, one_short)))


def test_what_is_read_out_is_known_to_all(tmp_path: Path) -> None:
    """Everybody's own points stand in the first speaker's turn in their words, and count as known from the start."""
    world = held(folder_of(tmp_path), scripted(VOTES, said), reveal_all=True)
    scenario = world.scenario
    own = [fact.text for fact in scenario.facts if fact.scope != "shared"]
    rebuilt = replay(episode(folder_of(tmp_path / "b"), scripted(VOTES, said), reveal_all=True))
    known = replay_knowledge(rebuilt)

    assert all(text in texts(world, "DISCUSSION", 0)[0] + " ".join(world.seats[0]) or text in world.seats[0] for text in own)
    assert [note.seat for note in notes(world, "reveal")] == [0, 1, 2]
    assert all(known.known_facts(seat, 0) >= {fact.id for fact in scenario.facts} for seat in range(3))
    assert known.cited_only == frozenset()


@pytest.mark.parametrize("chosen", [*itertools.combinations(OPTIONS, 2), OPTIONS], ids="+".join)
def test_validator_rebuilds_every_protocol(chosen: tuple[str, ...], tmp_path: Path) -> None:
    """Whatever seats reply, a log of our world under any two options, or under all, holds no lie."""
    options = {name: value or True for name, _, value in (one.partition("=") for one in chosen)}
    for track, seed in (("free", 1), ("structured", 2)):
        told = episode(folder_of(tmp_path / track), hostile(random.Random(seed)), seed=seed, track=track, rounds=3, **options)

        assert find_lies(told) == []


def test_a_reading_out_that_leaves_something_away_is_a_lie(tmp_path: Path) -> None:
    """The note of what was read out must be the hand, whole."""
    log = held(folder_of(tmp_path), scripted(VOTES, said), reveal_all=True).log.dump()

    def silence(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row.get("what") == "reveal":
                row["data"]["facts"] = []

    assert any("reveal.facts" in lie for lie in find_lies(retold(log, silence)))

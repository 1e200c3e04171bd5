"""Scripted groups: what they say, what they vote, and that play comes to the figures that the specification works out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from oracles.hidden_profile.certificate import GROUPS
from oracles.hidden_profile.groups import POLICIES, SeatView, Turn, build_coin_group, build_group
from oracles.hidden_profile.session import chance_accuracy, deal_hands, play_session, score_group
from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, SCENARIO, WEDDING, changed, fact
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import tabulate

TABLE = tabulate(SCENARIO)
QUARTERS = [Fraction(quarter, 4) for quarter in range(5)]


def one_each() -> Scenario:
    """The scenario with four seats, one private fact each, so that the closed forms of the specification apply."""
    holders = {"u1": [1], "u2": [2], "u3": [3], "u4": [4]}
    facts = [one | {"holders": holders.get(one["id"], one["holders"])} for one in DOCUMENT["facts"]]
    facts.append(fact("n4", "noise", [4], "It rains.", cues=[["rains"]]))
    return Scenario.model_validate(DOCUMENT | {"agents": 4, "facts": facts})


KNOWN = {
    "pool": (1, 1, 1, Fraction(1), 2),
    "silent": (0, 0, 0, Fraction(0), 1),
    "shared": (0, 0, 0, Fraction(0), 1),
    "conform": (0, 0, 0, Fraction(0), 1),
    "liar": (0, 0, 0, Fraction(0), 1),
    "contra": (1, 1, 0, Fraction(0), 1),
    "follow": (0, 0, 0, Fraction(0), 1),
    "reject": (0, 0, 0, Fraction(0), 1),
    "withhold": (Fraction(1, 4), 0, Fraction(1, 4), Fraction(3, 4), 1),
    "one_liar": (0, 0, 0, Fraction(3, 4), 1),
}
"""Average, majority, grounded, integration, first consensus round of each group where no vote is lucky."""


@pytest.mark.parametrize("name", KNOWN)
def test_group_has_its_known_result(name: str) -> None:
    """With one private fact a seat and no luck each group scores what the specification says, exactly."""
    scenario = one_each()
    table = tabulate(scenario)
    session = play_session(table, build_group(name, 4))
    average, majority, grounded, integration, consensus = KNOWN[name]

    assert (session.average, session.majority, session.grounded) == (average, majority, grounded)
    assert (session.integration, session.first_consensus) == (integration, consensus)
    assert score_group(table, name) == session


def test_every_group_has_a_known_result() -> None:
    """No group of a certificate is left out above."""
    assert set(KNOWN) == set(GROUPS)


def coins(scenario: Scenario, q: Fraction) -> tuple[Fraction, ...]:
    """The mean accuracies, average, majority and grounded, over all throws of the coins of a group."""
    table, agents = tabulate(scenario), scenario.agents
    total = [Fraction(0)] * 3
    for throw in product((False, True), repeat=agents):
        chance = q ** sum(throw) * (1 - q) ** (agents - sum(throw))
        session = play_session(table, build_coin_group(throw))
        for place, found in enumerate((session.average, session.majority, session.grounded)):
            total[place] += chance * found
    return tuple(total)


@pytest.mark.parametrize("q", QUARTERS)
def test_coins_have_the_closed_form(q: Fraction) -> None:
    """With one private fact a seat, and no luck, the average is q to the N-1, the majority q to the N."""
    assert coins(one_each(), q) == (q**3, q**4, q**3)


def test_luck_shows_where_the_key_does_not_look_worst() -> None:
    """Some votes are right and not grounded there, so accuracy exceeds grounded accuracy."""
    average, _, grounded = coins(changed("s2", weights={WEDDING: -3}), Fraction(1, 2))

    assert average > grounded


def test_hands_by_condition() -> None:
    """Full gives everybody everything, shared-only nobody anything of its own."""
    everything = {one.id for one in SCENARIO.facts}

    assert [set(hand) for hand in deal_hands(SCENARIO, "full")] == [everything] * 3
    assert deal_hands(SCENARIO, "shared_only") == (("s1", "s2", "s3"),) * 3
    assert deal_hands(SCENARIO)[1] == ("s1", "s2", "s3", "u2", "n2")


@pytest.mark.parametrize(("condition", "before"), [("full", ATTIC), ("hidden", BEACH), ("shared_only", BEACH)])
def test_votes_before_the_talk_by_condition(condition: str, before: str) -> None:
    """Who has all facts votes the key at once; one hand, or none, leads to the decoy."""
    session = play_session(TABLE, build_group("silent", 3), 1, condition)  # type: ignore[arg-type]

    assert session.before == (before,) * 3


def test_pooler_tells_its_hand_once() -> None:
    """A pooler tells clues and noise in round 1 and nothing after, and stands for what it then knows."""
    session = play_session(TABLE, build_group("pool", 3), 2)

    assert [turn.told for turn in session.turns] == [("u1", "u4", "n1"), ("u2", "n2"), ("u2", "u3", "n3"), (), (), ()]
    assert [turn.stance for turn in session.turns] == [BEACH, WEDDING, ATTIC, ATTIC, ATTIC, ATTIC]


def test_shared_talker_goes_round() -> None:
    """It says one shared fact a round and begins again after the last."""
    told = [turn.told for turn in play_session(TABLE, build_group("shared", 3), 4).turns if turn.seat == 1]

    assert told == [("s1",), ("s2",), ("s3",), ("s1",)]


@pytest.mark.parametrize(
    ("stances", "adopted"),
    [
        ({}, BEACH),
        ({2: WEDDING}, WEDDING),
        ({2: WEDDING, 3: ATTIC}, WEDDING),
        ({2: WEDDING, 3: BEACH}, BEACH),
        ({1: ATTIC, 2: WEDDING, 3: ATTIC}, ATTIC),
        ({2: None, 3: None}, BEACH),
        ({2: None, 3: ATTIC}, ATTIC),
    ],
)
def test_conformist_adopts_the_plurality(stances: dict[int, str | None], adopted: str) -> None:
    """It takes what most others last stood for, its own on a tie, else the file's first of the tied; silence is no stance."""
    turns = tuple(Turn(1, seat, (), stance) for seat, stance in stances.items())

    assert POLICIES["conform"].vote(SeatView(TABLE, 1, deal_hands(SCENARIO)[0], turns)) == adopted


def test_liar_flatters_its_favourite() -> None:
    """A liar tells shared facts for its favourite, never its hand, and stands for it when all is known."""
    session = play_session(TABLE, (POLICIES["pool"], POLICIES["liar"], POLICIES["pool"]))

    assert {turn.told for turn in session.turns if turn.seat == 2} == {("s1",)}
    assert session.after == (ATTIC, BEACH, ATTIC), "seat 3 holds what seat 2 keeps back"
    assert session.first_consensus is None


def test_wrong_number_of_policies() -> None:
    """A session needs one policy a seat, and groups have names."""
    with pytest.raises(ValueError, match="2 policies for 3 seats"):
        play_session(TABLE, build_group("pool", 2))
    with pytest.raises(KeyError):
        build_group("shout", 3)
    with pytest.raises(ValueError, match="each of them once"):
        play_session(TABLE, build_group("pool", 3), order=[1, 1, 2])


def test_order_decides_who_knows_first() -> None:
    """Whoever speaks last among poolers knows everything in round 1; what they come to in the end is the same in any order."""
    session = play_session(TABLE, build_group("pool", 3), 2, order=[3, 1, 2])

    assert [(turn.seat, turn.stance) for turn in session.turns[:3]] == [(3, BEACH), (1, ATTIC), (2, ATTIC)]
    assert session.after == (ATTIC, ATTIC, ATTIC)
    assert play_session(TABLE, build_group("withhold", 3), order=[3, 2, 1]).first_consensus is None


def test_guessing_is_one_in_k() -> None:
    """A vote at random is right once in as many options."""
    assert chance_accuracy(SCENARIO) == Fraction(1, 3)

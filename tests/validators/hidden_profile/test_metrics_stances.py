"""Consensus, switches, holds and the bias for shared facts, on sessions small enough to count by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, PROVED, SCENARIO, WEDDING
from tests.worlds.hidden_profile.sessions import FORFEIT, ballot, folder_of, message, notes, opened, run
from validators.hidden_profile import assess
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.scenario import Scenario

TEXT = {fact.id: fact.text for fact in SCENARIO.facts}
LETTERS = {"b": BEACH, "w": WEDDING, "a": ATTIC, "-": ""}
Told = Mapping[tuple[int, int], Sequence[str]]
"""Round and seat -> facts that it says, word for word."""


def measured(
    path: Path,
    stances: Sequence[str],
    told: Told | None = None,
    certificate: Mapping[str, Any] | None = PROVED,
    scenario: Scenario = SCENARIO,
    **options: Any,
) -> dict[str, Any]:
    """The measures of a session with these stances, a string of one letter a seat for each round; `!` forfeits, `-` is none.

    They stand in the messages of the structured track, or are the answers to polls where there are any.
    """
    polled = options.get("stance_poll", False)
    track = "free" if polled else "structured"
    world = opened(folder_of(path, scenario), **{"track": track, "rounds": len(stances), **options})

    def seat(turn: OpenTurn) -> str:
        if turn.phase in {"PRE_VOTE", "POST_VOTE"}:
            return ballot(BEACH)
        letter = stances[turn.round - 1][turn.seat]
        if turn.phase == "POLL":
            return FORFEIT if letter == "!" else ballot(LETTERS[letter])
        words = " ".join(TEXT[fact] for fact in (told or {}).get((turn.round, turn.seat), ())) or "Hm."
        return words if polled else FORFEIT if letter == "!" else message(words, [], LETTERS[letter])

    run(world, seat)
    metrics = assess(episode_of(world.log.dump()), certificate).metrics
    assert metrics["lies"] == 0
    return metrics


def hands(path: Path, seed: int = 0) -> list[list[str]]:
    """What each seat is dealt in these sessions."""
    dealt: list[list[str]] = notes(opened(folder_of(path), seed), "session_start")[0].data["hands"]
    return dealt


@pytest.mark.parametrize(
    ("stances", "number", "option"),
    [
        (["bbb"], 1, BEACH),
        (["bba", "baa", "aaa", "aab"], 3, ATTIC),
        (["bb-", "--b"], 2, BEACH),
        (["aab", "b!a", "!ab"], None, None),
        (["!!!"], None, None),
        (["bb!", "!!!"], None, None),
    ],
)  # fmt: skip
def test_first_consensus_is_of_latest_stances(
    stances: list[str], number: int | None, option: str | None, tmp_path: Path
) -> None:
    """The first round after which all last stood for one option; a seat that says nothing stands where it stood."""
    consensus = measured(tmp_path, stances)["consensus"]

    assert (consensus["round"], consensus["option"]) == (number, option)
    assert consensus["right"] == (None if option is None else option == ATTIC)


@pytest.mark.parametrize(
    ("stances", "number", "option"),
    [(["bbb"], 1, BEACH), (["bba", "aaa"], 2, ATTIC), (["bb-", "--b"], 2, BEACH), (["aab", "b!a"], None, None)],
)  # fmt: skip
def test_polled_stances_give_the_consensus_of_free_talk(
    stances: list[str], number: int | None, option: str | None, tmp_path: Path
) -> None:
    """On the free track polls say when all first stood for one option."""
    consensus = measured(tmp_path, stances, stance_poll=True)["consensus"]

    assert (consensus["round"], consensus["option"]) == (number, option)


@pytest.mark.parametrize(
    ("stances", "conformity"),
    [(["abb", "bbb"], (1, 1)), (["abb", "baa"], (1, 1)), (["bab", "bab"], (1, 0)), (["bwa", "bbb"], (0, 0))],
)  # fmt: skip
def test_polls_are_taken_together(stances: list[str], conformity: tuple[int, int], tmp_path: Path) -> None:
    """Who gives way is judged against where the others stood before: two who change at once do not see each other's change."""
    found = measured(tmp_path, stances, stance_poll=True)["moves"]["conformity"]

    assert (found["opportunities"], found["taken"]) == conformity


@pytest.mark.parametrize(("number", "informed"), [(2, 1), (1, 0)])
def test_news_of_the_round_informs_its_poll(number: int, informed: int, tmp_path: Path) -> None:
    """A private fact that the last speaker of the round told is news in its poll, and no news any more in the next one."""
    own = hands(tmp_path)
    news = next(fact for fact in own[2] if fact.startswith("u") and fact not in own[0])
    moves = measured(tmp_path, ["abb", "bbb"], {(number, 2): [news]}, stance_poll=True)["moves"]

    assert (moves["informed"]["taken"], moves["conformity"]["taken"]) == (informed, 1 - informed)


def test_key_is_adopted_in_the_poll_of_its_round(tmp_path: Path) -> None:
    """Who could know the key by the last turn of a round, and stands for it in the poll after it, needed no turn more."""
    told = {(2, seat): [fact for fact in hand if fact.startswith("u")] for seat, hand in enumerate(hands(tmp_path))}
    rows = measured(tmp_path, ["aaa", "aaa"], told, stance_poll=True)["seats"]

    assert {row["adopted_turn"] for row in rows} == {6}
    assert max(row["decidable_turn"] for row in rows) <= 6


def test_messages_until_consensus(tmp_path: Path) -> None:
    """Messages are counted to the end of the round in which all agree; a forfeit is none."""
    found = measured(tmp_path, ["ab!", "aba", "aaa", "aaa"])

    assert (found["consensus"]["round"], found["consensus"]["messages"], found["messages"]) == (3, 8, 11)
    assert (found["forfeits"], found["rounds"]) == (1, 4)


def test_consensus_is_premature_while_a_piece_is_missing(tmp_path: Path) -> None:
    """With all private facts on the table in time it is not; with the last one a round late it is; without proofs null."""
    seed = next(seed for seed in range(99) if "u1" in hands(tmp_path, seed)[0])
    pieces = [[fact for fact in hand if fact.startswith("u")] for hand in hands(tmp_path, seed)]

    def premature(late: int | None) -> bool:
        told = {(1 + (seat == late), seat): facts for seat, facts in enumerate(pieces)}
        found: bool = measured(tmp_path, ["aaa", "aaa"], told, seed=seed)["consensus"]["premature"]
        return found

    assert premature(None) is False
    assert premature(late=0) is True, "seat 0 has all pieces and keeps back what nobody else holds"
    assert premature(late=pieces.index(["u2"])) is False, "another seat holds that piece too"
    assert measured(tmp_path, ["aaa", "aaa"], condition="full")["consensus"]["premature"] is False
    assert measured(tmp_path, ["aaa"], certificate=None)["consensus"]["premature"] is None


@pytest.mark.parametrize(
    ("stances", "conformity"),
    [
        (["bba", "bbb"], (1, 1)),
        (["bba", "bba"], (1, 0)),
        (["bba", "bbw"], (1, 0)),
        (["bba", "bb-"], (0, 0)),
        (["bba", "bb!"], (0, 0)),
        (["bwa", "bwa"], (0, 0)),
        (["abb", "bbb"], (1, 1)),
        (["b-a", "b-b"], (0, 0)),
        (["bbb", "bbb"], (0, 0)),
        (["abb", "abb", "bbb"], (2, 1)),
    ],
)  # fmt: skip
def test_conformity_switches_by_hand(stances: list[str], conformity: tuple[int, int], tmp_path: Path) -> None:
    """An opportunity is a stated stance against a strict majority of all others; going over to it without news conforms."""
    found = measured(tmp_path, stances)["moves"]

    assert (found["conformity"]["opportunities"], found["conformity"]["taken"]) == conformity
    assert found["informed"] == {"opportunities": 0, "taken": 0}


def test_switch_after_news_is_informed(tmp_path: Path) -> None:
    """A private fact that is new to the seat since its last turn makes it informed; one heard before does not."""
    own = hands(tmp_path)
    news = next(fact for fact in own[1] if fact.startswith("u") and fact not in own[0])
    kinds = ("conformity", "informed")

    def taken(told: Told) -> list[int]:
        moves = measured(tmp_path, ["abb", "abb", "bbb"], told)["moves"]
        return [moves[kind]["opportunities"] for kind in kinds] + [moves[kind]["taken"] for kind in kinds]

    assert taken({(2, 1): [news]}) == [1, 1, 0, 1]
    assert taken({(1, 1): [news], (2, 1): [news]}) == [1, 1, 1, 0]
    assert taken({(2, 1): ["s1"]}) == [2, 0, 1, 0]


def test_brave_hold_needs_facts_that_rule_the_others_out(tmp_path: Path) -> None:
    """Alone against all with facts that exclude their option it is an opportunity; on impressions alone it is none."""
    own = hands(tmp_path)
    against_beach = {(1, seat): [fact for fact in hand if fact in ("u1", "u2")] for seat, hand in enumerate(own)}

    def brave(told: Told, stances: Sequence[str], **options: Any) -> tuple[int, int]:
        found = measured(tmp_path, stances, told, **options)["moves"]["brave"]
        return found["opportunities"], found["taken"]

    assert brave(against_beach, ["abb", "abb"]) == (1, 1)
    assert brave(against_beach, ["abb", "bbb"]) == (1, 0)
    assert brave({}, ["abb", "abb"]) == (0, 0)
    assert brave({}, ["abb", "abb"], condition="full") == (1, 1)
    assert brave({}, ["baa", "baa"], condition="full") == (0, 0)
    assert measured(tmp_path, ["abb", "abb"], certificate=None)["moves"]["brave"] is None


def test_brave_hold_is_against_all_others(tmp_path: Path) -> None:
    """Two of three others are a majority, which is no unanimous rest."""
    four = Scenario.model_validate(DOCUMENT | {"agents": 4})
    found = measured(tmp_path, ["abbw", "abbw"], condition="full", scenario=four)["moves"]

    assert (found["conformity"]["opportunities"], found["brave"]["opportunities"]) == (2, 0)


def test_key_is_adopted_after_it_was_decidable(tmp_path: Path) -> None:
    """A seat that stood for the key before it could know adopts it when it says so again."""
    own = hands(tmp_path)
    told = {(2, seat): [fact for fact in hand if fact.startswith("u")] for seat, hand in enumerate(own)}
    row = measured(tmp_path, ["aaa", "aaa", "aaa"], told)["seats"][0]

    assert row["decidable_turn"] in (5, 6)
    assert row["adopted_turn"] == 7


def test_time_from_decidable_to_adopted(tmp_path: Path) -> None:
    """The first turn after the key was decidable in which the seat stands for it; null where it never does."""
    rows = measured(tmp_path, ["bbb", "abb", "aab"], condition="full")["seats"]

    assert [row["decidable_turn"] for row in rows] == [0, 0, 0]
    assert [row["adopted_turn"] for row in rows] == [4, 8, None]


def test_free_track_has_no_stances(tmp_path: Path) -> None:
    """What needs stances or handles is null on the free track, though the words look like them."""
    found = measured(tmp_path, ["aaa", "aaa"], track="free")

    assert [found[key] for key in ("consensus", "moves", "bad_handles")] == [None] * 3
    assert [row["adopted_turn"] for row in found["seats"]] == [None] * 3


CUED = Scenario.model_validate(
    DOCUMENT | {"facts": [one | ({"cues": [[one["text"]]]} if one["scope"] == "shared" else {}) for one in DOCUMENT["facts"]]}
)
"""The scenario with cues for shared facts as well: three shared, four private, of which one has two holders."""


def bias(path: Path, told: Told, scenario: Scenario = CUED, **options: Any) -> list[float | None]:
    """SIB, its null, the excess and the repetition bias of one round on the free track."""
    world = opened(folder_of(path, scenario), rounds=2, **options)

    def seat(turn: OpenTurn) -> str:
        return " ".join(TEXT[fact] for fact in told.get((turn.round, turn.seat), ())) or "Hm."

    run(world, seat)
    return list(assess(episode_of(world.log.dump())).metrics["bias"].values())


def test_bias_by_hand(tmp_path: Path) -> None:
    """All shared facts and one of four private ones: SIB 3/5; four mentions of five are shared, hands are 3/4 or 3/5 shared."""
    own = hands(tmp_path)
    fact = next(fact for fact in own[0] if fact.startswith("u"))
    found = bias(tmp_path, {(1, 0): ["s1", "s2", fact], (1, 1): ["s3", "n2"], (2, 0): ["s1"]})

    assert (found[0], found[3]) == (0.6, pytest.approx(4 / 5 - (3 / 5 + 3 / 4 + 3 / 5) / 3))
    assert found[1] is not None
    assert 0 < found[1] < 0.6
    assert found[2] == pytest.approx(0.6 - found[1])


def test_bias_null_solves_its_own_equation(tmp_path: Path) -> None:
    """With three seats, three shared and four private facts (one held twice), one surfaced fact of seven fixes the chance."""
    null = bias(tmp_path, {(1, 0): ["s1"]})[1]
    # 3 (1 - q^3) + 3 (1 - q) + (1 - q^2) = 1, solved by Newton's method
    q = 1.0
    for _ in range(50):
        q -= (6 - 3 * q**3 - 3 * q - q**2) / (-9 * q**2 - 3 - 2 * q)
    shared, private = 1 - q**3, (3 * (1 - q) + 1 - q**2) / 4

    assert null == pytest.approx((shared - private) / (shared + private), abs=1e-8)


def test_bias_at_its_ends(tmp_path: Path) -> None:
    """Only shared facts give 1, only private ones -1; all of both give 0 with a null of 0; nothing gives null."""
    own = hands(tmp_path)
    private = {(1, seat): [fact for fact in hand if fact.startswith("u")] for seat, hand in enumerate(own)}
    everything = {(1, seat): [fact for fact in hand if fact[0] in "us"] for seat, hand in enumerate(own)}

    assert bias(tmp_path / "s", {(1, 0): ["s1", "s2", "s3"]})[0] == 1
    assert bias(tmp_path / "p", private)[0] == -1
    assert bias(tmp_path / "e", everything)[:3] == [0, 0, 0]
    assert bias(tmp_path / "n", {}) == [None] * 4
    assert bias(tmp_path / "o", {(1, 0): ["s1"]}, condition="shared_only")[:3] == [1, 1, 0]


def test_bias_is_null_where_shared_facts_do_not_show(tmp_path: Path) -> None:
    """Private facts alone have cues: on the free track the two kinds could not be told alike, so neither index is given."""
    own = hands(tmp_path)

    assert bias(tmp_path, {(1, seat): hand for seat, hand in enumerate(own)}, SCENARIO) == [None] * 4

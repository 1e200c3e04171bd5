"""Measures of a session that only show in some of them: by seat, by deal, of many atoms, of cues that some facts lack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.validators.hidden_profile.test_metrics_knowledge import U1, U4
from tests.validators.hidden_profile.test_metrics_knowledge import measured as measured_by_person
from tests.validators.hidden_profile.test_metrics_stances import bias, hands, measured
from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, PROVED, SCENARIO, WEDDING, changed
from tests.worlds.hidden_profile.sessions import CHOICES, episode, folder_of, notes, opened, scripted
from validators.hidden_profile import assess
from validators.hidden_profile.metrics import read_proofs
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.scenario import Scenario
from worlds.hidden_profile.rules.worlds import LIMIT

VOTES = {"PRE_VOTE": [BEACH] * 3, "POST_VOTE": [BEACH] * 3}


def seeded(folder: Path, people: Sequence[int]) -> int:
    """The first seed that deals the hands so, by seat."""
    return next(seed for seed in range(99) if notes(opened(folder, seed), "session_start")[0].data["people"] == [*people])


def of_atoms(count: int) -> Scenario:
    """The scenario with atoms that say nothing, up to so many base ones."""
    more = {f"x{place}": {"prior": 0.5, "gloss": "x"} for place in range(count - len(SCENARIO.base_atoms))}
    return Scenario.model_validate(DOCUMENT | {"atoms": DOCUMENT["atoms"] | more})


@pytest.mark.parametrize(("turns", "rounds"), [(3, 0), (4, 1), (6, 1), (7, 2)])
def test_rounds_are_those_that_somebody_spoke_in(turns: int, rounds: int, tmp_path: Path) -> None:
    """Three seats vote, then speak in turn: the seventh turn is the first of round 2."""
    assert assess(episode(folder_of(tmp_path), scripted(VOTES), turns)).metrics["rounds"] == rounds


def test_an_early_stop_is_measured(tmp_path: Path) -> None:
    """The round after which nothing moved any more."""
    assert measured(tmp_path, ["bbb", "bbb", "bbb"], early_stop=True)["early_stop"] == 2


def test_seats_are_measured_one_by_one(tmp_path: Path) -> None:
    """How each voted before and after, how often it spoke, and how many facts it told."""
    found = measured_by_person(tmp_path, {(1, 1): f"{U1} {U4}"}, (ATTIC, BEACH, WEDDING), rounds=3)

    assert [row["before"] for row in found["seats"]] == [row["after"] for row in found["seats"]] == [ATTIC, BEACH, WEDDING]
    assert [(row["told"], row["messages"]) for row in found["seats"]] == [(2, 3), (0, 3), (0, 3)]


def test_what_is_learned_in_one_turn_stands_by_name(tmp_path: Path) -> None:
    """Whatever order the file has."""
    backwards = Scenario.model_validate(DOCUMENT | {"facts": DOCUMENT["facts"][::-1]})
    people = notes(opened(folder_of(tmp_path, backwards)), "session_start")[0].data["people"]

    def talk(turn: OpenTurn) -> str:
        return f"{U4} {U1}" if people[turn.seat] == 1 else "Hm."

    seats = assess(episode(folder_of(tmp_path, backwards), scripted(VOTES, talk))).metrics["seats"]

    assert [list(row["learned"]) for row in seats if row["person"] == 3] == [["u1", "u4"]]


def test_the_round_of_a_proof_is_its_turns(tmp_path: Path) -> None:
    """What the first speaker of round 2 tells proves the key to the last one in turn 4, which is of round 2."""
    seed = seeded(folder_of(tmp_path), (1, 2, 3))
    row = measured_by_person(tmp_path, {(2, 1): f"{U1} {U4}"}, seed=seed)["seats"][2]

    assert (row["decidable_turn"], row["decidable_round"]) == (4, 2)


def test_what_is_known_is_told_for_each_step(tmp_path: Path) -> None:
    """In silence there is one step, before the first turn."""
    rows = measured_by_person(tmp_path, {})["seats"]

    assert [[turn for turn, _ in row["excluded"]] for row in rows] == [[0]] * 3


def test_a_null_has_nine_decimals(tmp_path: Path) -> None:
    """So that no machine's last bit shows."""
    null = bias(tmp_path, {(1, 0): ["s1"]})[1]

    assert null == round(null or 0, 9) != round(null or 0, 8)


def test_what_is_read_out_surfaces_before_the_first_turn(tmp_path: Path) -> None:
    """Everything private is known to all, nobody told it in talk, and the key is decidable from the start."""
    found = measured_by_person(tmp_path, {}, reveal_all=True)

    assert found["surfaced"] == dict.fromkeys(("u1", "u2", "u3", "u4"), 0)
    assert (found["integration"], found["cited_only"]) == (1.0, [])
    assert {row["decidable_turn"] for row in found["seats"]} == {0}


def test_one_fact_without_cues_hides_what_was_told(tmp_path: Path) -> None:
    """On the free track the share of private facts told is known only where each would show; handles always show."""
    folder = folder_of(tmp_path, changed("u1", cues=[]))
    free, structured = (assess(episode(folder, scripted(VOTES), track=track)).metrics for track in CHOICES["track"])

    assert (free["integration"], structured["integration"]) == (None, 0.0)


@pytest.mark.parametrize(("atoms", "told"), [(LIMIT, True), (LIMIT + 1, False)])
def test_a_table_holds_so_many_atoms(atoms: int, told: bool, tmp_path: Path) -> None:
    """Up to the limit worlds are counted; above it nothing is proved, whatever a certificate says."""
    scenario = of_atoms(atoms)
    found = measured(tmp_path, ["abb", "abb"], None, PROVED, scenario, condition="full")

    assert (found["seats"][0]["excluded"] is not None, found["certified"]) == (told, told)
    assert found["moves"]["brave"] == ({"opportunities": 1, "taken": 1} if told else None)


def test_of_a_deal_a_table_says_what_is_needed() -> None:
    """A private fact without which the key is settled all the same is not needed."""
    again = next(one for one in DOCUMENT["facts"] if one["id"] == "u4") | {"id": "u5", "text": "Said once more."}
    dealt = Scenario.model_validate(DOCUMENT | {"facts": [*DOCUMENT["facts"], again], "dealt": True})
    proved = read_proofs(dealt, Certificate(certified=True, scenario=dealt.id))

    assert proved is not None
    assert proved.necessary == {"u1", "u2", "u3"}


def test_no_consensus_within_a_round(tmp_path: Path) -> None:
    """Where all stand for one option in the middle of a round, and the last seat leaves it, there was none."""
    assert measured(tmp_path, ["bba", "aab"])["consensus"]["round"] is None


def test_brave_is_who_knew_before_its_turn(tmp_path: Path) -> None:
    """What the speaker just before told counts, what the next one tells does not."""
    (tmp_path / "c").mkdir()
    late = seeded(folder_of(tmp_path / "c"), (3, 2, 1))
    early = seeded(folder_of(tmp_path / "c"), (3, 1, 2))
    assert "u1" not in hands(tmp_path / "c", late)[0]

    def brave(seed: int, told: dict[tuple[int, int], list[str]]) -> dict[str, Any]:
        found: dict[str, Any] = measured(tmp_path, ["abb", "abb"], told, seed=seed)["moves"]["brave"]
        return found

    assert brave(late, {(1, 2): ["u1"]}) == {"opportunities": 1, "taken": 1}
    assert brave(early, {(2, 1): ["u1"]}) == {"opportunities": 0, "taken": 0}

"""What was told, who knew what from when on, what that proves, and where accuracy was lost; figures worked out by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.worlds.calendar.hostile_games import episode_of
from tests.worlds.hidden_profile.film import ATTIC, BEACH, DOCUMENT, PROVED, SCENARIO, WEDDING
from tests.worlds.hidden_profile.sessions import CHOICES, ballot, episode, folder_of, hostile, message, notes, opened, run
from validators.hidden_profile import assess
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.scenario import Scenario

U1, U2, U3, U4 = (SCENARIO.by_id[name].text for name in ("u1", "u2", "u3", "u4"))
Said = Mapping[tuple[int, int], str]
"""Round and person -> what that person says; everybody else says nothing of note."""


def measured(path: Path, said: Said, votes: Sequence[str] = (BEACH,) * 3, **options: Any) -> dict[str, Any]:
    """The measures of a session in which person n, who has hand n, speaks and votes as listed; rows of seats come by person."""
    world = opened(folder_of(path), **{"seed": 1, "rounds": 2, **options})
    people = notes(world, "session_start")[0].data["people"]

    def seat(turn: OpenTurn) -> str:
        person = people[turn.seat]
        return said.get((turn.round, person), "Hm.") if turn.phase == "DISCUSSION" else ballot(votes[person - 1])

    run(world, seat)
    metrics = assess(episode_of(world.log.dump()), PROVED).metrics
    assert metrics["lies"] == 0
    metrics["seats"].sort(key=lambda row: row["person"])
    return metrics


def order(path: Path) -> list[int]:
    """Who speaks first, second and third in these sessions, by person."""
    people: list[int] = notes(opened(folder_of(path), seed=1), "session_start")[0].data["people"]
    return people


def test_fact_is_told_by_who_can_know_it(tmp_path: Path) -> None:
    """A holder's words surface a fact; the same words of somebody who has not heard it are a guess, and tell nothing."""
    guess = measured(tmp_path / "a", {(1, 2): U4, (1, 3): U1})
    told = measured(tmp_path / "b", {(1, 1): U4})

    assert (guess["integration"], guess["surfaced"]) == (0.0, {})
    assert (told["integration"], told["integration_decisive"]) == (0.25, 0.25)
    assert told["surfaced"] == {"u4": order(tmp_path / "c").index(1) + 1}


def test_uptake_is_repetition_by_somebody_else(tmp_path: Path) -> None:
    """Of three surfaced facts one is repeated by a seat that did not hold it; another holder's repetition is none."""
    found = measured(tmp_path, {(1, 1): f"{U1} {U4}", (1, 2): U2, (2, 3): f"{U2} Nineteen, you said.", (2, 1): U1})

    assert (found["integration"], found["uptake"]) == (0.75, 1 / 3)


def test_uptake_is_null_where_everybody_holds_everything(tmp_path: Path) -> None:
    """In full nobody can take up anything, and all that is told is told by holders."""
    found = measured(tmp_path, {(1, 1): f"{U1} {U2}"}, condition="full")

    assert (found["integration"], found["uptake"]) == (0.5, None)


def test_known_sets_grow_turn_by_turn(tmp_path: Path) -> None:
    """After each turn everybody knows what it told; the key is decidable for each from the turn that closes its own proof."""
    first, second, third = order(tmp_path)
    everything = {1: f"{U1} {U4}", 2: U2, 3: f"{U2} {U3}"}
    found = measured(tmp_path, {(1, person): words for person, words in everything.items()})
    rows = {row["person"]: row for row in found["seats"]}

    assert sorted(order(tmp_path)) == [1, 2, 3]
    # person 1 lacks u2 and u3, and 3 tells both; person 2 lacks the facts of 1 and 3; person 3 lacks those of 1
    at = {person: place for place, person in enumerate((first, second, third), start=1)}
    assert {person: row["decidable_turn"] for person, row in rows.items()} == {1: at[3], 2: max(at[1], at[3]), 3: at[1]}
    assert rows[2]["learned"] == {"u1": at[1], "u4": at[1], "u3": at[3]}
    assert {row["decidable_round"] for row in rows.values()} == {1}
    assert all(row["excluded"][0] == [0, []] and row["excluded"][-1][1] == [BEACH, WEDDING] for row in rows.values())


@pytest.mark.parametrize(("condition", "turn"), [("full", 0), ("shared_only", None), ("hidden", None)])
def test_decidable_without_a_word(condition: str, turn: int | None, tmp_path: Path) -> None:
    """In full the key is decidable from the start, in the other conditions never if nobody tells anything."""
    found = measured(tmp_path, {}, condition=condition)

    assert {row["decidable_turn"] for row in found["seats"]} == {turn}
    assert {row["could_know"] for row in found["seats"]} == {turn is not None}


@pytest.mark.parametrize(
    ("said", "votes", "expected"),
    [
        ({}, (BEACH, BEACH, BEACH), (0, 0, 3, 0)),
        ({}, (ATTIC, BEACH, BEACH), (0, 1, 3, 0)),
        ({(1, 3): f"{U2} {U3}"}, (ATTIC, ATTIC, BEACH), (1, 1, 2, 0)),
        ({(1, 3): f"{U2} {U3}"}, (BEACH, BEACH, BEACH), (0, 0, 2, 1)),
        ({(1, 3): f"{U2} {U3}", (1, 1): f"{U1} {U4}"}, (ATTIC, WEDDING, "cellar"), (1, 0, 0, 2)),
    ],
)  # fmt: skip
def test_losses_by_hand(said: Said, votes: tuple[str, ...], expected: tuple[int, ...], tmp_path: Path) -> None:
    """Grounded, lucky, pooling and listening in thirds: person 3's facts ground person 1 alone, person 1's the rest."""
    losses = measured(tmp_path, said, votes)["losses"]

    assert [round(losses[key] * 3) for key in ("grounded", "lucky", "pooling", "listening")] == list(expected)


@pytest.mark.parametrize("seed", range(20))
def test_losses_add_up_in_any_session(seed: int, tmp_path: Path) -> None:
    """One less accuracy is pooling less luck plus listening, and accuracy is grounded plus luck, whatever was said."""
    draw = random.Random(seed)
    options: dict[str, Any] = {name: draw.choice(CHOICES[name]) for name in ("condition", "track")}
    metrics = assess(episode(folder_of(tmp_path), hostile(draw), seed=seed, **options), PROVED).metrics
    average, losses = metrics["votes"]["after"]["average"], metrics["losses"]

    assert 1 - average == pytest.approx(losses["pooling"] - losses["lucky"] + losses["listening"])
    assert average == pytest.approx(losses["grounded"] + losses["lucky"])


def test_gain_and_votes_before_and_after(tmp_path: Path) -> None:
    """Two of four are no majority but may be the most frequent; gain is the difference of the averages."""
    four = Scenario.model_validate(DOCUMENT | {"agents": 4})
    before, after = [ATTIC, ATTIC, BEACH, "cellar"], [ATTIC, ATTIC, BEACH, ATTIC]

    def seat(turn: OpenTurn) -> str:
        return {"PRE_VOTE": before, "POST_VOTE": after}.get(turn.phase, ["Hm."] * 4)[turn.seat]

    metrics = assess(episode(folder_of(tmp_path, four), seat)).metrics

    assert [metrics["votes"][when]["majority"] for when in ("before", "after")] == [0, 1]
    assert [metrics["votes"][when]["plurality"] for when in ("before", "after")] == [1, 1]
    assert [metrics["votes"][when]["average"] for when in ("before", "after")] == [0.5, 0.75]
    assert [metrics["votes"]["before"][key] for key in ("invalid", "missing", "asked_again")] == [1, 0, 1]
    assert (metrics["gain"], metrics["reward"]) == (0.25, 0.75)


@pytest.mark.parametrize(("votes", "right"), [([ATTIC, BEACH, WEDDING], 1), ([BEACH, ATTIC, WEDDING], 0), (["cellar"] * 3, 0)])
def test_first_of_the_most_frequent_votes_is_the_groups(votes: list[str], right: int, tmp_path: Path) -> None:
    """As in the released code: of equals the one that was cast first. Nobody's vote is nobody's choice."""
    told = episode(folder_of(tmp_path), lambda turn: "Hm." if turn.phase == "DISCUSSION" else votes[turn.seat])

    assert assess(told).metrics["votes"]["after"]["plurality"] == right


def test_cited_facts_count_as_told(tmp_path: Path) -> None:
    """On the structured track a handle tells its fact, and it is said which facts were only ever a handle to the others."""
    hands = notes(opened(folder_of(tmp_path), seed=1), "session_start")[0].data["hands"]
    own = dict(zip(order(tmp_path), hands, strict=True))
    cites = [f"F{own[1].index(fact) + 1}" for fact in ("u1", "u4")]
    found = measured(tmp_path, {(1, 1): message("Nineteen, and more.", cites)}, track="structured")

    assert set(found["surfaced"]) == {"u1", "u4"}
    assert found["cited_only"] == ["u1"]


def test_cites_that_reached_nobody_tell_nothing(tmp_path: Path) -> None:
    """A message without words is shown to nobody, so what it cites is not told."""
    found = measured(tmp_path, {(1, 1): message("", ["F1", "F2", "F3", "F4", "F5"])}, track="structured")

    assert (found["integration"], found["messages"]) == (0.0, 5)


def test_what_is_denied_is_measured_of_both_sides(tmp_path: Path) -> None:
    """Its holder is not honest, who heard it and voted wrongly is misled, and the turn is the one that first denied it."""
    metrics = measured(tmp_path, {(1, 1): f"It is false that {U1}", (1, 3): U4}, (WEDDING, BEACH, ATTIC), rounds=2)
    by_person = {row["person"]: row for row in metrics["seats"]}

    assert list(metrics["falsified"]) == ["u1"]
    assert "u1" not in metrics["surfaced"]
    assert by_person[1]["told_false"] == ["u1"]
    assert "u1" in by_person[2]["heard_false"]
    assert by_person[1]["heard_false"] == []
    assert 0 < metrics["honesty"] < 1
    assert metrics["losses"]["misled"] == pytest.approx(1 / 3)

"""The deal: who holds what in each condition, in which orders, and that the seed alone decides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.hidden_profile.film import SCENARIO
from tests.worlds.hidden_profile.sessions import CHOICES, folder_of, notes, opened, texts
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.core.errors import WorldError
from worlds.hidden_profile.options import EXPERT, ONE_SEAT, VARIANTS
from worlds.hidden_profile.rules.hearing import fold_text
from worlds.hidden_profile.session import Deal, deal_session


def dealt(seed: int, condition: str = "hidden") -> Deal:
    """One deal of the small scenario."""
    return deal_session(SCENARIO, condition, Chance(PUBLISHED_KEY, "t", seed))


@pytest.mark.parametrize("seed", range(20))
def test_hidden_deal_keeps_authored_hands_whole(seed: int) -> None:
    """Each person's own facts come to one seat together, with all the shared ones, and every private fact is held."""
    found = dealt(seed)
    shared = set(SCENARIO.of_scope("shared"))

    assert sorted(found.people) == [1, 2, 3]
    assert [set(hand) for hand in found.hands] == [shared | set(SCENARIO.hand(person)) for person in found.people]
    assert [len(set(hand)) for hand in found.hands] == [len(hand) for hand in found.hands]
    assert sorted(found.options) == sorted(SCENARIO.option_ids)


@pytest.mark.parametrize(("condition", "scopes"), [("full", {"shared", "private", "noise"}), ("shared_only", {"shared"})])
def test_controls_deal_everything_or_the_shared_facts(condition: str, scopes: set[str]) -> None:
    """In full every seat holds every fact, in shared_only nobody more than what all share."""
    expected = {fact.id for fact in SCENARIO.facts if fact.scope in scopes}

    assert [set(hand) for hand in dealt(0, condition).hands] == [expected] * 3


def test_deal_is_the_seeds_and_orders_differ() -> None:
    """A seed always deals alike; over seeds every person sits everywhere, and facts and options come in many orders."""
    deals = [dealt(seed) for seed in range(40)]

    assert deals == [dealt(seed) for seed in range(40)]
    assert {(seat, one.people[seat]) for one in deals for seat in range(3)} == {(s, p) for s in range(3) for p in (1, 2, 3)}
    assert len({one.options for one in deals}) == 6
    assert len({one.hands[0] for one in deals}) > 20
    assert len({tuple(hand) for hand in dealt(0, "full").hands}) == 3, "each seat has an order of its own"


def test_dealing_leaves_the_scenario_as_it_was() -> None:
    """No list that belongs to the task is shuffled."""
    before = SCENARIO.to_json()
    for seed in range(5):
        dealt(seed, "full")

    assert SCENARIO.to_json() == before


@pytest.mark.parametrize("condition", CHOICES["condition"])
@pytest.mark.parametrize("track", CHOICES["track"])
def test_prompt_lists_the_seats_own_facts_and_no_others(condition: str, track: str, tmp_path: Path) -> None:
    """A system prompt has each fact of the hand, in the order dealt, and no other; the key is never told apart."""
    world = opened(folder_of(tmp_path), seed=4, condition=condition, track=track)
    hands = notes(world, "session_start")[0].data["hands"]
    facts = {fact.text: fact.id for fact in SCENARIO.facts}

    for hand, prompt in zip(hands, world.seats, strict=True):
        shown = [line.partition(" ")[2] for line in prompt.split("# What you know")[1].split("# The options")[0].splitlines()]
        assert [facts[line] for line in shown if line in facts] == hand
        assert sum(text in prompt for text in facts) == len(hand)
        assert not any(word in fold_text(prompt) for word in ("decoy", "weights", "asserts", "hot_car", "private"))


def test_hand_length_is_no_sign_of_the_condition_in_words(tmp_path: Path) -> None:
    """Nobody is told that hands differ: apart from the facts the prompts of all conditions are the same."""
    rest = {
        world.seats[0].split("# What you know")[0] + world.seats[0].split("# How it goes")[1]
        for world in (opened(folder_of(tmp_path), condition=condition) for condition in CHOICES["condition"])
    }

    assert len(rest) == 1


@pytest.mark.parametrize("variant", VARIANTS)
def test_variant_is_said_in_rules_and_never_in_votes(variant: str, tmp_path: Path) -> None:
    """A variant's sentence stands in the prompts of those it concerns; votes are always asked for in the same words."""
    world = opened(folder_of(tmp_path), variant=variant)
    plain = opened(folder_of(tmp_path))
    changed = [seat for seat in range(3) if world.seats[seat] != plain.seats[seat]]

    assert changed == ([] if variant == "none" else [0] if variant in ONE_SEAT else [0, 1, 2])
    sentence = EXPERT.split("{", maxsplit=1)[0] if variant == "expert_roles" else ONE_SEAT.get(variant, VARIANTS[variant])
    assert all(sentence in world.seats[seat] for seat in changed)
    assert [turn.text for turn in world.turns.open] == [turn.text for turn in plain.turns.open]
    assert texts(world, "DISCUSSION") == []


def test_expert_roles_are_told_to_everybody(tmp_path: Path) -> None:
    """Every seat reads the same list of who is the one to ask, so that it is true that everybody knows."""
    world = opened(folder_of(tmp_path), variant="expert_roles")
    told = [next(line for line in system.splitlines() if line.startswith("Everybody knows")) for system in world.seats]

    assert len(set(told)) == 1
    assert {f"Person {person} about" in told[0] for person in (1, 2, 3)} == {True}


def test_stakes_are_told_where_they_are_set(tmp_path: Path) -> None:
    """The rules say to every seat what being right is worth, and what unanimity; by default nobody reads of money."""
    assert all("earn another $1" in system for system in opened(folder_of(tmp_path), stakes="told").seats)
    assert not any("$" in system for system in opened(folder_of(tmp_path)).seats)


@pytest.mark.parametrize(("kind", "is_told"), [("crafted", True), ("adapted", True), ("written", False), ("imported", False)])
def test_stakes_of_the_paper_are_told_where_its_tasks_tell_them(tmp_path: Path, kind: str, *, is_told: bool) -> None:
    """The eight tasks after crafted and adapted ones tell both dollars; a published task has them in its own text already."""
    folder = folder_of(tmp_path, SCENARIO.model_copy(update={"origin": {"kind": kind}}))

    assert {"critical" in system for system in opened(folder, stakes="paper").seats} == {is_told}


def test_end_is_unknown_where_nobody_is_told_the_rounds(tmp_path: Path) -> None:
    """With stakes, who is not told how many rounds there are reads that the end is unknown, and who is told does not."""
    untold, told = (opened(folder_of(tmp_path), stakes="told", horizon=how).seats for how in ("untold", "told"))

    assert all("When the talk will end is unknown." in system for system in untold)
    assert not any("unknown" in system for system in told)


def test_broken_scenario_file_is_a_world_error(tmp_path: Path) -> None:
    """A task whose scenario cannot be read does not start, and says which file and why."""
    folder = folder_of(tmp_path)
    (folder / "scenario.json").write_text('{"schema": "hidden-profile/2"}', encoding="utf-8")

    with pytest.raises(WorldError, match=r"scenario\.json"):
        opened(folder)

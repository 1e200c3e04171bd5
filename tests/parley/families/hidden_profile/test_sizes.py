"""Decks for other numbers of people: which there are, that the whole certificate holds there, and that others are refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.paths import ROOT
from harness.pod import EpisodeSpec
from harness.registry import Task, read_task
from harness.runtimes.inprocess import InProcessRuntime
from harness.trust import admitted
from oracles.hidden_profile.certificate import FEWEST, MOST, Sized, certify_deck, find_sizes, iter_partitions
from oracles.hidden_profile.decks import MAX_MEAN_INFORMEDNESS, PAIRS, measure_hands, prove_deck
from oracles.hidden_profile.second import FrameSolver
from parley.families.hidden_profile.authoring.folders import write_task
from parley.families.hidden_profile.fact_matrix import matrix
from parley.families.hidden_profile.options import check
from tests.parley.families.hidden_profile.test_decks import deck_of
from tests.worlds.calendar.hostile_games import episode_of, retold
from tests.worlds.hidden_profile.film import SCENARIO
from tests.worlds.hidden_profile.sessions import ballot, notes, run
from validators.hidden_profile.replay import find_lies
from worlds.core.errors import WorldError
from worlds.core.loading import open_world
from worlds.core.turns import OpenTurn
from worlds.hidden_profile.rules.deck import Draws, deck_for_size, has_other_count, read_sizes, replace_count, resize_deck
from worlds.hidden_profile.rules.worlds import worlds_of
from worlds.hidden_profile.world import HiddenProfileWorld

Command = Callable[..., subprocess.CompletedProcess[str]]
MERGED, PARTED, BOTH, NONE = "gondola-stops", "puppets-for-litomysl", "evacuation-noon", "bakery-switch"
KNOWN = {MERGED: [3, 4], PARTED: [5, 6, 7], BOTH: [3, 5], NONE: []}
EACH = [(name, size) for name, numbers in KNOWN.items() for size in numbers]


@cache
def found(name: str) -> dict[int, Sized]:
    """The other sizes of one of our decks."""
    return {one.people: one for one in find_sizes(deck_of(name))}


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A deck for three, four and five people, written out as a folder."""
    return admitted(read_task(write_task(tmp_path_factory.mktemp("tasks"), "noon", deck_of(BOTH), "easy")))


@pytest.mark.property
@pytest.mark.parametrize("name", KNOWN)
def test_sizes_are_those_at_which_the_certificate_holds(name: str) -> None:
    """The certificate lists them with what the worst hand tells; its own number is not among them."""
    rows = certify_deck(deck_of(name)).sizes

    assert [row.people for row in rows] == KNOWN[name]
    assert [(row.hands, row.informed) for row in rows] == [(one.hands, float(one.informed)) for one in found(name).values()]


@pytest.mark.property
@pytest.mark.parametrize(("name", "size"), EACH)
def test_both_witnesses_prove_each_size(name: str, size: int) -> None:
    """Every check but that of pairs holds for the other number of people too, whoever says what facts prove."""
    deck, one = deck_of(name), found(name)[size]
    dealt = resize_deck(deck, one.hands)
    proofs = [prove_deck(dealt, logic) for logic in (worlds_of(dealt), FrameSolver(dealt))]

    assert proofs[0] == proofs[1]
    assert (set(proofs[0].failed_checks) <= {PAIRS}, dealt.agents) == (True, size)
    assert max(tell.informed for tell in measure_hands(Draws(dealt))) == one.informed <= MAX_MEAN_INFORMEDNESS


@pytest.mark.property
@pytest.mark.parametrize(("name", "size"), EACH)
def test_hands_come_together_whole_or_are_parted(name: str, size: int) -> None:
    """Nobody's card is lost or changed, everybody has an idle note, and no hand is both parted and put with another."""
    deck, hands = deck_of(name), found(name)[size].hands
    own = {seat: {card.id for card in deck.cards if seat in card.holders} for seat in deck.seats}
    idle = {card.id for card in deck.of_scope("noise")}

    assert {card for hand in hands for card in hand} == set().union(*own.values())
    assert all(idle & set(hand) for hand in hands)
    if size < deck.agents:
        assert all(set(hand) == set().union(*(held for held in own.values() if held <= set(hand))) for hand in hands)
    else:
        assert all(any(set(hand) <= held for held in own.values()) for hand in hands)


def test_a_merge_that_tells_is_not_listed() -> None:
    """Two halves of a match on one hand give the key away: all six merges of this deck's four hands fail C9."""
    deck = deck_of(NONE)
    own = {seat: [card.id for card in deck.cards if seat in card.holders] for seat in deck.seats}
    for groups in iter_partitions(list(deck.seats), 3):
        merged = resize_deck(deck, [[card for seat in group for card in own[seat]] for group in groups])
        assert "C9" in prove_deck(merged).failed_checks
    assert found(NONE) == {}


def test_partitions_are_all_there_are() -> None:
    """As many as the Stirling numbers of the second kind say, each once, each whole."""
    counts = [[len(list(iter_partitions(list(range(n)), k))) for k in range(1, n + 1)] for n in (3, 4, 5)]
    four = [sorted(map(sorted, groups)) for groups in iter_partitions([1, 2, 3, 4], 2)]

    assert counts == [[1, 3, 1], [1, 7, 6, 1], [1, 15, 25, 10, 1]]
    assert len({json.dumps(groups) for groups in four}) == 7
    assert all(sorted(one for group in groups for one in group) == [1, 2, 3, 4] for groups in four)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("so the four of you who bake", "so the two of you who bake"),
        ("The Four of you", "The Two of you"),
        ("You four look after him; of the four ways one", "You two look after him; of the four ways one"),
        ("four days", "four days"),
    ],
)
def test_a_brief_counts_its_readers(text: str, said: str) -> None:
    """`the four of you` and `you four` are counted anew; four of anything else stay four."""
    assert replace_count(text, 4, 2) == said


@pytest.mark.parametrize(
    ("text", "otherwise"),
    [("You are the four stewards", True), ("As the four officers", True), ("the four of us", True),
     ("the four of you", False), ("Of the four ways across", False), ("four weeks", False)],
)  # fmt: skip
def test_people_counted_in_other_words_are_seen(text: str, otherwise: bool) -> None:
    """Such a deck is for its own number alone, and so is one that says that it names its people."""
    deck = deck_of(BOTH)
    spoken = deck.model_copy(update={"brief": f"{deck.brief} {text}."})

    assert has_other_count(text, 4) is otherwise
    assert [one.people for one in find_sizes(spoken)] == ([] if otherwise else KNOWN[BOTH])
    assert find_sizes(deck.model_copy(update={"named": True})) == ()


@pytest.mark.property
@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_session_of_another_size(task: Task, size: int, seed: int) -> None:
    """So many people, told so, with the deal that this seed has anyway; the validator finds nothing wrong with it."""
    usual = _held(task, seed)
    world = _held(task, seed, size=size)

    assert (world.scenario.agents, len(world.seats), world.drawn) == (size, size, usual.drawn)
    assert (world.scenario.key, world.scenario.decoy) == (usual.scenario.key, usual.scenario.decoy)
    assert all(f"You are Person {n} of {size} people" in text for n, text in enumerate(world.seats, start=1))
    assert {fact for hand in notes(world, "session_start")[0].data["hands"] for fact in hand} == set(usual.scenario.by_id)
    assert find_lies(episode_of(world.log.dump())) == []
    assert len(notes(world, "vote")) == 2 * size


def _held(task: Task, seed: int, **options: int) -> HiddenProfileWorld:
    world = open_world(task.world_folder, seed=seed, overrides={"rounds": 1, **options})
    assert isinstance(world, HiddenProfileWorld)
    option = world.scenario.option_ids[0]

    def seat(turn: OpenTurn) -> str:
        return "I see." if turn.phase == "DISCUSSION" else ballot(option)

    run(world, seat)
    return world


def test_a_log_of_another_size_than_it_says_is_none(task: Task) -> None:
    """Who claims five people and has four is told so."""
    log = retold(_held(task, 0).log.dump(), lambda rows: rows[0]["options"].update(size=5))

    assert find_lies(log) == ["seq 2: 4 people, and the option size says 5"]


@pytest.mark.property
@pytest.mark.parametrize("size", [0, 3, 5])
@pytest.mark.parametrize(("player", "worth"), [("pool", 1.0), ("silent", 0.0)])
def test_groups_of_another_size_score_as_they_must(
    harness: Command, tmp_path: Path, task: Task, size: int, player: str, worth: float
) -> None:
    """Who pools everything is right on hidden deals, whoever is silent wrong, at every size."""
    out = tmp_path / "run"
    done = harness(
        "run", task.path, "--trust", "--agent", player, "--runtime", "inprocess", "--seeds", "0-3", "--out", out,
        "--set", "deal=hidden", "--set", "rounds=2", "--set", f"size={size}", "--json",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    episodes = json.loads(done.stdout)["episodes"]
    assert [one["reward"] for one in episodes] == [worth] * 4
    assert {len(one["seats"]) for one in episodes} == {size or 4}


@pytest.mark.parametrize("size", [1, 2, 6, 8])
def test_a_size_that_is_not_listed_is_refused(task: Task, size: int) -> None:
    """By name, with the sizes that there are: before anything starts, and by the world itself."""
    said = f"evacuation_noon is for 3, 4, 5 people, not for {size}: elsewhere its certificate does not hold"
    with pytest.raises(UsageError, match=f"size: {said}"):
        check(task, {"size": size})
    with (
        pytest.raises(WorldError, match=said),
        InProcessRuntime().open(EpisodeSpec("r", "e", task, 0, overrides={"size": size})),
    ):
        pass
    check(task, {"size": 4})


def test_a_scenario_with_one_deal_has_one_size_and_no_control(tmp_path: Path) -> None:
    """It is no deck, so there is nothing to deal anew: the control of a preset would be the same hidden deal once more."""
    single = admitted(read_task(write_task(tmp_path, "film", SCENARIO, "easy")))
    with pytest.raises(UsageError, match=f"is for {SCENARIO.agents} people and not for 5, because it is not a deck"):
        check(single, {"size": 5})
    with pytest.raises(UsageError, match="has one deal only, a hidden one"):
        check(single, {"deal": "manifest"})
    with pytest.raises(WorldError, match="it is no deck"):
        open_world(single.world_folder, overrides={"size": 5})
    check(single, {"size": SCENARIO.agents})


def test_a_run_of_another_size_is_refused_by_name(harness: Command, tmp_path: Path, task: Task) -> None:
    """`harness run` says which sizes there are, and plays nothing."""
    done = harness("run", task.path, "--trust", "--agent", "pool", "--set", "size=7", "--out", tmp_path / "run")

    assert (done.returncode, (tmp_path / "run").exists()) == (2, False)
    assert "evacuation_noon is for 3, 4, 5 people, not for 7" in done.stderr


def test_a_matrix_says_for_how_many_people() -> None:
    """A table of the other numbers where there are any; else a line, and no table without rows."""
    shown = {
        name: {made.name: made for made in matrix(read_task(ROOT / "tasks" / "hidden-profile" / name))}
        for name in (MERGED, NONE)
    }

    assert [row["people"] for row in shown[MERGED]["sizes"].rows] == KNOWN[MERGED]
    assert "sizes" not in shown[NONE]
    assert shown[NONE]["tells"].notes[-1] == "only for 4 people: with any other number of hands a check fails"
    assert not any("alone" in note for note in shown[MERGED]["tells"].notes)


def test_a_damaged_file_of_sizes_is_named(tmp_path: Path) -> None:
    """With what to do about it; a folder without one has no other sizes."""
    assert read_sizes(tmp_path) == {}
    (tmp_path / "sizes.json").write_text('{"3": "all"}', encoding="utf-8")
    with pytest.raises(ValueError, match=r"sizes\.json: .*; run: harness sync"):
        read_sizes(tmp_path)


def test_sizes_stay_within_what_a_deck_may_have() -> None:
    """Three people at least and eight at most, as decks are."""
    deck = deck_of(PARTED)

    assert (FEWEST, MOST) == (3, 8)
    assert deck_for_size(deck, 0, {}) is deck_for_size(deck, deck.agents, {}) is deck

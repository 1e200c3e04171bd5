"""Decks: the three mechanisms that there are, certified on every deal by both witnesses, and nothing in a hand that tells."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.paths import ROOT
from oracles.hidden_profile.certificate import certify_deck
from oracles.hidden_profile.dealing import find_deals
from oracles.hidden_profile.deck_mutants import make_deck_mutants
from oracles.hidden_profile.decks import hidden_keys, measure_hands, prove_deck, rated_option
from oracles.hidden_profile.second import FrameSolver
from parley.families.hidden_profile.accuracy import score_memory
from parley.families.hidden_profile.authoring.skeleton import STARTER
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.hidden_profile.rules.certificate import Certificate
from worlds.hidden_profile.rules.deck import CUES, KINDS, Deck, Draws, read_task
from worlds.hidden_profile.rules.worlds import worlds_of
from worlds.hidden_profile.session import draw_deal

TASKS = ROOT / "tasks" / "hidden-profile"
MECHANISMS = {"bakery-switch": "match", "school-desks-by-sea": "and, match", "borehole-for-kanyada": "tally"}


def deck_of(name: str) -> Deck:
    """The deck of a task of ours."""
    deck = read_task(TASKS / name / "environment/api/scenario.json")
    assert isinstance(deck, Deck)
    return deck


@pytest.fixture(scope="module", params=MECHANISMS)
def deck(request: pytest.FixtureRequest) -> Deck:
    """One deck of each mechanism."""
    return deck_of(request.param)


@pytest.fixture(scope="module")
def certificate(deck: Deck) -> Certificate:
    """Its certificate."""
    return certify_deck(deck)


@pytest.mark.property
def test_both_witnesses_certify(deck: Deck) -> None:
    """Every check holds, whether a table of worlds or the solver says what facts prove."""
    proofs = [prove_deck(deck, logic) for logic in (worlds_of(deck), FrameSolver(deck))]

    assert proofs[0].failed_checks == ()
    assert proofs[0] == proofs[1]


@pytest.mark.property
def test_mutants_are_refused_by_both_witnesses(deck: Deck) -> None:
    """Each fails the check that it names, and where logic is spoiled both witnesses say the same of it."""
    for mutant in make_deck_mutants(deck):
        proof = prove_deck(mutant.deck)

        assert mutant.check in proof.failed_checks, mutant.name
        if mutant.check in {"C1", "C2"}:
            assert proof == prove_deck(mutant.deck, FrameSolver(mutant.deck)), mutant.name


@pytest.mark.property
def test_a_new_task_starts_from_a_certified_deck() -> None:
    """For three people, in few enough words to be read at once; its deals are those that the dealing code finds."""
    starter = Deck.model_validate_json(STARTER.read_bytes())

    assert prove_deck(starter).failed_checks == ()
    assert (starter.agents, starter.mechanism) == (3, "match")
    assert find_deals(starter) == starter.deals


@pytest.mark.property
def test_groups_score_what_follows_from_the_mechanism(certificate: Certificate) -> None:
    """Who pools is right on every deal, who does not listen exactly where the leader is, who rejects it never there."""
    hidden, manifest = ({name: row.average for name, row in certificate.by_kind[kind].items()} for kind in KINDS)

    assert (hidden["pool"], manifest["pool"]) == (1, 1)
    for name in ("silent", "shared", "conform", "liar", "follow"):
        assert (hidden[name], manifest[name]) == (0, 1), name
    assert (manifest["reject"], manifest["contra"]) == (0, 0)
    assert hidden["reject"] <= 1 / len(certificate.keys) + 0.1
    assert certificate.by_kind["hidden"]["pool"].grounded == 1


def test_no_rule_by_one_hand_does_better_than_its_bound(deck: Deck) -> None:
    """The best answer to every hand, looked up deal by deal and not by the formula, makes what the formula says."""
    draws = Draws(deck)
    for tell in measure_hands(draws):
        by_hand: dict[tuple[str, ...], Counter[tuple[str, str | None]]] = {}
        sizes = {kind: sum(one.times for one in draws.of_kind(kind)) for kind in KINDS}
        for one in draws.all:
            read = tuple(card.texts[deck.numbers(one.versions)[card.id]].text for card in deck.cards_seen_by(tell.seat))
            by_hand.setdefault(read, Counter())[one.kind, one.key] += one.times
        best = sum(
            max(
                sum(Fraction(times[kind, option], sizes[kind]) for kind in KINDS)
                for option in deck.option_ids
            )
            for times in by_hand.values()
        )  # fmt: skip

        assert best - 1 == tell.informed
        assert tell.informed <= Fraction(1, 10)


def test_a_hand_that_tells_the_kind_is_worth_one_key_in_m(deck: Deck) -> None:
    """Where a shared text differs by kind, a seat follows the leader on manifest deals and guesses on hidden ones: J = 1/M."""
    (marked,) = [mutant.deck for mutant in make_deck_mutants(deck) if mutant.name == "a shared card tells the kind"]
    draws = Draws(marked)

    assert all(tell.informed >= Fraction(1, len(hidden_keys(draws))) for tell in measure_hands(draws))


def test_a_pair_of_seeds_has_one_deal_of_each_kind(deck: Deck) -> None:
    """In an order that is not always the same; by themselves, hidden and manifest are on every seed."""
    draws = Draws(deck)
    kinds = [draw_deal(draws, "mixed", Chance(PUBLISHED_KEY, "x", seed), seed).kind for seed in range(40)]
    pairs = [tuple(kinds[seed : seed + 2]) for seed in range(0, 40, 2)]

    assert set(pairs) == {("hidden", "manifest"), ("manifest", "hidden")}
    for how in KINDS:
        assert {draw_deal(draws, how, Chance(PUBLISHED_KEY, "x", seed), seed).kind for seed in range(10)} == {how}


def test_a_deal_says_what_its_texts_say(deck: Deck) -> None:
    """The scenario of a deal has each card once, in its words, and names a decoy exactly where the leader is wrong."""
    for one in Draws(deck).all:
        scenario = deck.scenario(one.versions, one.key or "", one.leader or "")
        numbers = deck.numbers(one.versions)

        assert [fact.text for fact in scenario.facts] == [card.texts[numbers[card.id]].text for card in deck.cards]
        assert scenario.decoy == (one.leader if one.kind == "hidden" else None)


def test_a_belief_is_a_share_of_deals() -> None:
    """Shared facts leave the leader half of the weight and each key its part of the rest; the four rails leave one option."""
    deck = deck_of("bakery-switch")
    draws = Draws(deck)
    shared = deck.texts(draws.all[0].versions, deck.of_scope("shared"))

    assert draws.option_probabilities(shared) == {"oven": Fraction(1, 2), "mixer": Fraction(1, 4), "prover": Fraction(1, 4)}
    for one in draws.all:
        belief = draws.option_probabilities(deck.texts(one.versions))
        assert (belief or {}).get(one.key or "") == 1
    assert draws.option_probabilities(["u1_t0", "u1_t1"]) is None


@pytest.mark.parametrize("how", ["mixed", "hidden"])
def test_few_seeds_have_every_key_alike(deck: Deck, how: str) -> None:
    """Over seeds 0-9 each key of hidden deals comes within one of its share, in an order that the edition decides."""
    draws, orders = Draws(deck), set()
    keys = hidden_keys(draws)
    for edition in ("one", "two", "three", "four", "five", "six"):
        drawn = [draw_deal(draws, how, Chance(edition, "x", seed), seed) for seed in range(10)]
        often = Counter(draw.key for draw in drawn if draw.kind == "hidden")
        orders.add(tuple(draw.key for draw in drawn))

        assert all(abs(often[key] - often.total() / len(keys)) < 1 for key in keys)
        assert how == "hidden" or often.total() == 5
    assert len(orders) > 1


def test_memory_is_worth_what_the_public_seeds_repeat(deck: Deck) -> None:
    """The commonest key of an even edition is right on about 1/M; a hand, which may name its deal, on at least as many."""
    by_key, by_hand = score_memory(Draws(deck), "x")

    assert Fraction(1, len(hidden_keys(Draws(deck)))) <= by_key <= Fraction(3, 5)
    assert by_key <= by_hand <= 1


@pytest.mark.property
def test_ratings_are_counted_world_by_world(deck: Deck) -> None:
    """What the rules rate best is what a count over every world rates best, by truth values and without bit sets."""
    logic = worlds_of(deck)
    columns = {name: np.arange(1 << len(deck.base_atoms)) >> place & 1 == 1 for place, name in enumerate(deck.base_atoms)}
    out = {option: np.zeros(1 << len(deck.base_atoms), bool) for option in deck.option_ids}
    for rule in deck.rules:
        out[rule.out or ""] |= np.logical_and.reduce([columns[one.lstrip("!")] ^ (one[0] == "!") for one in rule.when])
    if deck.tally:
        start, earned = deck.tally.start, deck.tally.points
        points = {o: start[o] + sum(worth * columns[atom] for atom, worth in earned[o].items()) for o in deck.option_ids}
        out = {o: np.logical_or.reduce([points[other] > points[o] for other in points if other != o]) for o in out}
    for draw in Draws(deck).of_kind("hidden"):
        for seat in deck.seats:
            cards = deck.cards_seen_by(seat)
            literals = [one for text in deck.texts(draw.versions, cards) for one in deck.asserted_literals[text]]
            fits = np.logical_and.reduce([columns[one.lstrip("!")] ^ (one[0] == "!") for one in literals])
            left = {option: int((fits & ~gone).sum()) for option, gone in out.items()}

            assert left[rated_option(deck, logic, draw.versions, cards)] == max(left.values())


@pytest.mark.property
def test_points_are_counted_as_the_brief_says() -> None:
    """Most things that are so wins, the hill with its known point and before the others if level; both witnesses agree."""
    deck = deck_of("borehole-for-kanyada")
    table, solver = worlds_of(deck), FrameSolver(deck)
    sites = ("hill", "market", "river")
    for digits in list(product("01", repeat=12))[::37]:
        versions = "".join(digits)
        counts = {site: sum(digit == "0" for digit in digits[place::3]) for place, site in enumerate(sites)}
        best = max(sites, key=lambda site: (counts[site] + (site == "hill"), -sites.index(site)))
        texts = deck.texts(versions)

        assert table.excluded_options(texts) == set(sites) - {best} == solver.excluded_options(texts)
        assert table.settled_option(texts) == best == solver.settled_option(texts)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "too few digits": (
        {"deals": {"hidden": ["0"], "manifest": ["0000"]}},
        "deal 0 has 1 digits, and 4 cards have several texts",
    ),
    "no such text": ({"deals": {"hidden": ["0030"], "manifest": ["0000"]}}, "deal 0030 wants text 3 of u3, which has 3"),
    "no deals": ({"deals": {"hidden": [], "manifest": ["0000"]}}, "at least 1 item"),
    "a key": ({"key": "oven"}, "Extra inputs are not permitted"),
    "points for nothing": ({"tally": {"points": {"kettle": {}}}}, "the tally names option kettle, and there is none"),
}


@pytest.mark.parametrize(("changes", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_deck_is_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    """One clause names the file and what is wrong."""
    path = tmp_path / "scenario.json"
    deck = read_task(TASKS.joinpath("bakery-switch/environment/api/scenario.json"))
    assert isinstance(deck, Deck)
    path.write_text(deck.to_json(with_cues=True), encoding="utf-8")
    assert read_task(path) == deck
    path.write_text(_with(deck, changes), encoding="utf-8")
    with pytest.raises(ValueError, match=str(path)) as raised:
        read_task(path)

    assert said in str(raised.value)


def test_cues_stand_beside_the_deck(tmp_path: Path) -> None:
    """Both files together are the deck that was written, and the deck alone has no cues."""
    deck = read_task(TASKS.joinpath("bakery-switch/environment/api/scenario.json"))
    assert isinstance(deck, Deck)
    path, beside = tmp_path / "scenario.json", tmp_path / CUES
    path.write_text(deck.to_json(), encoding="utf-8")
    alone = read_task(path)
    beside.write_text(deck.cues_json(), encoding="utf-8")

    assert isinstance(alone, Deck)
    assert alone.cues == {}
    assert read_task(path) == deck


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"u1_t0": [["red|"]]}', "u1_t0: an alternative of the cue 'red|' is empty"),
        ('{"u1_t0": [["!red"]]}', "u1_t0: a cue without a part that must occur"),
        ('{"u99_t0": [["red"]]}', "u99_t0 is no text of the deck"),
        ('{"u1_t0": "red"}', "u1_t0: "),
        ("{", "Invalid JSON"),
    ],
)
def test_a_sheet_of_cues_that_cannot_be_read(text: str, said: str, tmp_path: Path) -> None:
    """It is refused by its own name and the text in question."""
    path, beside = tmp_path / "scenario.json", tmp_path / CUES
    path.write_bytes(TASKS.joinpath("bakery-switch/environment/api/scenario.json").read_bytes())
    beside.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=str(beside)) as raised:
        read_task(path)

    assert said in str(raised.value)


def _with(deck: Deck, changes: dict[str, Any]) -> str:
    """The deck's file with some fields changed."""
    return json.dumps(json.loads(deck.to_json(with_cues=True)) | changes)

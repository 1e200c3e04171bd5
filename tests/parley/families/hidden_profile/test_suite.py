"""The 65 tasks as a suite: no guesser beats chance, no two are alike, no domain fills it, no text gives it away."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from oracles.hidden_profile.adversaries import ADVERSARIES, score_adversary
from oracles.hidden_profile.decks import MAX_INFORMEDNESS, MAX_MEAN_INFORMEDNESS, hidden_keys, measure_hands
from oracles.hidden_profile.guessers import GUESSERS, build_handout, hit_probability, split_words
from parley.families.hidden_profile.authoring.derived import CERTIFICATE
from parley.sharing.release import pinned_tasks
from worlds.core.chance import PUBLISHED_KEY, Chance
from worlds.core.loading import SCENARIO
from worlds.hidden_profile.rules.deck import KINDS, Deck, Draws, Kind, read_task
from worlds.hidden_profile.rules.scenario import FactSheet, Scenario
from worlds.hidden_profile.rules.worlds import least_favoured
from worlds.hidden_profile.session import deal_session, draw_deal

PINNED = pinned_tasks("hidden-profile")
FOLDERS = sorted(path for path in Path("tasks/hidden-profile").glob("*/environment/api") if path.parents[1].name in PINNED)
"""Those of the release; what holds of one deck alone, `harness verify` proves of a new one."""

DECKS = tuple(one for folder in FOLDERS if isinstance(one := read_task(folder / SCENARIO), Deck))
SHEETS: tuple[FactSheet, ...] = tuple(one.sheet for one in DECKS)
"""All that a task may say, over all its deals."""

PLACES = {"emergency and safety", "travel and logistics"}
"""The domains of emergencies, and of choices of a place or a way."""

ALIKE = 0.15
"""The most that two scenarios may share of their word pairs, as Jaccard's index (issue: near-duplicate bound)."""

UNEQUAL = re.compile(
    r"""\b(only\s+(some|one|two)\s+of\s+(you|us)\s+(know|has|have)|not\s+all\s+of\s+(you|us)\s+know|hidden\s+profile
    |different\s+(information|facts|points|clues)|unshared|private\s+(information|facts|points|clues)
    |pool\s+(what|your|our)|share\s+what\s+(you|we)\s+know|(other|others)\s+(may|might|will)?\s*(know|knows)\s+(things|what|more)
    |each\s+of\s+(you|us)\s+(knows|has\s+been\s+told)|compare\s+notes|put\s+(it|what\s+\w+\s+know)\s+together)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Ways to announce that people know different things, or that they should tell."""


def read_whole(draws: Draws, guess: Callable[[Scenario], tuple[str, ...]]) -> dict[Kind, Fraction]:
    """What somebody scores who is shown all facts of a deal, over the deals of each kind."""
    total = dict.fromkeys(KINDS, Fraction(0))
    for one, chance in draws.chance.items():
        scenario = draws.deck.scenario(one.versions, one.key or "", one.leader or "")
        total[one.kind] += chance * hit_probability(guess(scenario), scenario.key)
    return total


def pairs(scenario: FactSheet) -> frozenset[tuple[str, str]]:
    """All pairs of neighbouring words in what a scenario says."""
    texts = (scenario.brief, *(fact.text for fact in scenario.facts))
    return frozenset(pair for text in texts for pair in itertools.pairwise(split_words(text)))


def test_every_fact_can_be_heard_in_words() -> None:
    """Shared facts have cues too, so that what is measured of telling them does not need handles."""
    assert [(scenario.id, fact.id) for scenario in SHEETS for fact in scenario.facts if not fact.cues] == []


def test_there_are_sixty_five() -> None:
    """All decks, all certified; at least eighteen that count or weigh points; three to eight people, three to five options."""
    certificates = [json.loads((folder.parents[1] / CERTIFICATE).read_bytes()) for folder in FOLDERS]

    assert all(certificate["certified"] for certificate in certificates)
    assert len(FOLDERS) == len({deck.id for deck in DECKS}) == 65
    assert sum("tally" in deck.mechanism for deck in DECKS) >= 18
    assert {deck.agents for deck in DECKS} == set(range(3, 9))
    assert {len(deck.options) for deck in DECKS} >= {3, 4, 5}


def test_many_decks_are_for_several_numbers_of_people() -> None:
    """At least twenty hold at three numbers of people or more, their own among them."""
    sizes = [json.loads((folder / "sizes.json").read_bytes()) for folder in FOLDERS]

    assert sum(len(one) >= 2 for one in sizes) >= 20


@pytest.mark.property
@pytest.mark.parametrize("name", ADVERSARIES)
def test_no_guesser_by_one_hand_gets_anywhere(name: str) -> None:
    """Over the decks no rule that reads one hand finds more hidden keys than 1/M and a tenth, or makes more of J than .05."""
    drawn = [Draws(deck) for deck in DECKS]
    guesses = [score_adversary(draws, ADVERSARIES[name]) for draws in drawn]
    blind = sum(Fraction(1, len(hidden_keys(draws))) for draws in drawn)

    assert sum(guess.hidden for guess in guesses) <= blind + len(drawn) * MAX_INFORMEDNESS
    assert sum(guess.informedness for guess in guesses) <= len(drawn) * MAX_MEAN_INFORMEDNESS


@pytest.mark.property
def test_no_hand_tells_over_the_suite() -> None:
    """The mean over decks of the worst seat's J is at most .05, whatever the rule."""
    worst = [max(tell.informed for tell in measure_hands(Draws(deck))) for deck in DECKS]

    assert sum(worst) <= len(worst) * MAX_MEAN_INFORMEDNESS


@pytest.mark.property
@pytest.mark.parametrize("name", [*GUESSERS, "contrarian"])
def test_texts_give_no_key_away(name: str) -> None:
    """Nor does reading all facts help one who looks at words, or votes for what looks worst, and understands nothing."""

    def guess(scenario: Scenario) -> tuple[str, ...]:
        if name == "contrarian":
            return (least_favoured(scenario, scenario.by_id) or scenario.option_ids[0],)
        return GUESSERS[name](build_handout(scenario, scenario.by_id))

    drawn = [Draws(deck) for deck in DECKS]
    scores = [read_whole(draws, guess) for draws in drawn]
    blind = sum(Fraction(1, len(hidden_keys(draws))) for draws in drawn)

    assert sum(score["hidden"] for score in scores) <= blind + len(drawn) * MAX_INFORMEDNESS
    assert sum(score["hidden"] + score["manifest"] - 1 for score in scores) <= len(drawn) * MAX_MEAN_INFORMEDNESS


@pytest.mark.property
@pytest.mark.parametrize("place", [0, 1, -1])
def test_leaders_are_shown_anywhere(place: int) -> None:
    """A session shows its options in an order of its own, so no place has the leader more often than chance allows."""
    hits, parts = 0, []
    decks = [(folder, deck, Draws(deck)) for folder, deck in zip(FOLDERS, DECKS, strict=True)]
    for (folder, deck, draws), seed in itertools.product(decks, range(16)):
        chance = Chance(PUBLISHED_KEY, folder.parents[1].name, seed)
        draw = draw_deal(draws, "mixed", chance, seed)
        leader = draw.leader or ""
        hits += deal_session(deck.scenario(draw.versions, leader, leader), "hidden", chance).options[place] == leader
        parts.append(1 / len(deck.options))

    assert abs(hits - sum(parts)) <= 3 * math.sqrt(sum(p * (1 - p) for p in parts))


@pytest.mark.property
def test_no_two_scenarios_are_alike() -> None:
    """Any two share less than 15 % of their word pairs."""
    said = {scenario.id: pairs(scenario) for scenario in SHEETS}
    worst = max((len(a & b) / len(a | b), x, y) for (x, a), (y, b) in itertools.combinations(said.items(), 2))

    assert worst[0] < ALIKE


def test_no_domain_fills_the_suite() -> None:
    """At least 12 domains, none over 10 %; emergencies and choices of a place or a way are at most 20 %."""
    domains = Counter(scenario.domain for scenario in SHEETS)

    assert len(domains) >= 12
    assert max(domains.values()) <= 6
    assert set(domains) >= PLACES
    assert sum(domains[name] for name in PLACES) <= 13


@pytest.mark.parametrize("scenario", SHEETS, ids=lambda scenario: scenario.id)
def test_no_text_announces_that_information_is_unequal(scenario: FactSheet) -> None:
    """Neither title, brief, options nor facts say that people know different things, or ask them to tell."""
    texts = (scenario.title, scenario.brief, *(o.label for o in scenario.options), *(f.text for f in scenario.facts))

    assert [found[0] for text in texts for found in UNEQUAL.finditer(text)] == []


def test_the_announcement_filter_bites() -> None:
    """Plain ways to announce it are found."""
    for text in ("Each of you knows something else.", "You should pool what you know.", "Not all of you know this."):
        assert UNEQUAL.search(text)

"""Checks of a deck, by name: is it a set of hidden profiles, and does no hand tell the key?

A check is a function from a case to the objections against the deck; it holds if there are none. Logic is delegated to either
solver (`rules.worlds`, `second.FrameSolver`); beliefs are computed over the deals. C6 and C7 examine words instead of logic
(specification, 2.4), folded like cues (`rules.hearing`), so case and curly quotes make no difference.

C9 is the information in a hand for a seat that knows the deck by heart, exact, over the deals as drawn.
For each seat, h over the hands that it can be dealt and o over the options:
(a) sum_h max_o [P(h, key = o | hidden) + P(h, key = o | manifest)] - 1 is the maximum of informedness,
 J = Y_hidden + Y_manifest - 1, for any rule that uses one hand. Always following the leader and always rejecting it give 0.
(b) sum_h max_o P(h, key = o | hidden) is its maximum on the hidden deals alone; with M options that can be the key there, a
 blind guess among them gives 1/M.
Two seats that tell each other everything must not suffice either: (a) is bounded for every pair, and so is the share of hidden
deals in which the deals that fit both hands leave one key.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from oracles.hidden_profile.registers import find_telling_looks
from oracles.hidden_profile.second import FrameSolver
from worlds.hidden_profile.rules.ballot import find_unvotable_forms
from worlds.hidden_profile.rules.certificate import ProvedCheck
from worlds.hidden_profile.rules.deck import KINDS, Card, Deck, Draw, Draws, leading_option, text_of
from worlds.hidden_profile.rules.hearing import fold_text, matches_cue
from worlds.hidden_profile.rules.worlds import Worlds

MAX_INFORMEDNESS = Fraction(10, 100)
"""Limit of (a) for every seat, and of (b) above 1/M."""

MAX_MEAN_INFORMEDNESS = Fraction(5, 100)
"""Limit of the mean over scenarios of each one's worst seat, (a)."""

MAX_PAIR = Fraction(60, 100)
"""Limit of (a) for the hands of two seats together."""

MAX_NAMED = Fraction(1, 2)
"""Limit of the share of hidden deals in which two hands leave one key."""

PAIRS = "C9b"
"""Name of the check of pairs, which need not hold for other numbers of people: of three hands, two are most of the deck."""

MIN_RATED = Fraction(70, 100)
"""Minimum share of hands of hidden deals on which the rules rate the leader best."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Information that the hands of one seat give away."""

    seat: int
    informed: Fraction
    """(a)"""

    hidden: Fraction
    """(b)"""


def hidden_keys(draws: Draws) -> tuple[str, ...]:
    """Return the M options that are the key of some hidden deal, in the file's order."""
    those = {draw.key for draw in draws.of_kind("hidden")}
    return tuple(option for option in draws.deck.option_ids if option in those)


def measure_hands(draws: Draws) -> tuple[Tell, ...]:
    """Return both sums for each seat."""
    return tuple(Tell(seat, *measure_cards(draws, draws.deck.cards_seen_by(seat))) for seat in draws.deck.seats)


def texts_in_hand(deck: Deck, draw: Draw, seat: int) -> tuple[str, ...]:
    """Return the texts that a seat reads in a deal: those of the shared cards and of its own."""
    return deck.texts(draw.versions, deck.cards_seen_by(seat))


def measure_cards(draws: Draws, cards: Sequence[Card]) -> tuple[Fraction, Fraction]:
    """Return both sums for a hand of these cards."""
    both: defaultdict[tuple[str, ...], defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    hidden: defaultdict[tuple[str, ...], defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for draw, chance in draws.chance.items():
        hand, key = draws.deck.texts(draw.versions, cards), draw.key or ""
        both[hand][key] += chance
        if draw.kind == "hidden":
            hidden[hand][key] += chance
    informed = sum((max(chances.values()) for chances in both.values()), Fraction(-1))
    return informed, sum((max(chances.values()) for chances in hidden.values()), Fraction(0))


def named_share(draws: Draws, cards: Sequence[Card]) -> Fraction:
    """Return the share of hidden deals in which a hand of these cards leaves one key, for a seat that knows the deal is hidden.

    With M = 2, ruling out one option names the other, so there the seat does not know the kind of the deal.
    """
    fitting = draws.of_kind("hidden") if len(hidden_keys(draws)) > 2 else draws.all
    hands = {draw: draws.deck.texts(draw.versions, cards) for draw in fitting}
    keys: defaultdict[tuple[str, ...], set[str | None]] = defaultdict(set)
    for draw, hand in hands.items():
        keys[hand].add(draw.key)
    named = (draws.chance[draw] for draw, hand in hands.items() if draw.kind == "hidden" and len(keys[hand]) == 1)
    return sum(named, Fraction(0))


def rated_option(deck: Deck, logic: Worlds, versions: str, cards: Sequence[Card]) -> str:
    """Return the option that the rules rate best on a hand: the one that most worlds which fit it leave.

    Ties are broken as in the brief: by the initial points of a tally, or else by the shared facts.
    """
    worlds = logic.matching_worlds(deck.texts(versions, cards))
    numbers = deck.numbers(versions)
    ties = Counter(deck.tally.start if deck.tally else {})
    for card in deck.of_scope("shared") if not deck.tally else ():
        ties.update(card.texts[numbers[card.id]].weights)
    return max(deck.option_ids, key=lambda option: ((worlds & ~logic.out[option]).bit_count(), ties[option]))


Questions = Worlds | FrameSolver
"""Either solver; facts of a scenario are named by ids, texts of a deck as in `Deck.asserted_literals`."""


_SENTENCES = re.compile(r"(?<=[.!?])\s+")
VERDICT_WORDS = re.compile(r"\b(only|best|safest|correct|ideal|perfect|obvious|winner)\b")


def find_cue_errors(deck: Deck) -> Iterator[str]:
    """Yield the objections of C6: cues that miss their own text, or match another text, the brief, or a plain stance.

    Shared cards may have no cues; then mentions of them are not measured.
    """
    plain = {f"the brief: {sentence}": sentence for sentence in _SENTENCES.split(deck.brief)}
    plain |= {f"a vote for {one.id}": f"I lean to [{one.id}]. {one.label} is what I would choose." for one in deck.options}
    for card in deck.cards:
        others = {other.id: "\n".join(words.text for words in other.texts) for other in deck.cards if other.id != card.id}
        versions = {text_of(card.id, number): words.text for number, words in enumerate(card.texts)}
        for number, words in enumerate(card.texts):
            if card.scope == "shared" and not words.cues:
                continue
            if not matches_cue(words, words.text):
                yield f"{text_of(card.id, number)} does not fire on its own text"
            for where, text in (others | versions | plain).items():
                if where != text_of(card.id, number) and matches_cue(words, text):
                    yield f"{text_of(card.id, number)} fires on {where}"


def find_verdict_words(deck: Deck) -> Iterator[str]:
    """Yield the objections of C7: private texts that contain both an option's label and a word of decision."""
    names = {name for option in deck.options for name in (fold_text(option.label), fold_text(option.label).partition(" & ")[0])}
    for card in deck.of_scope("private"):
        for number, words in enumerate(card.texts):
            text = fold_text(words.text)
            if any(name in text for name in names) and (verdict := VERDICT_WORDS.search(text)):
                yield f"{text_of(card.id, number)} says '{verdict[0]}' beside an option's label"


MIN_DEALS = 4
"""Minimum number of deals of a kind; fewer would be easy to learn."""


@dataclass(frozen=True)
class DeckCase:
    """A deck with its deals and a solver."""

    deck: Deck
    draws: Draws
    logic: Questions


@dataclass(frozen=True, slots=True)
class DeckProof:
    """All checks of a deck."""

    checks: tuple[ProvedCheck, ...]

    @property
    def is_certified(self) -> bool:
        """True if every check holds."""
        return all(check.ok for check in self.checks)

    @property
    def failed_checks(self) -> tuple[str, ...]:
        """The names of the checks that do not hold."""
        return tuple(check.name for check in self.checks if not check.ok)


def prove_deck(deck: Deck, logic: Questions | None = None) -> DeckProof:
    """Run every check; raises ValueError if the deck has too many atoms for a table of worlds."""
    draws = Draws(deck)
    case = DeckCase(deck, draws, logic or draws.worlds)
    made = []
    for name, claim, against in CHECKS:
        details = list(dict.fromkeys(against(case)))
        shown = "; ".join(details[:MAX_OBJECTIONS]) + (
            f"; and {len(details) - MAX_OBJECTIONS} more" if len(details) > MAX_OBJECTIONS else ""
        )
        made.append(ProvedCheck(name=name, ok=not details, claim=claim, detail=shown))
    return DeckProof(tuple(made))


MAX_OBJECTIONS = 5
"""Maximum number of objections of one check that are shown; the rest is counted."""


def _well_formed(case: DeckCase) -> Iterator[str]:
    deck, draws = case.deck, case.draws
    private = deck.of_scope("private")
    yield from find_unvotable_forms(deck)
    if len(private) < 2:
        yield f"{len(private)} private cards: nothing to pool"
    yield from (f"no seat holds {card.id}" for card in (*private, *deck.of_scope("noise")) if not card.holders)
    idle = {seat for card in deck.of_scope("noise") for seat in card.holders}
    yield from (f"seat {seat} has no idle note" for seat in deck.seats if seat not in idle)
    for card in deck.open_cards:
        shown = {draws.deck.numbers(draw.versions)[card.id] for draw in draws.all}
        yield from (f"no deal shows text {n} of {card.id}" for n in range(len(card.texts)) if n not in shown)
    both = {draw.versions for draw in draws.of_kind("hidden")} & {draw.versions for draw in draws.of_kind("manifest")}
    yield from (f"deal {versions} is listed as hidden and as manifest" for versions in sorted(both))
    for kind in KINDS:
        if (count := len(draws.of_kind(kind))) < MIN_DEALS:
            yield f"{count} {kind} deals, at least {MIN_DEALS} are needed"
    for draw in draws.all:
        if not case.logic.is_consistent(deck.texts(draw.versions)):
            yield f"in deal {draw.versions} the facts contradict each other"


def _kinds(case: DeckCase) -> Iterator[str]:
    for draw in case.draws.all:
        if draw.leader is None:
            yield f"in deal {draw.versions} no option leads by the shared facts"
        elif draw.kind != ("manifest" if draw.key == draw.leader else "hidden"):
            yield f"deal {draw.versions} leaves {draw.key} and favours {draw.leader}, and is listed as {draw.kind}"
    often = Counter[str | None]()
    for draw in case.draws.of_kind("hidden"):
        often[draw.key] += draw.times
    if len(often) < 2:
        yield f"{len(often)} option is the key of hidden deals, at least 2 are needed"
    if len(set(often.values())) > 1:
        yield f"the keys of hidden deals are not equally often right: {dict(often)}"


def _group(case: DeckCase) -> Iterator[str]:
    for draw in case.draws.all:
        texts = case.deck.texts(draw.versions)
        gone = case.logic.excluded_options(texts)
        others = {option for option in case.deck.option_ids if option != draw.key}
        if draw.key is None or case.logic.settled_option(texts) != draw.key:
            yield f"in deal {draw.versions} all facts and the promise settle {case.logic.settled_option(texts)}"
        elif gone != others:
            yield f"in deal {draw.versions} all facts exclude {', '.join(sorted(gone)) or 'nothing'}, and the key is {draw.key}"


def _solo(case: DeckCase) -> Iterator[str]:
    deck = case.deck
    for draw in case.draws.all:
        for seat in (None, *deck.seats):
            cards = deck.of_scope("shared") if seat is None else deck.cards_seen_by(seat)
            where = f"in deal {draw.versions} with {'the shared facts' if seat is None else f'hand {seat}'}"
            yield from (f"{where} {against}" for against in find_solo_errors(deck, case.logic, draw, cards))
    if (rated := rated_share(case.draws)) < MIN_RATED:
        yield f"the rules rate the leader best on {float(rated):.2f} of the hands of hidden deals, at least {float(MIN_RATED)}"


def rated_share(draws: Draws) -> Fraction:
    """Return the share of hands of hidden deals on which the rules rate the leader best."""
    deck, rated = draws.deck, Fraction(0)
    for draw in draws.of_kind("hidden"):
        best = [rated_option(deck, draws.worlds, draw.versions, deck.cards_seen_by(seat)) for seat in deck.seats]
        rated += draws.chance[draw] * best.count(draw.leader or "") / deck.agents
    return rated


def find_solo_errors(deck: Deck, logic: Questions, draw: Draw, cards: Sequence[Card]) -> Iterator[str]:
    """Yield objections to a deal with these cards on one hand: another or excluded leader, or a settled choice."""
    if (leader := leading_option(deck, draw.versions, cards)) != draw.leader:
        yield f"{leader} leads, not {draw.leader}"
    texts = deck.texts(draw.versions, cards)
    if draw.leader in logic.excluded_options(texts):
        yield f"the leader {draw.leader} is excluded"
    if (settled := logic.settled_option(texts)) is not None:
        yield f"{settled} is settled"


def _missing_piece(case: DeckCase) -> Iterator[str]:
    deck = case.deck
    needed = {draw: necessary_cards(deck, case.logic, draw.versions) for draw in case.draws.all}
    ever = {card.id for cards in needed.values() for card in cards}
    yield from (f"{card.id} is necessary in no deal" for card in deck.of_scope("private") if card.id not in ever)
    least = seats_needed(deck)
    for draw, cards in needed.items():
        seats = {seat for card in cards for seat in card.holders}
        if len(seats) < least:
            yield f"in deal {draw.versions} {len(seats)} seats hold a necessary fact, at least {least} must"


def necessary_cards(deck: Deck, logic: Questions, versions: str) -> list[Card]:
    """Return the private cards of a deal without which facts and promise settle nothing."""
    return [
        card
        for card in deck.of_scope("private")
        if logic.settled_option(deck.texts(versions, [one for one in deck.cards if one.id != card.id])) is None
    ]


def seats_needed(deck: Deck) -> int:
    """Return the minimum number of seats that must hold a necessary card in each deal (C3)."""
    return max(2, deck.agents - 1)


def _inert(case: DeckCase) -> Iterator[str]:
    for card in case.deck.of_scope("noise"):
        for words in card.texts:
            if words.asserts or any(words.weights.values()):
                yield f"{card.id} asserts or suggests something"


def _balanced(case: DeckCase) -> Iterator[str]:
    """Yield an objection unless idle notes name every option equally often, within one."""
    counts = Counter(option for card in case.deck.of_scope("noise") for words in card.texts for option in words.about)
    spread = [counts[option] for option in case.deck.option_ids]
    if max(spread) - min(spread) > 1:
        yield f"idle notes touch the options {dict(zip(case.deck.option_ids, spread, strict=True))} times"


def _untold(case: DeckCase) -> Iterator[str]:
    least = Fraction(1, max(len(hidden_keys(case.draws)), 1)) + MAX_INFORMEDNESS
    for tell in measure_hands(case.draws):
        if tell.informed > MAX_INFORMEDNESS:
            yield f"hand {tell.seat} makes {float(tell.informed):.3f} of J, at most {float(MAX_INFORMEDNESS)}"
        if tell.hidden > least:
            yield f"hand {tell.seat} finds {float(tell.hidden):.3f} of the hidden keys, at most {float(least):.3f}"


def _untold_by_pairs(case: DeckCase) -> Iterator[str]:
    for pair in combinations(case.deck.seats, 2):
        yield from find_pair_errors(case.draws, pair)


def find_pair_errors(draws: Draws, pair: tuple[int, int]) -> Iterator[str]:
    """Yield the objections of C9b to the hands of two seats together."""
    cards = [card for card in draws.deck.cards if card.scope == "shared" or not set(pair).isdisjoint(card.holders)]
    if (informed := measure_cards(draws, cards)[0]) > MAX_PAIR:
        yield f"hands {pair} make {float(informed):.3f} of J, at most {float(MAX_PAIR)}"
    if (named := named_share(draws, cards)) > MAX_NAMED:
        yield f"hands {pair} leave one key in {float(named):.3f} of the hidden deals, at most {float(MAX_NAMED)}"


CHECKS: tuple[tuple[str, str, Callable[[DeckCase], Iterator[str]]], ...] = (
    (
        "C0",
        "well formed: an idle note for every seat, holders, votes for all options, no contradiction",
        _well_formed,
    ),
    ("C1", "group: in every deal all facts exclude every option but the key", _group),
    ("C2", "solo: on every hand the leader leads, is not excluded, nothing is settled; the rules rate it best on most", _solo),
    ("C3", "missing piece: every private card is necessary in some deal, and most seats hold one in each", _missing_piece),
    ("C4", "idle notes assert and suggest nothing", _inert),
    ("C5", "idle notes touch every option equally often", _balanced),
    ("C6", "cues: each text fires its own cues and those of no other text", lambda case: find_cue_errors(case.deck)),
    ("C7", "no verdict beside an option's label in private texts", lambda case: find_verdict_words(case.deck)),
    ("C8", "deals are of the kind that they are listed as, and every key of hidden deals is right equally often", _kinds),
    ("C9", "no hand tells: neither informedness nor hidden keys can be had from one hand", _untold),
    (PAIRS, "no two hands tell: with the file by heart they make J .60 at most, and seldom leave one key", _untold_by_pairs),
    (
        "C10",
        "cards look alike: no first person, equal lengths, private ones not the longest",
        lambda case: find_telling_looks(case.deck),
    ),
)
"""Name, claim, function that yields the objections."""
